"""What holds of the rows of an Insurer world as they are populated: ledgers that add up, evidence that agrees."""

from collections.abc import Iterator

from palaestra.envs.kit import (
    broken_rules,
    cases_name_their_policy_and_evidence,
    percent_half_up,
    references_are_whole,
)
from palaestra.envs.populated import PopulatedWorld
from palaestra.envs.worlds.insurer.amounts import Calculations, invoice_counts, items_count, payable
from palaestra.envs.worlds.insurer.population import ACTOR_ID
from palaestra.envs.worlds.insurer.schema import (
    SCHEMA,
    Adjuster,
    Claim,
    ClaimDocument,
    ClaimPayment,
    Contract,
    Cover,
    Garage,
    Invoice,
    LossItem,
    Premium,
    Recovery,
    Reserve,
)
from palaestra.envs.worlds.insurer.tools import CASES


def rows_point_to_rows(populated: PopulatedWorld) -> Iterator[str]:
    """Every id that a row holds names a row, and closed matters name their grounds."""
    yield from references_are_whole(populated.state, SCHEMA)
    yield from cases_name_their_policy_and_evidence(populated.state, CASES)


def invoices_add_up(populated: PopulatedWorld) -> Iterator[str]:
    """Parts, labour and VAT come to the total."""
    for invoice in populated.state.find(Invoice):
        net = invoice.parts_cents + invoice.labour_hours * invoice.labour_rate_cents
        if invoice.vat_cents != percent_half_up(net, populated.rules.vat_percent):
            yield f"{invoice.id}: VAT is {invoice.vat_cents} of {net}"
        if invoice.total_cents != net + invoice.vat_cents:
            yield f"{invoice.id}: comes to {invoice.total_cents}, not {net + invoice.vat_cents}"


def premiums_are_in_order(populated: PopulatedWorld) -> Iterator[str]:
    """A premium is paid and reminded of after its due day; each contract has one that is not due yet."""
    for premium in populated.state.find(Premium):
        if any(day is not None and day < premium.due for day in (premium.paid_on, premium.reminded)):
            yield f"{premium.id}: paid or reminded of before {premium.due}"
        if (premium.paid_on is None) != (premium.due > populated.today):
            yield f"{premium.id}: due on {premium.due}, paid on {premium.paid_on}"
    for contract in populated.state.find(Contract):
        ahead = [p for p in populated.state.find(Premium, contract_id=contract.id) if p.due > populated.today]
        if len(ahead) != 1:
            yield f"{contract.id}: has {len(ahead)} premiums that are not due"


def claims_are_covered(populated: PopulatedWorld) -> Iterator[str]:
    """A loss lies within the time of its cover and was reported on its day; its reserve follows from the estimate."""
    for claim in populated.state.find(Claim):
        covers = populated.state.find(Cover, contract_id=claim.contract_id, peril=claim.peril)
        if len(covers) != 1 or covers[0].began > claim.loss_day or covers[0].ended is not None:
            yield f"{claim.id}: its loss of {claim.loss_day} is not covered"
        if not claim.loss_day == claim.reported <= populated.today:
            yield f"{claim.id}: reported on {claim.reported} for {claim.loss_day}"
        [reserve] = populated.state.find(Reserve, claim_id=claim.id)
        more = percent_half_up(claim.estimate_cents, populated.rules.reserve_percent)
        if reserve.amount_cents != claim.estimate_cents + more:
            yield f"{reserve.id}: is {reserve.amount_cents} for an estimate of {claim.estimate_cents}"


def evidence_is_there(populated: PopulatedWorld) -> Iterator[str]:
    """Every theft and burglary has a police report with a number; nothing else has one."""
    for claim in populated.state.find(Claim):
        reports = populated.state.find(ClaimDocument, claim_id=claim.id, kind="police_report")
        if len(reports) != (claim.peril in ("theft", "burglary")) or any(r.reference is None for r in reports):
            yield f"{claim.id}: has {len(reports)} police reports for {claim.peril}"


def payments_follow_the_handbook(populated: PopulatedWorld) -> Iterator[str]:
    """A settled claim was paid as the handbook has it; on an open one assistance alone was paid."""
    state, rules = populated.state, populated.rules
    for claim in state.find(Claim):
        payments, work = state.find(ClaimPayment, claim_id=claim.id), Calculations()
        if claim.status == "open":
            if any(p.kind != "assistance" for p in payments):
                yield f"{claim.id}: is open and was paid"
            continue
        [cover] = state.find(Cover, contract_id=claim.contract_id, peril=claim.peril)
        invoices = state.find(Invoice, claim_id=claim.id)
        if invoices:
            partner = state.get(Garage, invoices[0].garage_id).partner
            counts = invoice_counts(rules, invoices[0], work, partner=partner, vat=True)
        else:
            counts = items_count(rules, state.find(LossItem, claim_id=claim.id), cover, claim.loss_day, work)
        due = payable(counts, cover, work)
        if [p.amount_cents for p in payments] != [due]:
            yield f"{claim.id}: was paid {[p.amount_cents for p in payments]}, not {due}"


def payments_name_their_invoice(populated: PopulatedWorld) -> Iterator[str]:
    """A payment of an invoice has its number and claim, and is not above its total."""
    for payment in populated.state.find(ClaimPayment):
        if payment.invoice_id is None:
            continue
        invoice = populated.state.get(Invoice, payment.invoice_id)
        if (invoice.number, invoice.claim_id) != (payment.invoice_number, payment.claim_id):
            yield f"{payment.id}: names number {payment.invoice_number} of {invoice.id}"
        if not 0 < payment.amount_cents <= invoice.total_cents:
            yield f"{payment.id}: pays {payment.amount_cents} of {invoice.total_cents}"


def recoveries_follow_from_payments(populated: PopulatedWorld) -> Iterator[str]:
    """What is demanded is the liable share of what was paid, and what was received the accepted share of that."""
    for recovery in populated.state.find(Recovery):
        claim = populated.state.get(Claim, recovery.claim_id)
        paid = sum(p.amount_cents for p in populated.state.find(ClaimPayment, claim_id=claim.id))
        if recovery.demanded_cents != percent_half_up(paid, claim.liable_percent):
            yield f"{recovery.id}: demands {recovery.demanded_cents} of {paid}"
        if recovery.received_cents != percent_half_up(recovery.demanded_cents, recovery.accepted_percent):
            yield f"{recovery.id}: received {recovery.received_cents} of {recovery.demanded_cents}"
        if (recovery.status == "received") != (recovery.received_cents > 0):
            yield f"{recovery.id}: is {recovery.status} with {recovery.received_cents}"


def the_desk_has_its_authority(populated: PopulatedWorld) -> Iterator[str]:
    """The adjuster of the desk has the limit of the handbook, and no two colleagues of a team have equal limits."""
    own = populated.state.get(Adjuster, ACTOR_ID)
    if own.approval_limit_cents != populated.rules.own_limit_cents or own.on_leave or own.related_to_id is not None:
        yield f"{own.id}: has the limit {own.approval_limit_cents}, or is away, or related"
    for team in ("claims", "controlling"):
        limits = [c.approval_limit_cents for c in populated.state.find(Adjuster, team=team) if c.id != own.id]
        if len(set(limits)) != len(limits):
            yield f"{team}: two have the same limit"


_RULES = (
    rows_point_to_rows,
    invoices_add_up,
    premiums_are_in_order,
    claims_are_covered,
    evidence_is_there,
    payments_follow_the_handbook,
    payments_name_their_invoice,
    recoveries_follow_from_payments,
    the_desk_has_its_authority,
)


def books_are_sound(populated: PopulatedWorld) -> list[str]:
    """A sentence for each row that breaks any of these rules."""
    return broken_rules(_RULES, populated)
