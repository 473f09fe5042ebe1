"""A change of mind about clearance goods, inside the window: declined, on the right grounds."""

from palaestra.envs.storefront import requests
from palaestra.envs.storefront.desk import Desk, declining
from palaestra.envs.storefront.schema import OrderLine
from palaestra.envs.task import Task, call, family
from palaestra.rubrics import saw


@family("storefront/decline-final-sale", level=2, traits=("refusal", "policy-exception"))
def decline_final_sale(desk: Desk) -> Task:
    line = desk.pick(
        OrderLine, lambda x: desk.returnable(x) and desk.product(x).final_sale, what="final-sale line inside its window"
    )
    order, product = desk.order(line), desk.product(line)
    customer, request = desk.customer(order), requests.send_back(desk.stream, order, product)
    ticket = desk.ticket(customer, request.subject)
    return Task(
        prompt=desk.mail(ticket, request.body),
        rubric=[
            saw(product, id="saw-product"),
            desk.account(customer),
            *desk.declined(ticket, "RET-3", product, after=["saw-product", "saw-account"]),
        ],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("get_product", product_id=product.id),
            call("read_handbook", section_id="RET-3"),
            *declining(ticket, "RET-3", product, "It was a final sale, which we do not take back."),
        ],
    )
