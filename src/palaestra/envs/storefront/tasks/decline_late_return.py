"""A change of mind after the customer's own return window: declined, on the right grounds."""

from palaestra.envs.storefront.desk import Desk
from palaestra.envs.storefront.schema import OrderLine
from palaestra.envs.task import Task, call, family
from palaestra.rubrics import saw


@family("storefront/decline-late-return", level=2, traits=("refusal",))
def decline_late_return(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        if not desk.untouched(line) or desk.product(line).final_sale or len(desk.shipments(desk.order(line))) != 1:
            return False
        return 0 < (desk.today - desk.last_return_day(desk.order(line))).days <= 60

    line = desk.pick(OrderLine, fits, what="line past its return window")
    order, product = desk.order(line), desk.product(line)
    customer, [parcel] = desk.customer(order), desk.shipments(order)
    ticket = desk.ticket(customer, "Return")
    body = f"I never used the {product.name} from {order.id}. I want to return it; surely that is no problem."
    return Task(
        prompt=desk.mail(ticket, body),
        rubric=[
            saw(parcel, id="saw-parcel"),
            saw(customer, id="saw-customer"),
            *desk.declined(ticket, "RET-1", parcel, order, line),
        ],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_shipments", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("read_handbook", section_id="RET-1"),
            call("decline_request", ticket_id=ticket.id, policy_id="RET-1", evidence_id=parcel.id),
            call("reply", message="Your return window has closed, so we cannot take it back."),
            call("finish"),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="RET-1"),
                call("get_order", order_id=order.id),
                call("compute_return_window", line_id=line.id),
                call("get_customer", customer_id=customer.id),
                call("decline_request", ticket_id=ticket.id, policy_id="RET-1", evidence_id=line.id),
                call("reply", message="I am sorry: it is too late to return it."),
                call("finish"),
            ]
        ],
    )
