"""Broken after the return window, and the customer wants money: what is wrong decides, and they settle for a remedy."""

from palaestra.envs.kit import ask, dialogue, draw_temper, tell
from palaestra.envs.task import Task, call, family
from palaestra.envs.user import Persona, Reaction, UserFact
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.lookups import about_goods
from palaestra.envs.worlds.storefront.remedies import warranty_remedy
from palaestra.envs.worlds.storefront.replies import window_closed
from palaestra.envs.worlds.storefront.requests import fault_of
from palaestra.envs.worlds.storefront.schema import Fault, OrderLine, WarrantyClaim
from palaestra.envs.worlds.storefront.topics import TOPICS
from palaestra.records import Json
from palaestra.rubrics import expect_call, expect_question, expect_read, expect_row

SYMPTOMS: dict[Fault, str] = {
    "dead": "It does not start any more, nothing happens at all.",
    "noise": "It makes a loud noise all the time.",
    "overheating": "It gets far too hot and then shuts down.",
    "display": "There are stripes in the picture.",
    "intermittent": "Now and then it fails for no reason.",
}
ACCIDENTS = ("I dropped it, and now a corner is broken off.", "I spilled coffee over it, I am afraid.")


def explain_remedy(desk: Desk, line: OrderLine, remedy: str) -> str:
    """What the warranty gives, which the customer does not choose (WAR-1, WAR-2)."""
    return (
        f"{window_closed(desk, line)} There is no refund any more, but it is under warranty, which gives you a "
        f"{remedy} free of charge."
    )


@family("storefront/talk-what-is-wrong", level=3, traits=("dialogue", "write", "policy-exception"), twin=True)
def talk_what_is_wrong(desk: Desk) -> Task:
    line = desk.pick(
        OrderLine, lambda x: desk.claimable(x) and desk.warranty_ends(x) >= desk.today, what="line under warranty"
    )
    order, product = desk.order(line), desk.product(line)
    if desk.stream.chance(50):
        product = desk.state.update(product, stock=0)
    customer, fault = desk.customer(order), fault_of(desk.stream, product)
    accident = desk.stream.choice(ACCIDENTS)
    remedy = {"replace": "replacement", "repair": "repair"}[warranty_remedy(desk, product, fault)]
    bodies = (
        f"I am not happy with the {product.name} from {order.id}. It is broken, and I want my money back.",
        f"The {product.name} from {order.id} is broken. Please refund me.",
    )
    ticket = desk.ticket(customer, desk.word_subject("broken", "It is broken"))
    prompt = desk.mail(ticket, desk.word_body("broken", bodies, product=product.name, order=order.id))
    agreed = f"accept:{remedy}"
    user = Persona(
        goal=f"You want your money back for the {product.name}, but would settle for a {remedy}.",
        topics=TOPICS,
        facts=(UserFact(topic="fault", says=accident if desk.twin else SYMPTOMS[fault]),),
        reactions=tuple(
            Reaction(to=f"{kind}:{remedy}", says=f"A {remedy} would be fine with me.", said=agreed, settles=True)
            for kind in ("offer", "inform")
        ),
        temper=draw_temper(desk.stream),
        owed=not desk.twin,
    )
    found = [
        *about_goods(order, line),
        ask("fault", "What exactly is wrong with it?"),
        call("read_handbook", section_id="WAR-2"),
    ]
    computed = expect_call("compute_warranty", arguments={"line_id": line.id})
    delivery = desk.delivery(line, computed)
    facts = [expect_read(line, id="saw-line"), desk.account(customer), delivery, expect_question("fault")]
    if desk.twin:
        return dialogue(
            prompt=prompt,
            user=user,
            rubric=[
                *facts,
                *desk.expect_declined(
                    ticket, "WAR-2", line, after=["saw-line", "saw-account", "knew-delivery", "asked-fault"]
                ),
            ],
            oracle=[
                *found,
                *decline_calls(
                    ticket,
                    "WAR-2",
                    line,
                    f"{window_closed(desk, line)} The warranty covers faults, and not such damage.",
                    about="repair",
                ),
            ],
        )
    claim: dict[str, Json] = {"line_id": line.id, "fault": fault, "remedy": remedy.replace("replacement", "replace")}
    return dialogue(
        prompt=prompt,
        user=user,
        rubric=[
            *facts,
            desk.warranty(line),
            desk.stock(product),
            desk.earlier_claims(line),
            desk.read("WAR-1"),
            desk.read("WAR-2"),
            expect_row(
                WarrantyClaim,
                {**claim, "status": "open"},
                id="claim",
                after=[
                    "saw-line",
                    "saw-account",
                    "knew-delivery",
                    "asked-fault",
                    "knew-warranty",
                    "saw-claims",
                    f"saw-stock-{product.id}",
                    "read-WAR-1",
                    "read-WAR-2",
                ],
            ),
            *desk.expect_resolved(ticket, after=["claim"]),
        ],
        oracle=[
            *found,
            call("read_handbook", section_id="WAR-1"),
            call("compute_warranty", line_id=line.id),
            call("get_warranty_claims", line_id=line.id),
            tell(remedy, explain_remedy(desk, line, remedy)),
            call("open_warranty_claim", **claim),
            *closing_calls(ticket, f"Your warranty claim for a {remedy} is open; our warranty team sees to it."),
        ],
    )
