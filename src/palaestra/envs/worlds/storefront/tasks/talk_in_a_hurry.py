"""Something in a parcel of several is damaged, and the customer has no time: one question is all they answer gladly."""

from palaestra.envs.kit import amount, ask, dialogue, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.user import Persona, UserFact
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.lookups import about_order, about_refund
from palaestra.envs.worlds.storefront.refusal_changes import estrange
from palaestra.envs.worlds.storefront.schema import OrderLine, Refund
from palaestra.envs.worlds.storefront.topics import TOPICS
from palaestra.records import Json
from palaestra.rubrics import expect_question, expect_read, expect_row


@family("storefront/talk-in-a-hurry", level=2, traits=("dialogue", "write", "arithmetic"), twin=True)
def talk_in_a_hurry(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        single = all(other.quantity == 1 for other in desk.lines(desk.order(line)))
        several = single and len(desk.lines(desk.order(line))) > 1
        return several and desk.returnable(line) and desk.paid_cents(line, 1) <= desk.policy.agent_limit_cents

    line = desk.pick(OrderLine, fits, what="piece of an order of several products")
    order, product, cents = desk.order(line), desk.product(line), desk.paid_cents(line, 1)
    customer = desk.customer(order)
    ticket = desk.ticket(customer, desk.word_subject("something-damaged", "Arrived damaged"))
    bodies = (
        f"Something in {order.id} arrived damaged. I am in a hurry: refund me for it, please.",
        f"No time for long mails. One thing in {order.id} was broken when it came. Money back, please.",
    )
    prompt = desk.mail(ticket, desk.word_body("something-damaged", bodies, order=order.id))
    user = Persona(
        goal="You want your money back for the one thing that arrived damaged, and you have no time.",
        topics=TOPICS,
        facts=(
            UserFact(topic="product", says=f"The {product.name}."),
            UserFact(topic="account", says="I have no time to write again from anywhere else."),
        ),
        temper="terse",
        patience=2,
        questions=1,
        owed=not desk.twin,
        sender=customer.email,
    )
    if desk.twin:
        owner = estrange(desk, customer)
        return dialogue(
            prompt=prompt,
            user=user,
            rubric=[
                desk.account(owner),
                expect_question("account"),
                *desk.expect_declined(ticket, "PRV-1", owner, after=["saw-account", "asked-account"]),
            ],
            oracle=[
                call("get_order", order_id=order.id),
                call("get_customer", customer_id=owner.id),
                call("read_handbook", section_id="PRV-1"),
                ask("account", "Could you write to us again from the e-mail address of your account?"),
                *decline_calls(
                    ticket, "PRV-1", owner, "We can only act on a mail from the address on file.", about="account"
                ),
            ],
        )
    refund: dict[str, Json] = {"line_id": line.id, "quantity": 1, "amount_cents": cents, "reason": "damaged"}
    facts = ["saw-line", "saw-account", "asked-product", "knew-delivery", "read-RET-1", "read-REF-1", "read-REF-2"]
    return dialogue(
        prompt=prompt,
        user=user,
        rubric=[
            expect_read(line, id="saw-line"),
            desk.account(customer),
            expect_question("product"),
            desk.delivery(line),
            desk.read("RET-1"),
            desk.read("REF-1"),
            desk.own_limit(),
            expect_row(Refund, {**refund, "status": "paid"}, id="refund", after=facts),
            *desk.expect_resolved(ticket, after=["refund"], states=cents),
        ],
        allow=[permit_change(line, "returned"), *desk.pays(order)],
        oracle=[
            *about_order(order),
            ask("product", "Which product arrived damaged?"),
            *about_refund(order, line, 1)[2:],
            call("issue_refund", **refund),
            *closing_calls(ticket, f"We have paid {amount(cents)} back; you need not send anything."),
        ],
    )
