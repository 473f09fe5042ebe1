"""A change of mind after the customer's own return window: declined, on the right grounds."""

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.desk import Desk, decline_calls
from palaestra.envs.worlds.storefront.lookups import about_goods
from palaestra.envs.worlds.storefront.replies import window_closed
from palaestra.envs.worlds.storefront.schema import OrderLine


@family("storefront/decline-late-return", level=2, traits=("refusal",))
def decline_late_return(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        if not desk.claimable(line) or desk.binds_final_sale(line):
            return False
        single = len(desk.shipments(desk.order(line))) == 1
        return single and (desk.today - desk.last_return_day(desk.order(line))).days <= 60

    line = desk.pick(OrderLine, fits, what="line past its return window", decides=True)
    order, product = desk.order(line), desk.product(line)
    customer, parcel = desk.customer(order), desk.window_record(order)
    request = requests.send_back(desk, order, product)
    ticket = desk.ticket(customer, request.subject)
    desk.answer = lambda: answers.send_back(desk, ticket, line)
    refusal = decline_calls(ticket, "RET-1", parcel, f"{window_closed(desk, line)} We cannot take it back.")
    return Task(
        prompt=desk.mail(ticket, request.body),
        rubric=[
            desk.delivery(line),
            desk.account(customer),
            *desk.expect_declined(ticket, "RET-1", parcel, after=["knew-delivery", "saw-account"]),
        ],
        oracle=[
            *about_goods(order, line),
            *refusal,
        ],
        alternatives=[
            [
                call("read_handbook", section_id="RET-1"),
                call("get_order", order_id=order.id),
                call("get_shipments", order_id=order.id),
                call("get_customer", customer_id=customer.id),
                call("reply", message="I am sorry: it is too late to return it."),
                refusal[0],
                call("finish"),
            ]
        ],
    )
