"""A change of mind about clearance goods, inside the window: declined, on the right grounds."""

from palaestra.envs.kit import RefusalCondition
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import OrderLine
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.rubrics import expect_read


@family("storefront/decline-final-sale", level=2, traits=("refusal", "policy-exception"))
def decline_final_sale(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        return desk.returnable(line) and desk.binds_final_sale(line)

    line = desk.pick(OrderLine, fits, what="final-sale line inside its window", decides=True)
    order, product = desk.order(line), desk.product(line)
    customer, request = desk.customer(order), requests.send_back(desk, order, product)
    ticket = desk.ticket(customer, request.subject)
    desk.answer = lambda: answers.send_back(desk, ticket, line)
    grounds = RefusalCondition(
        section="RET-3",
        evidence=product,
        facts=(expect_read(product, fields=["final_sale"], id="saw-product"),),
        lookups=(call("get_product", product_id=product.id),),
        message=f"The {product.name} was a final sale, which we cannot take back because of a change of mind.",
    )
    return order_refusal_task(desk, ticket, desk.mail(ticket, request.body), grounds, order)
