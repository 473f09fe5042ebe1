"""A change of mind about clearance goods, inside the window: declined, on the right grounds."""

from palaestra.envs.storefront.desk import Desk
from palaestra.envs.storefront.schema import OrderLine
from palaestra.envs.task import Task, call, family
from palaestra.rubrics import saw


@family("storefront/decline-final-sale", level=2, traits=("refusal", "policy-exception"))
def decline_final_sale(desk: Desk) -> Task:
    line = desk.pick(
        OrderLine,
        lambda x: desk.returnable(x) and desk.product(x).final_sale,
        what="final-sale line inside its window",
    )
    order, product = desk.order(line), desk.product(line)
    ticket = desk.ticket(desk.customer(order), "Return")
    body = (
        f"I changed my mind about the {product.name} from {order.id}. It came only recently; please let me return it."
    )
    return Task(
        prompt=desk.mail(ticket, body),
        rubric=[
            saw(line, id="saw-line"),
            saw(product, id="saw-product"),
            *desk.declined(ticket, "RET-3", product),
        ],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_product", product_id=product.id),
            call("read_handbook", section_id="RET-3"),
            call("decline_request", ticket_id=ticket.id, policy_id="RET-3", evidence_id=product.id),
            call("reply", message="This was a final sale, which cannot be returned for a change of mind."),
            call("finish"),
        ],
    )
