"""A promotion code was forgotten: what it would have saved is credited. Never seen in training."""

from palaestra.envs.kit import amount, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_order
from palaestra.envs.worlds.storefront.policy import promotion_cents
from palaestra.envs.worlds.storefront.refusal_conditions import credited_already, ordered_too_long_ago
from palaestra.envs.worlds.storefront.schema import Category, Credit, Order, Promotion, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json, ToolCall
from palaestra.rubrics import expect_any, expect_call, expect_read, expect_row


def savings(desk: Desk, order: Order) -> list[tuple[int, Promotion]]:
    """What each promotion would have taken off the order, where it is anything."""
    lines = [(desk.product(line), line) for line in desk.lines(order)]
    goods: list[tuple[Category, int]] = [(p.category, x.unit_cents * x.quantity) for p, x in lines]
    worth = [(promotion_cents(p, goods, order.placed.date()), p) for p in desk.state.find(Promotion)]
    return [(cents, p) for cents, p in worth if 0 < cents <= desk.planting_policy.agent_limit_cents]


@family(
    "storefront/missed-promotion",
    level=3,
    traits=("write", "arithmetic", "policy-exception"),
    splits=("heldout", "heldout-policy"),
    twin=True,
)
def missed_promotion(desk: Desk) -> Task:
    def fits(order: Order) -> bool:
        recent = (desk.today - order.placed.date()).days <= desk.policy.promotion_claim_days
        eligible = recent and order.status != "cancelled" and order.promotion_code is None
        return eligible and desk.plain(order) and bool(savings(desk, order))

    order = desk.pick(Order, fits, what="recent order without the promotion that it could have used", decides=True)
    cents, promotion = desk.stream.choice(savings(desk, order))
    customer = desk.customer(order)
    ticket = desk.ticket(customer, desk.word_subject("missed-code", "I forgot my code"))
    bodies = (f"I forgot to enter {promotion.id} when I placed {order.id}. Can I still have it?",)
    prompt = desk.mail(ticket, desk.word_body("missed-code", bodies, code=promotion.id, order=order.id))
    desk.answer = lambda: answers.claim_promotion(desk, ticket, order, promotion.id, cents)
    if desk.twin:
        return refusal(desk, ticket, prompt, order, cents)
    use: dict[str, Json] = {"order_id": order.id, "code": promotion.id}
    credit: dict[str, Json] = {
        "customer_id": customer.id,
        "order_id": order.id,
        "amount_cents": cents,
        "reason": "missed_promotion",
    }
    facts = ["saw-order", "saw-account", "saw-promotion", "saw-credits", "read-PRM-2"]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(order, id="saw-order"),
            desk.account(customer),
            expect_any(expect_read(promotion), expect_call("quote_promotion", arguments=use), id="saw-promotion"),
            desk.read("PRM-2"),
            desk.earlier_credit(customer),
            expect_row(Credit, credit, id="credit", after=facts),
            *desk.expect_resolved(ticket, after=["credit"], states=cents),
        ],
        allow=[permit_change(customer, "credit_cents")],
        oracle=[
            *path_of(order),
            call("quote_promotion", **use),
            call("give_credit", **credit),
            *closing_calls(
                ticket,
                f"{promotion.id} would have taken {amount(cents)} off {order.id}; you have that as store credit now.",
            ),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="PRM-2"),
                call("get_promotion", code=promotion.id),
                call("get_order", order_id=order.id),
                call("get_customer", customer_id=customer.id),
                call("get_credits", customer_id=customer.id),
                call("give_credit", **credit),
                *closing_calls(ticket, f"The code is worth the same to you now: {amount(cents)} of store credit."),
            ]
        ],
    )


def path_of(order: Order) -> list[ToolCall]:
    """What is looked up, in order."""
    return [
        *about_order(order),
        call("read_handbook", section_id="PRM-2"),
        call("get_credits", customer_id=order.customer_id),
    ]


def refusal(desk: Desk, ticket: Ticket, prompt: str, order: Order, cents: int) -> Task:
    if desk.stream.chance(50):
        grounds = ordered_too_long_ago(desk, order, desk.planting_policy.promotion_claim_days, "PRM-2")
    else:
        grounds = credited_already(desk, order, "missed_promotion", cents, "PRM-2")
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=path_of(order))
