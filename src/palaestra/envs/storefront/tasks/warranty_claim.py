"""Broken after the return window: no refund but a warranty claim, replaced where in stock and repaired otherwise."""

from palaestra.envs.storefront.desk import Desk, closing
from palaestra.envs.storefront.policy import warranty_end
from palaestra.envs.storefront.schema import OrderLine, WarrantyClaim
from palaestra.envs.task import Task, call, family
from palaestra.records import Json
from palaestra.rubrics import created, either, listed, saw

SYMPTOMS = {
    "dead": "does not start any more",
    "noise": "makes a loud noise",
    "overheating": "gets far too hot and shuts down",
    "intermittent": "fails now and then for no reason",
}


@family("storefront/warranty-claim", level=2, traits=("write", "policy-exception"))
def warranty_claim(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        if line.quantity != 1 or not desk.untouched(line) or desk.state.find(WarrantyClaim, line_id=line.id):
            return False
        day = desk.delivered(desk.order(line))
        covered = day is not None and warranty_end(day, desk.product(line).warranty_months) >= desk.today
        return covered and desk.last_return_day(desk.order(line)) < desk.today

    line = desk.pick(OrderLine, fits, what="line past its return window and under warranty")
    order, product = desk.order(line), desk.product(line)
    fault = desk.stream.choice(sorted(SYMPTOMS))
    claim: dict[str, Json] = {
        "line_id": line.id,
        "fault": fault,
        "remedy": "replace" if product.stock > 0 else "repair",
    }
    ticket = desk.ticket(desk.customer(order), f"{product.name} is faulty")
    body = f"The {product.name} from {order.id} {SYMPTOMS[fault]}. I would like my money back, or whatever you can do."
    return Task(
        prompt=desk.mail(ticket, body),
        rubric=[
            saw(line, id="saw-line"),
            either(saw(product), listed(product, "search_products"), id="saw-product"),
            desk.read("WAR-1"),
            desk.read("WAR-2"),
            created(
                WarrantyClaim,
                {**claim, "status": "open"},
                id="claim",
                after=["saw-line", "saw-product", "read-WAR-1", "read-WAR-2"],
            ),
            *desk.resolved(ticket, after=["claim"]),
        ],
        oracle=[
            call("get_order", order_id=order.id),
            call("compute_return_window", line_id=line.id),
            call("read_handbook", section_id="WAR-1"),
            call("compute_warranty", line_id=line.id),
            call("read_handbook", section_id="WAR-2"),
            call("get_product", product_id=product.id),
            call("open_warranty_claim", **claim),
            *closing(ticket, f"It is under warranty: we will {claim['remedy']} it."),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="WAR-2"),
                call("read_handbook", section_id="WAR-1"),
                call("get_order", order_id=order.id),
                call("search_products", query=product.name),
                call("open_warranty_claim", **claim),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message="We have opened a warranty claim for you."),
                call("finish"),
            ]
        ],
    )
