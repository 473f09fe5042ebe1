"""Tools that move money: payments, approvals, arrears, reserves and recoveries.

They refuse what cannot be, such as a payment on a withdrawn claim. The handbook is for the adjuster to keep.
"""

from typing import Annotated, Literal

from pydantic import Field

from palaestra.envs.worlds.insurer.schema import (
    Adjuster,
    AdjusterId,
    Claim,
    ClaimId,
    ClaimPayment,
    Invoice,
    InvoiceId,
    OtherInsurer,
    OtherInsurerId,
    PaymentId,
    PaymentKind,
    Premium,
    PremiumId,
    Recovery,
    Reserve,
)
from palaestra.errors import ToolRefusal
from palaestra.records import Money
from palaestra.tools import ToolContext, tool

Cents = Annotated[int, Field(ge=1, le=100_000_000), Money()]


@tool(writes=True)
def pay_invoice(
    context: ToolContext, invoice_id: InvoiceId, amount_cents: Cents, approver_id: AdjusterId | None = None
) -> object:
    """Pay an invoice to the garage, or have it paid once a colleague approves.

    Args:
        invoice_id: The invoice's id, such as INV-9012.
        amount_cents: How much of it is paid, in cents.
        approver_id: The colleague who has to approve; left out where you pay alone.
    """
    invoice = context.state.get(Invoice, invoice_id)
    if amount_cents > invoice.total_cents:
        raise ToolRefusal("too_much", f"{invoice_id} comes to {invoice.total_cents} cents")
    claim = _standing_claim(context, invoice.claim_id)
    return _pay(context, claim, "invoice", amount_cents, approver_id, invoice)


@tool(writes=True)
def pay_compensation(
    context: ToolContext, claim_id: ClaimId, amount_cents: Cents, approver_id: AdjusterId | None = None
) -> object:
    """Pay the policyholder the compensation of a claim, which settles it, or have it paid once a colleague approves.

    Args:
        claim_id: The claim's id, such as CLM-5012.
        amount_cents: How much is paid, in cents.
        approver_id: The colleague who has to approve; left out where you pay alone.
    """
    claim = _standing_claim(context, claim_id)
    made = _pay(context, claim, "compensation", amount_cents, approver_id)
    settled = context.state.update(claim, status="settled")
    context.show(settled)
    return {"payment": made, "claim": settled}


@tool(writes=True)
def pay_advance(context: ToolContext, claim_id: ClaimId, amount_cents: Cents) -> object:
    """Pay the policyholder an advance on a claim.

    Args:
        claim_id: The claim's id.
        amount_cents: How much is paid, in cents.
    """
    return _pay(context, _standing_claim(context, claim_id), "advance", amount_cents, None)


@tool(writes=True)
def return_deductible(context: ToolContext, claim_id: ClaimId, amount_cents: Cents) -> object:
    """Pay the policyholder a part of the deductible of a settled claim, or all of it.

    Args:
        claim_id: The claim's id.
        amount_cents: How much is paid, in cents.
    """
    claim = context.state.get(Claim, claim_id)
    if claim.status != "settled":
        raise ToolRefusal("wrong_status", f"{claim_id} is {claim.status}, not settled")
    return _pay(context, claim, "deductible", amount_cents, None)


@tool(writes=True)
def reclaim_payment(context: ToolContext, payment_id: PaymentId) -> object:
    """Ask a payment back from whoever got it.

    Args:
        payment_id: The payment's id, such as PAY-6012.
    """
    payment = context.state.get(ClaimPayment, payment_id)
    if payment.status != "paid":
        raise ToolRefusal("wrong_status", f"{payment_id} is {payment.status}, not paid")
    reclaimed = context.state.update(payment, status="reclaimed")
    context.show(reclaimed)
    return reclaimed


@tool(writes=True)
def set_off_premium(context: ToolContext, premium_id: PremiumId, claim_id: ClaimId) -> object:
    """Book a premium as paid out of what a claim comes to; the payment itself is made for the rest.

    Args:
        premium_id: The premium's id, such as PRM-4012.
        claim_id: The claim's id.
    """
    premium, claim = context.state.get(Premium, premium_id), context.state.get(Claim, claim_id)
    if premium.paid_on is not None:
        raise ToolRefusal("paid_already", f"{premium_id} was paid on {premium.paid_on}")
    if premium.contract_id != claim.contract_id:
        raise ToolRefusal("other_contract", f"{premium_id} is of {premium.contract_id}, not of {claim.contract_id}")
    booked = context.state.update(premium, paid_on=context.clock.today, claim_id=claim_id)
    context.show(booked)
    return booked


@tool(writes=True)
def set_reserve(context: ToolContext, claim_id: ClaimId, amount_cents: Cents) -> object:
    """Set the reserve of a claim.

    Args:
        claim_id: The claim's id.
        amount_cents: What is set aside, in cents.
    """
    context.state.get(Claim, claim_id)
    kept = context.state.find(Reserve, claim_id=claim_id)
    if kept:
        reserve = context.state.update(kept[0], amount_cents=amount_cents, set_on=context.clock.today)
    else:
        reserve = context.state.insert(
            Reserve(
                id=context.state.next_id(Reserve),
                claim_id=claim_id,
                amount_cents=amount_cents,
                set_on=context.clock.today,
            )
        )
    context.show(reserve)
    return reserve


@tool(writes=True)
def demand_recovery(
    context: ToolContext, claim_id: ClaimId, other_insurer_id: OtherInsurerId, amount_cents: Cents
) -> object:
    """Demand money of another insurer for a claim.

    Args:
        claim_id: The claim's id.
        other_insurer_id: The other insurer's id, such as OIN-3.
        amount_cents: What is demanded, in cents.
    """
    context.state.get(Claim, claim_id)
    context.state.get(OtherInsurer, other_insurer_id)
    demanded = context.state.insert(
        Recovery(
            id=context.state.next_id(Recovery),
            claim_id=claim_id,
            other_insurer_id=other_insurer_id,
            demanded_cents=amount_cents,
            received_cents=0,
            accepted_percent=0,
            status="demanded",
            demanded_on=context.clock.today,
        )
    )
    context.show(demanded)
    return demanded


def _standing_claim(context: ToolContext, claim_id: str) -> Claim:
    """A claim that was not withdrawn; on a settled one more may be paid."""
    claim = context.state.get(Claim, claim_id)
    if claim.status == "withdrawn":
        raise ToolRefusal("withdrawn", f"{claim_id} was withdrawn")
    return claim


def _pay(
    context: ToolContext,
    claim: Claim,
    kind: PaymentKind,
    cents: int,
    approver_id: str | None,
    invoice: Invoice | None = None,
) -> ClaimPayment:
    if approver_id is not None:
        context.state.get(Adjuster, approver_id)
    status: Literal["paid", "pending"] = "paid" if approver_id is None else "pending"
    made = context.state.insert(
        ClaimPayment(
            id=context.state.next_id(ClaimPayment),
            claim_id=claim.id,
            kind=kind,
            invoice_id=None if invoice is None else invoice.id,
            invoice_number=None if invoice is None else invoice.number,
            amount_cents=cents,
            paid_on=context.clock.today,
            status=status,
            approver_id=approver_id,
        )
    )
    context.show(made)
    return made
