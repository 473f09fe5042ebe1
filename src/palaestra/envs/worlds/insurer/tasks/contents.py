"""Lost things at home: what counts of them, what was paid before, and what stands against a payment."""

from datetime import timedelta

from palaestra.envs.kit import amount, draw_temper, with_user
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.insurer.assessment import (
    assess_claim,
    assess_items,
    deduct_arrears,
    find_approver,
    unpaid_premiums,
)
from palaestra.envs.worlds.insurer.desk import ClaimAction, InsurerDraft, decide, name_colleague
from palaestra.envs.worlds.insurer.dialogues import answer_about
from palaestra.envs.worlds.insurer.planting import (
    move_settled,
    plant_overdue,
    plant_payment,
    plant_settled,
    settled_claim,
)
from palaestra.envs.worlds.insurer.schema import Claim, ClaimDocument, ClaimPayment, LossItem, Matter, Peril, Premium
from palaestra.records import ToolCall
from palaestra.rubrics import Allowance, Criterion, expect_change, expect_question, expect_row

_BODIES = (
    "Please settle my claim {claim}. You have the list of what I lost.",
    "What do I get for claim {claim}? Please pay it; the list of things is with you.",
    "My list for claim {claim} is complete. Please pay what I am due.",
)
_STOLEN_BODIES = (
    "We were burgled, and the police were here. Please settle claim {claim}.",
    "Please pay claim {claim}: the list of what the burglars took is with you, and I have spoken with the police.",
)


def _draw(desk: InsurerDraft, *perils: Peril) -> tuple[Claim, Matter, str]:
    """A claim for lost things, and the wish to have it settled."""
    claim = desk.pick_claim(*perils)
    matter, prompt = desk.open_matter(
        "settle-contents", desk.holder(claim), subject="My claim", bodies=_BODIES, claim=claim.id
    )
    return claim, matter, prompt


def _settle(
    desk: InsurerDraft,
    matter: Matter,
    prompt: str,
    claim: Claim,
    *,
    report: tuple[ToolCall, ClaimAction, Criterion] | None = None,
) -> Task:
    """Assess the things and pay what is due, ask for what is missing, or refuse.

    Args:
        desk: The desk.
        matter: The matter.
        prompt: The request.
        claim: The claim.
        report: How the number of a missing police report is asked for, how it is recorded, and that it was told; `None`
            where the policyholder does not answer.
    """
    claim = desk.state.get(Claim, claim.id)
    a = desk.assess(matter, desk.holder(claim))
    assess_claim(a, claim)
    if a.is_open and a.needs_report and report is None:
        values = {"claim_id": claim.id, "kind": "police_report", "status": "requested"}
        wish = ClaimAction(
            call=call("request_document", claim_id=claim.id, kind="police_report"),
            expected=expect_row(ClaimDocument, values, id="requested"),
        )
        return decide(desk, a, prompt, [wish], message="Please send us the police report first; I have asked for it.")
    if a.is_open and a.needs_report and report is not None:
        a.look(report[0], report[2])
    due = assess_items(a, claim) if a.is_open else 0
    paid = deduct_arrears(a, claim, due) if a.is_open else 0
    if a.is_open:
        find_approver(a, claim, paid)
    actions = [] if report is None else [report[1]]
    actions += [_set_off(desk, claim, premium) for premium in unpaid_premiums(desk.state, claim, desk.today)]
    pay = call("pay_compensation", claim_id=claim.id, amount_cents=paid, **name_colleague(a.approver))
    wanted = {
        "claim_id": claim.id,
        "kind": "compensation",
        "amount_cents": paid,
        "status": "paid" if a.approver is None else "pending",
        "approver_id": None if a.approver is None else a.approver.id,
    }
    settled = Allowance(table=claim.table, key=claim.id, values=(("status", "settled"),))
    actions.append(ClaimAction(call=pay, expected=expect_row(ClaimPayment, wanted, id="paid"), allow=(settled,)))
    waits = "" if a.approver is None else " A colleague has to approve it first."
    return decide(desk, a, prompt, actions, message=f"Your compensation is {amount(paid)}.{waits}", states=paid)


def _set_off(desk: InsurerDraft, claim: Claim, premium: Premium) -> ClaimAction:
    return ClaimAction(
        call=call("set_off_premium", premium_id=premium.id, claim_id=claim.id),
        expected=expect_change(premium, {"paid_on": desk.today, "claim_id": claim.id}, id="set-off"),
    )


@family("insurer/settle-fire", level=3, traits=("write", "arithmetic", "multi-hop"), twin=True)
def settle_fire(desk: InsurerDraft) -> Task:
    """Another fire was settled whose day is the day before; in the twin it is the same day, so the same loss."""
    claim, matter, prompt = _draw(desk, "fire")
    day = claim.loss_day - timedelta(days=0 if desk.twin else 1)
    move_settled(desk, claim, settled_claim(desk, claim), day)
    return _settle(desk, matter, prompt, claim)


@family("insurer/settle-series", level=3, traits=("write", "arithmetic", "policy-exception"), twin=True)
def settle_series(desk: InsurerDraft) -> Task:
    """One settled claim lies a day before the period of a series; in the twin it is in it, and the series is whole."""
    claim, matter, prompt = _draw(desk, "fire", "water")
    rules = desk.planting_rules
    days = [desk.stream.between(60, 250) for _ in range(rules.series_claims - 1)]
    cents = [1_000 * desk.stream.between(40, 90) for _ in range(rules.series_claims)]
    for span, paid in zip([*days, rules.series_days + (0 if desk.twin else 1)], cents, strict=True):
        plant_settled(desk, claim, claim.loss_day - timedelta(days=span), paid)
    return _settle(desk, matter, prompt, claim)


@family("insurer/settle-water", level=3, traits=("write", "arithmetic"), twin=True)
def settle_water(desk: InsurerDraft) -> Task:
    """Water or storm on the first day after the waiting period, and the limit binds; in the twin a day before."""
    claim, matter, prompt = _draw(desk, "water")
    claim = desk.state.update(claim, peril=desk.stream.choice(("water", "storm")))
    limit = 1_000 * desk.stream.between(60, 90)
    days = desk.planting_rules.waiting_days - (1 if desk.twin else 0)
    desk.state.update(desk.cover(claim), began=claim.loss_day - timedelta(days=days), limit_cents=limit)
    item = desk.state.find(LossItem, claim_id=claim.id)[0]
    desk.state.update(item, bought=claim.loss_day - timedelta(days=40), price_cents=2 * limit)
    return _settle(desk, matter, prompt, claim)


@family("insurer/settle-burglary", level=3, traits=("write", "arithmetic"), twin=True)
def settle_burglary(desk: InsurerDraft) -> Task:
    """Valuables above their limit, and the police report is there; in the twin it was asked for and has not come."""
    claim, matter, prompt = _draw(desk, "burglary")
    dear = 1_000 * desk.stream.between(400, 520)
    rules = desk.planting_rules
    claim = desk.move_loss(claim, desk.today - timedelta(days=rules.police_days + 6))
    desk.state.update(desk.cover(claim), limit_cents=1_500_000)
    _, _, valuable = desk.state.find(LossItem, claim_id=claim.id)
    desk.state.update(valuable, price_cents=dear)
    report = desk.state.find(ClaimDocument, claim_id=claim.id, kind="police_report")[0]
    asked = desk.today - timedelta(days=rules.police_days + 1)
    if desk.twin:
        desk.state.update(report, status="requested", dated=asked, reference=None)
    else:
        desk.state.update(report, dated=asked)
    return _settle(desk, matter, prompt, claim)


@family("insurer/settle-balance", level=3, traits=("write", "arithmetic"), twin=True)
def settle_balance(desk: InsurerDraft) -> Task:
    """An advance was paid, so the rest is due; in the twin as much was paid as the claim comes to."""
    claim, matter, prompt = _draw(desk, "fire", "water")
    share = desk.stream.between(30, 60)
    a = desk.assess(matter, desk.holder(claim))
    whole = assess_items(a, claim)
    cents = whole if desk.twin else whole * share // 100
    plant_payment(desk, claim, "advance", cents, claim.loss_day + timedelta(days=6))
    return _settle(desk, matter, prompt, claim)


@family("insurer/settle-arrears", level=3, traits=("write", "arithmetic"), twin=True)
def settle_arrears(desk: InsurerDraft) -> Task:
    """A premium is unpaid and set off; in the twin its reminder is so old that nothing is paid."""
    claim, matter, prompt = _draw(desk, "fire", "water")
    later, silent = desk.stream.between(0, 5), desk.stream.chance(40)
    days = desk.planting_rules.grace_days + (1 if desk.twin else -later)
    reminded = None if silent and not desk.twin else claim.loss_day - timedelta(days=days)
    plant_overdue(desk, claim, reminded)
    return _settle(desk, matter, prompt, claim)


def _lose_report(desk: InsurerDraft, claim: Claim) -> None:
    """No police report is on the file."""
    for report in desk.state.find(ClaimDocument, claim_id=claim.id, kind="police_report"):
        desk.state.delete(report)


@family("insurer/ask-for-report", level=2, traits=("write", "multi-hop"), twin=True)
def ask_for_report(desk: InsurerDraft) -> Task:
    """A burglary just above the amount, without a police report; in the twin it was also reported a day too late."""
    claim, matter, prompt = _draw(desk, "burglary")
    rules = desk.planting_rules
    above = 1_000 * desk.stream.between(1, 9)
    reported = claim.loss_day + timedelta(days=rules.theft_days + (1 if desk.twin else 0))
    desk.state.update(claim, estimate_cents=rules.police_from_cents + above, reported=reported)
    _lose_report(desk, claim)
    return _settle(desk, matter, prompt, claim)


@family("insurer/settle-small-burglary", level=3, traits=("write", "arithmetic", "policy-exception"), twin=True)
def settle_small_burglary(desk: InsurerDraft) -> Task:
    """A burglary that needs no police report, since its estimate is just low enough; in the twin it was paid before."""
    claim, matter, prompt = _draw(desk, "burglary")
    cents = [1_000 * desk.stream.between(16, 40) for _ in range(3)]
    days = 1 + desk.stream.below(5)
    claim = desk.state.update(claim, estimate_cents=desk.planting_rules.police_from_cents)
    for item, price in zip(desk.state.find(LossItem, claim_id=claim.id), cents, strict=True):
        desk.state.update(item, price_cents=price, bought=claim.loss_day - timedelta(days=200))
    desk.state.update(desk.cover(claim), deductible_cents=15_000)
    _lose_report(desk, claim)
    day = claim.loss_day - timedelta(days=0 if desk.twin else days)
    move_settled(desk, claim, settled_claim(desk, claim), day)
    return _settle(desk, matter, prompt, claim)


@family("insurer/talk-police-report", level=3, traits=("dialogue", "write", "arithmetic"), twin=True)
def talk_police_report(desk: InsurerDraft) -> Task:
    """Only the policyholder knows the number of the police report; in the twin the loss was reported too late."""
    claim = desk.pick_claim("burglary")
    number, temper = f"PR-{desk.stream.between(20_000, 89_999)}", draw_temper(desk.stream)
    matter, prompt = desk.open_matter(
        "settle-stolen", desk.holder(claim), subject="The burglary", bodies=_STOLEN_BODIES, claim=claim.id
    )
    days = desk.planting_rules.theft_days + (1 if desk.twin else 0)
    desk.state.update(claim, reported=claim.loss_day + timedelta(days=days))
    _lose_report(desk, claim)
    values = {"claim_id": claim.id, "kind": "police_report", "status": "received", "reference": number}
    record = ClaimAction(
        call=call("record_document", claim_id=claim.id, kind="police_report", reference=number),
        expected=expect_row(ClaimDocument, values, id="recorded"),
    )
    question, user = answer_about(
        "report",
        "Which number does the police report have?",
        says=f"The police report has the number {number}.",
        goal="You want your burglary claim settled.",
        temper=temper,
        owed=not desk.twin,
    )
    report = (question, record, expect_question("report"))
    return with_user(_settle(desk, matter, prompt, claim, report=report), user)
