"""A parcel came late: store credit by the customer's tier. Never seen in training."""

from palaestra.envs.kit import amount, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_order
from palaestra.envs.worlds.storefront.refusal_conditions import credited_already, within_grace
from palaestra.envs.worlds.storefront.schema import Credit, Order, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json, ToolCall
from palaestra.rubrics import expect_read, expect_row


@family("storefront/delay-credit", level=2, traits=("write", "policy-exception"), splits=("heldout",), twin=True)
def delay_credit(desk: Desk) -> Task:
    def fits(order: Order) -> bool:
        parcels = desk.shipments(order)
        if len(parcels) != 1 or parcels[0].delivered is None or not desk.plain(order):
            return False
        late = (parcels[0].delivered - parcels[0].due).days > desk.policy.delay_grace_days
        return late and not desk.state.find(Credit, order_id=order.id)

    order = desk.pick(Order, fits, what="parcel that came late")
    customer, [parcel] = desk.customer(order), desk.shipments(order)
    cents = desk.policy.delay_credit_cents[customer.tier]
    ticket = desk.ticket(customer, desk.word_subject("delayed", "Far too late"))
    credit: dict[str, Json] = {
        "customer_id": customer.id,
        "order_id": order.id,
        "amount_cents": cents,
        "reason": "delay",
    }
    bodies = (f"{order.id} came much later than you promised. Is there any compensation for that?",)
    prompt = desk.mail(ticket, desk.word_body("delayed", bodies, order=order.id))
    if desk.twin:
        return refusal(desk, ticket, prompt, order, desk.planting_policy.delay_credit_cents[customer.tier])
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(parcel, fields=["due", "delivered"], id="saw-parcel"),
            desk.account(customer),
            desk.read("LOY-2"),
            desk.earlier_credit(customer),
            expect_row(Credit, credit, id="credit", after=["saw-parcel", "saw-account", "saw-credits", "read-LOY-2"]),
            *desk.expect_resolved(ticket, after=["credit"], states=cents),
        ],
        allow=[permit_change(customer, "credit_cents")],
        oracle=[
            *path_of(order),
            call("give_credit", **credit),
            *closing_calls(ticket, f"We are sorry for the delay and give you {amount(cents)} of store credit."),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="LOY-2"),
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("get_shipments", order_id=order.id),
                call("get_credits", customer_id=customer.id),
                call("give_credit", **credit),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message=f"You have store credit for the wait: {amount(cents)}."),
                call("finish"),
            ]
        ],
    )


def path_of(order: Order) -> list[ToolCall]:
    """What is looked up, in order."""
    return [
        *about_order(order),
        call("get_shipments", order_id=order.id),
        call("read_handbook", section_id="LOY-2"),
        call("get_credits", customer_id=order.customer_id),
    ]


def refusal(desk: Desk, ticket: Ticket, prompt: str, order: Order, cents: int) -> Task:
    if desk.stream.chance(50):
        [parcel] = desk.shipments(order)
        grounds = within_grace(desk, parcel)
    else:
        grounds = credited_already(desk, order, "delay", cents, "LOY-2")
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=path_of(order))
