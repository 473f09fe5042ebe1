"""Half of a bundle comes back: what is kept may no longer have earned the discount, and the fee takes it back."""

from dataclasses import dataclass
from datetime import date, timedelta

from palaestra.envs.kit import amount, calculation, enumerate_words, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.lookups import about_goods
from palaestra.envs.worlds.storefront.planting import DEAREST_SHIPPING_CENTS, arrival, cheap, plain_customer, sell
from palaestra.envs.worlds.storefront.policy import last_return_day, restocking_fee
from palaestra.envs.worlds.storefront.replies import window_closed
from palaestra.envs.worlds.storefront.restocking import restocking_calls
from palaestra.envs.worlds.storefront.schema import Customer, OrderLine, Product, Promotion, Return, Ticket
from palaestra.records import Json, ToolCall
from palaestra.rubrics import Criterion, expect_read, expect_row, forbid_call

DEAREST = 12_000
STEP = 1_000
NAMES = ("SETDESK", "SETPLAY", "SETBASE", "SETPRO")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """An order of two goods with a bundle code: one comes back, one is kept."""

    code: Promotion
    back: OrderLine
    kept: OrderLine


@family("storefront/bundle-return", level=3, traits=("write", "multi-hop", "arithmetic", "policy-exception"), twin=True)
def bundle_return(desk: Desk) -> Task:
    room = 2 * DEAREST + DEAREST_SHIPPING_CENTS
    customer = desk.pick(Customer, plain_customer(desk, room=room), what="customer with room for an order")
    returned = {desk.state.get(OrderLine, r.line_id).product_id for r in desk.state.find(Return)}
    goods = [p for p in cheap(desk, below=DEAREST, above=4_000) if p.id not in returned]
    back, kept = desk.stream.sample(goods, 2)
    opened, broken, late = desk.stream.chance(50), desk.stream.chance(70), desk.stream.chance(50)
    day = desk.today - timedelta(days=desk.stream.between(3, 12))
    if desk.twin and late:
        day = out_of_window(desk, customer)
    bundle = add_bundle(desk, customer, (back, kept), day, broken=broken)
    if opened:
        desk.state.update(bundle.back, opened=True)
    line, order = desk.state.get(OrderLine, bundle.back.id), desk.order(bundle.back)
    request = requests.send_back(desk, order, back)
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    goods_looks = about_goods(order, line)
    if desk.twin:
        return (
            too_late(desk, ticket, prompt, line, goods_looks)
            if late
            else final(desk, ticket, prompt, line, goods_looks[:2])
        )
    fee = sum(fee_parts(desk, line, bundle, broken=broken))
    asked: dict[str, Json] = {"line_id": line.id, "quantity": 1, "reason": "changed_mind", "fee_cents": fee}
    reads = [call("read_handbook", section_id=section) for section in ("RET-1", "RET-2", "PRM-3")]
    sums = [
        call("get_promotion", code=bundle.code.id),
        *restocking_calls(desk, line)[1:],
        call("compute_paid", line_id=bundle.kept.id, quantity=1),
    ]
    restocked, discount = fee_parts(desk, line, bundle, broken=broken)
    if restocked and discount:
        sums.append(calculation("sum", restocked, discount)[0])
    taken = tuple(part for part in (restocked, discount) if part)
    told = explain_deduction(desk.paid_cents(line, 1), bundle.code, restocked=restocked, discount=discount)
    work = [call("authorise_return", **asked), *closing_calls(ticket, told)]
    facts = [
        *return_facts(desk, line),
        expect_read(desk.product(line), fields=["final_sale"], id="saw-product"),
        expect_read(bundle.code, id="saw-code"),
    ]
    facts += [desk.read(section) for section in ("RET-1", "RET-2", "PRM-3")]
    return Task(
        prompt=prompt,
        rubric=[
            *only_this(line, bundle.kept),
            *facts,
            expect_row(Return, {**asked, "status": "authorised"}, id="return", after=[fact.id for fact in facts]),
            *desk.expect_resolved(ticket, after=["return"], states=taken or None),
        ],
        allow=[permit_change(line, "returned")],
        oracle=[*goods_looks, *reads[1:], *sums, *work],
        alternatives=[
            [
                *reversed(reads),
                *goods_looks[:2],
                call("get_shipments", order_id=order.id),
                goods_looks[2],
                sums[0],
                work[0],
                *closing_calls(ticket, f"You may send it back. We take off {amount(fee)} in all."),
            ]
        ],
    )


def out_of_window(desk: Desk, customer: Customer) -> date:
    """A day on which goods arrived that the customer can no longer return."""
    days = (desk.today - timedelta(days=ago) for ago in range(20, 200, 5))
    return next(day for day in days if last_return_day(desk.planting_policy, customer.tier, day) < desk.today)


def add_bundle(desk: Desk, customer: Customer, goods: tuple[Product, Product], day: date, *, broken: bool) -> Bundle:
    """Add the code and the order. What is kept reaches the code's minimum, or fails to where `broken`."""
    course = arrival(desk, day)
    percent = desk.stream.between(6, 15)
    enough = goods[1].price_cents // STEP
    code = desk.state.insert(
        Promotion(
            id=f"{desk.stream.choice(NAMES)}{percent}",
            percent=percent,
            category=None,
            starts=course.placed.date() - timedelta(days=9),
            ends=course.placed.date() + timedelta(days=11),
            minimum_cents=(enough + broken) * STEP,
        )
    )
    order = sell(desk, customer, [(p, 1) for p in goods], course, promotion=code)
    back, kept = desk.lines(order)
    return Bundle(code=code, back=back, kept=kept)


def fee_parts(desk: Desk, line: OrderLine, bundle: Bundle, *, broken: bool) -> tuple[int, int]:
    """The restocking fee, and the discount of what is kept where it is no longer earned."""
    tier = desk.customer(desk.order(line)).tier
    fee = restocking_fee(desk.policy, tier, desk.paid_cents(line, 1), opened=line.opened, change_of_mind=True)
    kept = bundle.kept
    clawed = broken and desk.policy.bundle_claws_back
    return fee, (kept.unit_cents - desk.paid_cents(kept, 1) if clawed else 0)


def explain_deduction(paid: int, code: Promotion, *, restocked: int, discount: int) -> str:
    """What a customer is told about a return: what is taken off, why, and what is left."""
    parts = [
        *([f"a restocking fee of {amount(restocked)} (the package was opened)"] if restocked else []),
        *(
            [f"{amount(discount)} (the discount on what you keep, which does not reach the minimum of {code.id})"]
            if discount
            else []
        ),
    ]
    taken = f"We take off {enumerate_words(parts)}." if parts else "Nothing is taken off."
    return (
        f"You may send it back. You paid {amount(paid)} for it. {taken} "
        f"Once it is here, {amount(paid - restocked - discount)} are yours."
    )


def return_facts(desk: Desk, line: OrderLine) -> list[Criterion]:
    """What has to be known about any return."""
    return [expect_read(line, id="saw-line"), desk.account(desk.customer(desk.order(line))), desk.delivery(line)]


def only_this(line: OrderLine, kept: OrderLine) -> list[Criterion]:
    """Forbid to take back what is kept, and to pay before the goods are here."""
    return [
        forbid_call("authorise_return", arguments={"line_id": kept.id}, id="never-the-other"),
        forbid_call("issue_refund", arguments={"line_id": line.id}, id="never-refund"),
    ]


def too_late(desk: Desk, ticket: Ticket, prompt: str, line: OrderLine, opening: list[ToolCall]) -> Task:
    """The return window has closed."""
    parcel = desk.window_record(desk.order(line))
    facts = return_facts(desk, line)
    close = decline_calls(ticket, "RET-1", parcel, f"{window_closed(desk, line)} We cannot take it back.")
    return Task(
        prompt=prompt,
        rubric=[
            forbid_call("authorise_return", id="never-return"),
            *facts,
            *desk.expect_declined(ticket, "RET-1", parcel, after=[fact.id for fact in facts]),
        ],
        oracle=[*opening, *close],
        alternatives=[[opening[-1], *opening[:2], call("get_shipments", order_id=line.order_id), *close]],
    )


def final(desk: Desk, ticket: Ticket, prompt: str, line: OrderLine, opening: list[ToolCall]) -> Task:
    """What should come back was a clearance piece."""
    product = desk.state.update(desk.product(line), final_sale=True)
    look, read = call("get_product", product_id=product.id), call("read_handbook", section_id="RET-3")
    told = f"The {product.name} was a final sale, which we cannot take back because of a change of mind."
    close = decline_calls(ticket, "RET-3", product, told)
    facts = [
        expect_read(line, id="saw-line"),
        desk.account(desk.customer(desk.order(line))),
        expect_read(product, fields=["final_sale"], id="saw-product"),
    ]
    return Task(
        prompt=prompt,
        rubric=[
            forbid_call("authorise_return", id="never-return"),
            *facts,
            *desk.expect_declined(ticket, "RET-3", product, after=[fact.id for fact in facts]),
        ],
        oracle=[*opening, look, read, *close],
        alternatives=[[read, *opening[:1], look, *opening[1:], *close]],
    )
