"""Tools that register claims, gather their evidence and set work on them going."""

from datetime import date
from typing import Annotated

from pydantic import Field

from palaestra.envs.worlds.insurer.schema import (
    Claim,
    ClaimDocument,
    ClaimId,
    Contract,
    ContractId,
    Cover,
    DocumentKind,
    Garage,
    GarageId,
    Peril,
    RepairRelease,
    Survey,
    Surveyor,
    SurveyorId,
)
from palaestra.envs.worlds.insurer.tools.money import Cents
from palaestra.errors import ToolRefusal
from palaestra.tools import ToolContext, tool

Day = Annotated[str, Field(min_length=10, max_length=10)]


@tool(writes=True)
def register_claim(
    context: ToolContext, contract_id: ContractId, peril: Peril, loss_day: Day, estimate_cents: Cents
) -> object:
    """Register a loss that is reported today as a claim.

    Args:
        contract_id: The contract's id, such as CON-2012.
        peril: What caused the loss.
        loss_day: The day on which it happened, such as 2026-03-14.
        estimate_cents: What it seems to come to, in cents.
    """
    contract = context.state.get(Contract, contract_id)
    if not context.state.find(Cover, contract_id=contract_id, peril=peril):
        raise ToolRefusal("no_cover", f"{contract.id} has no cover against {peril}")
    day = _parse_day(loss_day)
    if day > context.clock.today:
        raise ToolRefusal("bad_day", f"{day} has not come yet")
    claim = context.state.insert(
        Claim(
            id=context.state.next_id(Claim),
            contract_id=contract_id,
            peril=peril,
            loss_day=day,
            reported=context.clock.today,
            estimate_cents=estimate_cents,
            status="open",
            other_insurer_id=None,
            liable_percent=0,
        )
    )
    context.show(claim)
    return claim


@tool(writes=True)
def request_document(context: ToolContext, claim_id: ClaimId, kind: DocumentKind) -> object:
    """Ask the policyholder by post for a document of a claim.

    Args:
        claim_id: The claim's id.
        kind: The kind of document.
    """
    context.state.get(Claim, claim_id)
    if context.state.find(ClaimDocument, claim_id=claim_id, kind=kind):
        raise ToolRefusal("known", f"a document {kind} of {claim_id} was received or asked for")
    return _document(context, claim_id, kind, None)


@tool(writes=True)
def record_document(
    context: ToolContext,
    claim_id: ClaimId,
    kind: DocumentKind,
    reference: Annotated[str, Field(min_length=1, max_length=40)],
) -> object:
    """Record a document of a claim that is known by its number.

    Args:
        claim_id: The claim's id.
        kind: The kind of document.
        reference: The number that stands on it.
    """
    context.state.get(Claim, claim_id)
    return _document(context, claim_id, kind, reference)


@tool(writes=True)
def order_survey(context: ToolContext, claim_id: ClaimId, surveyor_id: SurveyorId) -> object:
    """Send a surveyor to look at the damage of a claim.

    Args:
        claim_id: The claim's id.
        surveyor_id: The surveyor's id, such as SVR-512.
    """
    context.state.get(Claim, claim_id)
    surveyor = context.state.get(Surveyor, surveyor_id)
    context.state.update(surveyor, open_surveys=surveyor.open_surveys + 1)
    ordered = context.state.insert(
        Survey(
            id=context.state.next_id(Survey),
            claim_id=claim_id,
            surveyor_id=surveyor_id,
            ordered=context.clock.today,
            status="ordered",
        )
    )
    context.show(ordered)
    return ordered


@tool(writes=True)
def release_repair(context: ToolContext, claim_id: ClaimId, garage_id: GarageId, amount_cents: Cents) -> object:
    """Let a garage begin a repair at our cost.

    Args:
        claim_id: The claim's id.
        garage_id: The garage's id, such as GAR-14.
        amount_cents: What the repair may cost, in cents.
    """
    claim = context.state.get(Claim, claim_id)
    context.state.get(Garage, garage_id)
    if claim.status != "open":
        raise ToolRefusal("not_open", f"{claim_id} is {claim.status}, not open")
    released = context.state.insert(
        RepairRelease(
            id=context.state.next_id(RepairRelease),
            claim_id=claim_id,
            garage_id=garage_id,
            amount_cents=amount_cents,
            released=context.clock.today,
        )
    )
    context.show(released)
    return released


def _parse_day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ToolRefusal("bad_day", f"{text} is no day of the calendar") from error


def _document(context: ToolContext, claim_id: str, kind: DocumentKind, reference: str | None) -> ClaimDocument:
    made = context.state.insert(
        ClaimDocument(
            id=context.state.next_id(ClaimDocument),
            claim_id=claim_id,
            kind=kind,
            status="requested" if reference is None else "received",
            dated=context.clock.today,
            reference=reference,
            amount_cents=None,
        )
    )
    context.show(made)
    return made
