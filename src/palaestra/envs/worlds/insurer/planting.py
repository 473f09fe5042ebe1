"""What families plant around a claim: invoices, earlier payments and claims, premiums that are overdue."""

from datetime import date, timedelta

from palaestra.envs.worlds.insurer.assessment import due_premiums
from palaestra.envs.worlds.insurer.claim_population import make_invoice
from palaestra.envs.worlds.insurer.desk import InsurerDraft
from palaestra.envs.worlds.insurer.schema import (
    Claim,
    ClaimPayment,
    Garage,
    Invoice,
    PaymentKind,
    Premium,
)


def plant_invoice(desk: InsurerDraft, claim: Claim, garage: Garage, net_cents: int) -> Invoice:
    """A repair invoice of about that much without VAT; a garage that is no partner asks for more than is paid an hour.

    It draws the same however the garage is.
    """
    hours, dearer, cheaper = desk.stream.between(4, 9), desk.stream.between(6, 30), desk.stream.between(2, 12)
    capped = desk.planting_rules.labour_rate_cents
    rate = 9_400 - 100 * cheaper if garage.partner else capped + 100 * dearer
    number = f"{desk.stream.between(2, 9)}{desk.stream.between(1000, 9999)}"
    parts = (net_cents - hours * rate) // 100 * 100
    issued = claim.loss_day + timedelta(days=desk.stream.between(6, 9))
    key = desk.state.next_id(Invoice)
    invoice = make_invoice(key, claim, garage, number, issued, parts=parts, hours=hours, rate=rate)
    return desk.state.insert(invoice)


def plant_payment(
    desk: InsurerDraft,
    claim: Claim,
    kind: PaymentKind,
    cents: int,
    day: date,
    *,
    invoice: Invoice | None = None,
) -> ClaimPayment:
    """An earlier payment on a claim."""
    return desk.state.insert(
        ClaimPayment(
            id=desk.state.next_id(ClaimPayment),
            claim_id=claim.id,
            kind=kind,
            invoice_id=None if invoice is None else invoice.id,
            invoice_number=None if invoice is None else invoice.number,
            amount_cents=cents,
            paid_on=day,
            status="paid",
            approver_id=None,
        )
    )


def settled_claim(desk: InsurerDraft, claim: Claim) -> Claim:
    """The claim of the same contract that was settled before."""
    return desk.state.find(Claim, contract_id=claim.contract_id, status="settled")[0]


def move_settled(desk: InsurerDraft, claim: Claim, old: Claim, day: date) -> Claim:
    """A settled claim of the same peril as an open one, with its loss on a day, and its payments soon after."""
    for payment in desk.state.find(ClaimPayment, claim_id=old.id):
        desk.state.update(payment, paid_on=min(day + timedelta(days=5), desk.today))
    return desk.state.update(old, peril=claim.peril, loss_day=day, reported=day)


def plant_settled(desk: InsurerDraft, claim: Claim, day: date, cents: int) -> Claim:
    """One more settled claim of a contract, with its loss on a day."""
    old = desk.state.insert(
        Claim(
            id=desk.state.next_id(Claim),
            contract_id=claim.contract_id,
            peril=claim.peril,
            loss_day=day,
            reported=day,
            estimate_cents=cents,
            status="settled",
            other_insurer_id=None,
            liable_percent=0,
        )
    )
    plant_payment(desk, old, "compensation", cents, min(day + timedelta(days=20), desk.today))
    return old


def plant_overdue(desk: InsurerDraft, claim: Claim, reminded: date | None, *, paid_on: date | None = None) -> Premium:
    """The latest premium that is due, overdue on the day of the loss of a claim, and paid after it or not."""
    premium = due_premiums(desk.state, claim, desk.today)[-1]
    due = premium.due if reminded is None else min(premium.due, reminded - timedelta(days=10))
    return desk.state.update(premium, paid_on=paid_on, reminded=reminded, due=due)
