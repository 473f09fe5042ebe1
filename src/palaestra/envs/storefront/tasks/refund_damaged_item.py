"""It arrived broken, inside the return window: the price that was really paid comes back, in full."""

from palaestra.envs.storefront.desk import Desk, closing, touches
from palaestra.envs.storefront.schema import OrderLine, Refund
from palaestra.envs.task import Task, call, family
from palaestra.records import Json
from palaestra.rubrics import created, saw


@family("storefront/refund-damaged-item", level=2, traits=("write", "arithmetic"))
def refund_damaged_item(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        return line.quantity == 1 and desk.returnable(line) and desk.paid(line, 1) <= desk.policy.agent_limit_cents

    line = desk.pick(OrderLine, fits, what="single piece inside its return window")
    order, product, amount = desk.order(line), desk.product(line), desk.paid(line, 1)
    refund: dict[str, Json] = {"line_id": line.id, "quantity": 1, "amount_cents": amount, "reason": "damaged"}
    ticket = desk.ticket(desk.customer(order), "Arrived damaged")
    return Task(
        prompt=desk.mail(ticket, f"The {product.name} from {order.id} arrived damaged. I want my money back for it."),
        rubric=[
            saw(line, id="saw-line"),
            desk.read("REF-1"),
            created(Refund, {**refund, "status": "paid"}, id="refund", after=["saw-line", "read-REF-1"]),
            *desk.resolved(ticket, after=["refund"]),
        ],
        allow=[touches(line, "returned"), *desk.pays(order)],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_product", product_id=product.id),
            call("compute_paid", line_id=line.id, quantity=1),
            call("read_handbook", section_id="REF-1"),
            call("issue_refund", **refund),
            *closing(ticket, f"We have paid {amount} cents back."),
        ],
    )
