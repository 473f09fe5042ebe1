"""Money that comes back: from other insurers, from garages that were paid twice, and to the policyholder."""

from dataclasses import replace
from datetime import timedelta

from palaestra.envs.kit import amount, percent_half_up
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.insurer.amounts import Calculations
from palaestra.envs.worlds.insurer.assessment import Assessment, follow, open_matter, view_claim, view_payments
from palaestra.envs.worlds.insurer.desk import ClaimAction, InsurerDraft, decide
from palaestra.envs.worlds.insurer.planting import plant_payment
from palaestra.envs.worlds.insurer.schema import (
    Claim,
    ClaimPayment,
    Cover,
    Invoice,
    Matter,
    OtherInsurer,
    Recovery,
)
from palaestra.rubrics import expect_change, expect_read, expect_row

_DEMAND_BODIES = (
    "The other driver was to blame for {claim}. Please get the money back from their insurer.",
    "I am not the only one to blame for {claim}: please ask the other insurer for their share.",
)


def _draw_liable(desk: InsurerDraft, *, agreement: bool) -> tuple[Claim, OtherInsurer, Matter, str]:
    """A settled collision for which somebody else is liable in part, and the wish to recover their share."""
    claim = desk.pick(Claim, lambda c: c.status == "settled" and c.peril == "collision" and c.liable_percent == 0)
    other = desk.pick(OtherInsurer, lambda o: o.sharing_agreement == agreement)
    percent = 5 * desk.stream.between(5, 19)
    claim = desk.state.update(claim, other_insurer_id=other.id, liable_percent=percent)
    matter, prompt = desk.open_matter(
        "demand", desk.holder(claim), subject="The other driver", bodies=_DEMAND_BODIES, claim=claim.id
    )
    return claim, other, matter, prompt


def _age(desk: InsurerDraft, claim: Claim, days: int) -> Claim:
    """The claim with its loss so many days ago, paid soon after."""
    day = desk.today - timedelta(days=days)
    for payment in desk.state.find(ClaimPayment, claim_id=claim.id):
        desk.state.update(payment, paid_on=day + timedelta(days=30))
    return desk.move_loss(claim, day)


def _demand(desk: InsurerDraft, matter: Matter, prompt: str, claim: Claim, other: OtherInsurer) -> Task:
    """Demand the share of what was paid, or refuse (REC-1, REC-2)."""
    claim = desk.state.get(Claim, claim.id)
    a = desk.assess(matter, desk.holder(claim))
    follow(a, claim, view_claim)
    if a.is_open:
        a.read("REC-1")
        if (desk.today - claim.loss_day).days > a.rules.recovery_days:
            a.refuse("REC-1", claim, "saw-claim")
    share = _share(a, claim, other) if a.is_open else 0
    values = {"claim_id": claim.id, "other_insurer_id": other.id, "demanded_cents": share, "status": "demanded"}
    demand = ClaimAction(
        call=call("demand_recovery", claim_id=claim.id, other_insurer_id=other.id, amount_cents=share),
        expected=expect_row(Recovery, values, id="demanded"),
    )
    message = f"We have demanded {amount(share)} of the other insurer."
    return decide(desk, a, prompt, [demand], message=message, states=share)


def _share(a: Assessment, claim: Claim, other: OtherInsurer) -> int:
    work = Calculations()
    paid = work.add([p.amount_cents for p in view_payments(a, claim) if p.status == "paid"])
    shown = call("get_other_insurer", other_insurer_id=other.id)
    a.look(shown, expect_read(other, fields=["sharing_agreement"], id="saw-insurer"))
    if other.sharing_agreement:
        a.read("REC-2")
        if paid <= a.rules.sharing_cents:
            a.calls += work.calls
            a.refuse("REC-2", other, "saw-claim", "saw-payments", "saw-insurer")
            return 0
    share = work.percent(paid, claim.liable_percent)
    a.calls += work.calls
    return share


@family("insurer/demand-recovery", level=3, traits=("write", "arithmetic", "multi-hop"), twin=True)
def demand_share(desk: InsurerDraft) -> Task:
    """The share of all that was paid, on the last day for it; in the twin a day later."""
    claim, other, matter, prompt = _draw_liable(desk, agreement=False)
    towing = 100 * desk.stream.between(90, 260)
    claim = _age(desk, claim, desk.planting_rules.recovery_days + (1 if desk.twin else 0))
    plant_payment(desk, claim, "assistance", towing, claim.loss_day + timedelta(days=8))
    return _demand(desk, matter, prompt, claim, other)


@family("insurer/demand-under-agreement", level=3, traits=("write", "arithmetic", "policy-exception"), twin=True)
def demand_under_agreement(desk: InsurerDraft) -> Task:
    """More was paid than a sharing agreement lets the insurers bear themselves; in the twin just as much."""
    claim, other, matter, prompt = _draw_liable(desk, agreement=True)
    above, towing = 100 * desk.stream.between(1, 300), 100 * desk.stream.between(90, 260)
    claim = _age(desk, claim, 200)
    plant_payment(desk, claim, "assistance", towing, claim.loss_day + timedelta(days=8))
    whole = desk.planting_rules.sharing_cents + (0 if desk.twin else above)
    first = desk.state.find(ClaimPayment, claim_id=claim.id)[0]
    desk.state.update(first, amount_cents=whole - towing)
    return _demand(desk, matter, prompt, claim, other)


@family("insurer/return-deductible", level=3, traits=("write", "arithmetic", "multi-hop"), twin=True)
def return_recovered_deductible(desk: InsurerDraft) -> Task:
    """A recovery was received in part, so a part of the deductible goes back; in the twin it is only demanded."""

    def fits(recovery: Recovery) -> bool:
        return recovery.status == "received" and recovery.accepted_percent > 0

    recovery = desk.pick(Recovery, fits)
    claim = desk.state.get(Claim, recovery.claim_id)
    accepted = 5 * desk.stream.between(8, 19)
    matter, prompt = desk.open_matter(
        "deductible-back",
        desk.holder(claim),
        subject="My deductible",
        bodies=(
            "Has the other insurer paid for {claim} by now? Then I would like my deductible back.",
            "Please pay me back the deductible of {claim}; the other insurer should have paid.",
        ),
        claim=claim.id,
    )
    if desk.twin:
        recovery = desk.state.update(recovery, status="demanded", received_cents=0, accepted_percent=0)
    else:
        received = percent_half_up(recovery.demanded_cents, accepted)
        recovery = desk.state.update(recovery, received_cents=received, accepted_percent=accepted)
    a = desk.assess(matter, desk.holder(claim))
    follow(a, claim, view_claim)
    due = _deductible_due(a, claim, recovery) if a.is_open else 0
    values = {"claim_id": claim.id, "kind": "deductible", "amount_cents": due, "status": "paid"}
    pay = ClaimAction(
        call=call("return_deductible", claim_id=claim.id, amount_cents=due),
        expected=expect_row(ClaimPayment, values, id="paid"),
    )
    message = f"We have paid you {amount(due)} of your deductible back."
    return decide(desk, a, prompt, [pay], message=message, states=due)


def _deductible_due(a: Assessment, claim: Claim, recovery: Recovery) -> int:
    fields = ["status", "accepted_percent"]
    a.look(call("get_recoveries", claim_id=claim.id), expect_read(recovery, fields=fields, id="saw-recovery"))
    a.read("REC-3")
    if recovery.status != "received":
        a.refuse("REC-3", recovery, "saw-recovery")
        return 0
    cover: Cover = a.cover(claim)
    shown = call("get_covers", contract_id=claim.contract_id)
    a.look(shown, expect_read(cover, fields=["deductible_cents"], id="saw-cover"))
    work = Calculations()
    due = work.percent(cover.deductible_cents, recovery.accepted_percent)
    a.calls += work.calls
    a.read("AUT-1")
    return due


@family("insurer/reclaim-double-payment", level=2, traits=("write", "multi-hop"), twin=True)
def reclaim_double_payment(desk: InsurerDraft) -> Task:
    """An invoice was paid twice; in the twin the two payments are for two invoices."""
    claim = desk.pick(Claim, lambda c: c.status == "settled" and bool(desk.state.find(Invoice, claim_id=c.id)))
    [invoice] = desk.state.find(Invoice, claim_id=claim.id)
    [payment] = desk.state.find(ClaimPayment, claim_id=claim.id)
    later, number = desk.stream.between(3, 12), f"{desk.stream.between(2, 9)}{desk.stream.between(1000, 9999)}"
    second = desk.state.insert(
        ClaimPayment(
            id=desk.state.next_id(ClaimPayment),
            claim_id=claim.id,
            kind="invoice",
            invoice_id=invoice.id,
            invoice_number=invoice.number,
            amount_cents=payment.amount_cents,
            paid_on=payment.paid_on + timedelta(days=later),
            status="paid",
            approver_id=None,
        )
    )
    matter, prompt = desk.open_matter(
        "reclaim",
        desk.holder(claim),
        subject="Paid twice?",
        bodies=(
            "My garage tells me that you have paid invoice {invoice} of claim {claim} twice. Please put that right.",
            "For claim {claim} the garage says it got the money for {invoice} two times. Please take one of them back.",
        ),
        invoice=invoice.id,
        claim=claim.id,
    )
    issued = invoice.issued + timedelta(days=2)
    other = desk.state.insert(replace(invoice, id=desk.state.next_id(Invoice), number=number, issued=issued))
    if desk.twin:
        second = desk.state.update(second, invoice_id=other.id, invoice_number=other.number)
    a = desk.assess(matter, desk.holder(claim))
    open_matter(a)
    if a.is_open:
        shown = call("get_invoices", claim_id=claim.id)
        a.look(shown, expect_read(invoice, fields=["number"], id="saw-invoice"))
        view_payments(a, claim)
        a.read("BIL-1")
        if second.invoice_id != invoice.id:
            a.refuse("BIL-1", second, "saw-payments")
    reclaim = ClaimAction(
        call=call("reclaim_payment", payment_id=second.id),
        expected=expect_change(second, {"status": "reclaimed"}, id="reclaimed"),
    )
    message = f"We have asked the garage for {amount(second.amount_cents)} back."
    return decide(desk, a, prompt, [reclaim], message=message, states=second.amount_cents)


@family("insurer/ask-what-was-paid", level=1, traits=("lookup", "arithmetic"), twin=True)
def ask_what_was_paid(desk: InsurerDraft) -> Task:
    """The sum of the payments that stand, not of one that waits or was reclaimed; in the twin a stranger asks."""
    claim = desk.pick_claim("collision")
    holder = desk.holder(claim)
    cents = [100 * desk.stream.between(150, 900) for _ in range(2)]
    matter, prompt = desk.open_matter(
        "what-was-paid",
        holder,
        subject="A question about my claim",
        bodies=(
            "How much have you paid on claim {claim} so far? Please tell me the sum.",
            "Please tell me what was paid on claim {claim} until today, all in all.",
        ),
        claim=claim.id,
    )
    plant_payment(desk, claim, "advance", cents[0], claim.loss_day + timedelta(days=7))
    waits = plant_payment(desk, claim, "advance", cents[1], claim.loss_day + timedelta(days=9))
    desk.state.update(waits, status=desk.stream.choice(("pending", "reclaimed")))
    if desk.twin:
        name, host = holder.email.split("@")
        holder = desk.state.update(holder, email=f"{name}.{name[:1]}@{host}")
    a = desk.assess(matter, holder)
    open_matter(a)
    work, total = Calculations(), 0
    if a.is_open:
        a.read("PRV-1")
        if desk.twin:
            a.refuse("PRV-1", holder)
    if a.is_open:
        view_claim(a, claim)
        total = work.add([p.amount_cents for p in view_payments(a, claim) if p.status == "paid"])
        a.calls += work.calls
    return decide(desk, a, prompt, [], message=f"So far we have paid {amount(total)} on your claim.", states=total)
