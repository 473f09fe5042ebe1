"""Invoices of garages: what counts of them, when they were paid before, and who approves them."""

from dataclasses import replace
from datetime import timedelta

from palaestra.envs.kit import amount
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.insurer.assessment import assess_claim, assess_invoice, find_approver
from palaestra.envs.worlds.insurer.desk import ClaimAction, InsurerDraft, decide, name_colleague
from palaestra.envs.worlds.insurer.planting import plant_invoice, plant_overdue, plant_payment
from palaestra.envs.worlds.insurer.population import ACTOR_ID
from palaestra.envs.worlds.insurer.schema import Adjuster, Claim, ClaimPayment, Garage, Invoice, Matter, Team
from palaestra.rubrics import expect_row

_BODIES = (
    "The repair is done. Please pay invoice {invoice} for claim {claim}.",
    "My garage has sent you invoice {invoice} for claim {claim}. Please pay what is due.",
    "Could you settle {invoice} with the garage? It belongs to claim {claim}.",
)


def _draw(
    desk: InsurerDraft, low: int, high: int, *, of_cents: int, partner: bool = True
) -> tuple[Claim, Invoice, Matter, str]:
    """A collision with an invoice of `low` to `high` per cent of an amount before VAT, and the wish to have it paid."""
    claim = desk.pick_claim("collision")
    garage = desk.pick(Garage, lambda g: g.partner == partner)
    invoice = plant_invoice(desk, claim, garage, of_cents * desk.stream.between(low, high) // 100)
    matter, prompt = desk.open_matter(
        "pay-invoice", desk.holder(claim), subject="An invoice", bodies=_BODIES, invoice=invoice.id, claim=claim.id
    )
    return claim, invoice, matter, prompt


def _settle(desk: InsurerDraft, matter: Matter, prompt: str, claim: Claim, invoice: Invoice) -> Task:
    """Assess the invoice and pay what is due, or refuse."""
    claim = desk.state.get(Claim, claim.id)
    a = desk.assess(matter, desk.holder(claim))
    assess_claim(a, claim)
    due = assess_invoice(a, claim, invoice) if a.is_open else 0
    if a.is_open:
        find_approver(a, claim, due)
    pay = call("pay_invoice", invoice_id=invoice.id, amount_cents=due, **name_colleague(a.approver))
    wanted = {
        "claim_id": claim.id,
        "kind": "invoice",
        "invoice_id": invoice.id,
        "amount_cents": due,
        "status": "paid" if a.approver is None else "pending",
        "approver_id": None if a.approver is None else a.approver.id,
    }
    action = ClaimAction(call=pay, expected=expect_row(ClaimPayment, wanted, id="paid"))
    waits = "" if a.approver is None else " A colleague has to approve it first."
    return decide(
        desk, a, prompt, [action], message=f"The garage gets {amount(due)} of the invoice.{waits}", states=due
    )


@family("insurer/pay-invoice", level=2, traits=("write", "arithmetic", "multi-hop"), twin=True)
def pay_repair_invoice(desk: InsurerDraft) -> Task:
    """A partner's invoice under a cover that began on the day of the loss; in the twin it began a day later."""
    claim, invoice, matter, prompt = _draw(desk, 35, 70, of_cents=desk.planting_rules.own_limit_cents)
    began = claim.loss_day + timedelta(days=1 if desk.twin else 0)
    desk.state.update(desk.cover(claim), began=began)
    return _settle(desk, matter, prompt, claim, invoice)


@family("insurer/pay-cancelled-cover", level=3, traits=("write", "arithmetic", "multi-hop"), twin=True)
def pay_under_cancelled_cover(desk: InsurerDraft) -> Task:
    """The cover was cancelled to the day of the loss, and VAT does not count; in the twin it ended a day before."""
    claim, invoice, matter, prompt = _draw(desk, 40, 75, of_cents=desk.planting_rules.own_limit_cents)
    desk.state.update(desk.holder(claim), vat_registered=True)
    ended = claim.loss_day - timedelta(days=1 if desk.twin else 0)
    desk.state.update(desk.cover(claim), ended=ended)
    return _settle(desk, matter, prompt, claim, invoice)


@family("insurer/pay-outside-garage", level=3, traits=("write", "arithmetic", "multi-hop"), twin=True)
def pay_outside_garage(desk: InsurerDraft) -> Task:
    """A garage that is no partner sends an invoice again whose payment was reclaimed; in the twin it was not."""
    claim, invoice, matter, prompt = _draw(desk, 40, 70, of_cents=desk.planting_rules.own_limit_cents, partner=False)
    cents = desk.stream.between(60, 90) * invoice.total_cents // 100
    first = desk.state.insert(
        replace(invoice, id=desk.state.next_id(Invoice), issued=invoice.issued - timedelta(days=2))
    )
    payment = plant_payment(desk, claim, "invoice", cents, first.issued + timedelta(days=2), invoice=first)
    if not desk.twin:
        desk.state.update(payment, status="reclaimed")
    return _settle(desk, matter, prompt, claim, invoice)


@family("insurer/pay-late-premium", level=3, traits=("write", "arithmetic", "policy-exception"), twin=True)
def pay_after_late_premium(desk: InsurerDraft) -> Task:
    """A premium was unpaid on the day of the loss, its reminder as old as it may be; in the twin it is a day older."""
    claim, invoice, matter, prompt = _draw(desk, 35, 70, of_cents=desk.planting_rules.own_limit_cents)
    late, unpaid = desk.stream.between(1, 9), desk.stream.chance(50)
    paid = None if unpaid else claim.loss_day + timedelta(days=late)
    days = desk.planting_rules.grace_days + (1 if desk.twin else 0)
    plant_overdue(desk, claim, claim.loss_day - timedelta(days=days), paid_on=paid)
    return _settle(desk, matter, prompt, claim, invoice)


@family("insurer/pay-late-report", level=3, traits=("write", "arithmetic"), twin=True)
def pay_after_late_report(desk: InsurerDraft) -> Task:
    """The loss was reported on the last day for it; in the twin a day later."""
    claim, invoice, matter, prompt = _draw(desk, 35, 70, of_cents=desk.planting_rules.own_limit_cents)
    days = desk.planting_rules.report_days + (1 if desk.twin else 0)
    desk.state.update(claim, loss_day=claim.reported - timedelta(days=days))
    return _settle(desk, matter, prompt, claim, invoice)


@family("insurer/pay-with-approval", level=3, traits=("write", "arithmetic", "multi-hop"), twin=True)
def pay_with_approval(desk: InsurerDraft) -> Task:
    """Above the own authority a colleague approves, or their delegate; in the twin all of them are on leave."""
    claim, invoice, matter, prompt = _draw(desk, 150, 195, of_cents=desk.planting_rules.own_limit_cents)
    _plant_colleagues(desk, claim, "claims", invoice)
    for colleague in desk.state.find(Adjuster, team="claims") if desk.twin else ():
        if colleague.id != ACTOR_ID:
            desk.state.update(colleague, on_leave=True)
    return _settle(desk, matter, prompt, claim, invoice)


@family("insurer/pay-four-eyes", level=3, traits=("write", "arithmetic", "multi-hop"), twin=True)
def pay_with_four_eyes(desk: InsurerDraft) -> Task:
    """Far above the own authority controlling approves; in the twin the policyholder is the adjuster's relative."""
    claim, invoice, matter, prompt = _draw(desk, 92, 97, of_cents=desk.planting_rules.four_eyes_cents)
    desk.state.update(desk.cover(claim), limit_cents=5_000_000)
    _plant_colleagues(desk, claim, "controlling", invoice)
    if desk.twin:
        desk.state.update(desk.state.get(Adjuster, ACTOR_ID), related_to_id=desk.holder(claim).id)
    return _settle(desk, matter, prompt, claim, invoice)


def _plant_colleagues(desk: InsurerDraft, claim: Claim, team: Team, invoice: Invoice) -> None:
    """The colleague with the lowest limit that covers what is due does not approve, for one of three reasons.

    They are related to the policyholder; they are on leave, and their delegate approves; or both are on leave.
    """
    cents = invoice.total_cents - desk.cover(claim).deductible_cents
    colleagues = [c for c in desk.state.find(Adjuster, team=team) if c.id != ACTOR_ID]
    able = sorted((c for c in colleagues if c.approval_limit_cents >= cents), key=lambda c: c.approval_limit_cents)
    first, second, *_ = able
    why = desk.stream.below(3)
    delegate = desk.stream.choice([c for c in colleagues if c.id not in (first.id, second.id)])
    desk.state.update(second, on_leave=False)
    desk.state.update(delegate, on_leave=why == 2)
    if why == 0:
        desk.state.update(first, on_leave=False, related_to_id=desk.holder(claim).id)
    else:
        desk.state.update(first, on_leave=True, delegate_id=delegate.id)
