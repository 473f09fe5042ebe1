"""Until when is a piece under warranty? A look-up with an exact answer, where there is one."""

from datetime import timedelta

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Credit, Order, OrderLine, Shipment, WarrantyClaim
from palaestra.records import Json, ToolCall
from palaestra.rubrics import expect_answer, expect_read

FORM = (
    "(Only a question: leave the ticket as it is. Finish with `ends`, the last day as YYYY-MM-DD, or, while the "
    "warranty has not begun, with `awaited`, the shipment that has to arrive first.)"
)
LATELY = 24


@family("storefront/find-warranty-end", level=1, traits=("lookup", "answer", "multi-hop"), twin=True)
def find_warranty_end(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        order = desk.order(line)
        recent = desk.is_untouched(line) and (desk.today - order.placed.date()).days <= LATELY
        return recent and untold(desk, order)

    line = desk.pick(OrderLine, fits, what="line that arrived lately and has no history")
    order, product = desk.order(line), desk.product(line)
    body = desk.word_body(
        "warranty-end",
        (
            f"Until when does the warranty of the {product.name} from {order.id} run?",
            f"I am filing my papers. What is the last day of the warranty on the {product.name} of {order.id}?",
        ),
        product=product.name,
        order=order.id,
    )
    ticket = desk.ticket(desk.customer(order), desk.word_subject("warranty-end", "My warranty"))
    prompt = f"{desk.mail(ticket, body)}\n\n{FORM}"
    opening = [
        call("get_order", order_id=order.id),
        call("get_customer", customer_id=order.customer_id),
    ]
    if desk.twin:
        return not_begun(desk, prompt, order, opening)
    answer: dict[str, Json] = {"ends": desk.warranty_ends(line).isoformat()}
    told = f"The warranty of the {product.name} from {order.id} ends on {desk.warranty_ends(line)}."
    close = [call("reply", message=told), call("finish", answer=answer)]
    return Task(
        prompt=prompt,
        rubric=[
            desk.account(desk.customer(order)),
            desk.warranty(line),
            desk.expect_reply(after=["saw-account", "knew-warranty"], day=desk.warranty_ends(line)),
            expect_answer(answer, after=["saw-account", "knew-warranty", "told"]),
        ],
        oracle=[*opening, call("compute_warranty", line_id=line.id), *close],
        alternatives=[
            [
                *opening,
                call("get_shipments", order_id=order.id),
                call("get_product", product_id=product.id),
                *close,
            ]
        ],
    )


def untold(desk: Desk, order: Order) -> bool:
    """Whether one parcel brought the order and nothing is on record that can only follow an arrival."""
    lines = desk.lines(order)
    claims = any(desk.state.find(WarrantyClaim, line_id=line.id) for line in lines)
    quiet = not claims and not desk.state.find(Credit, order_id=order.id)
    return quiet and len(desk.shipments(order)) == 1 and not any(line.opened or line.returned for line in lines)


def not_begun(desk: Desk, prompt: str, order: Order, opening: list[ToolCall]) -> Task:
    """The parcel is still on its way."""
    [parcel] = desk.shipments(order)
    parcel = on_its_way(desk, order, parcel)
    answer: dict[str, Json] = {"awaited": parcel.id}
    look = call("get_shipments", order_id=order.id)
    told = f"The warranty begins with the delivery, and {order.id} is still on its way: it is due on {parcel.due}."
    close = [call("reply", message=told), call("finish", answer=answer)]
    return Task(
        prompt=prompt,
        rubric=[
            desk.account(desk.customer(order)),
            expect_read(parcel, fields=["status"], id="saw-parcel"),
            desk.expect_reply(after=["saw-account", "saw-parcel"]),
            expect_answer(answer, after=["saw-account", "saw-parcel", "told"]),
        ],
        oracle=[*opening, look, *close],
        alternatives=[[look, *opening, *close]],
    )


def on_its_way(desk: Desk, order: Order, parcel: Shipment) -> Shipment:
    assert parcel.shipped is not None, "an order that arrived was sent"
    desk.state.update(order, status="shipped")
    due = max(parcel.due, desk.today + timedelta(days=1))
    return desk.state.update(parcel, status="in_transit", last_scan=parcel.shipped, delivered=None, due=due)
