"""How an adjuster comes to a decision: look-ups, sections and calculations in order, up to the first reason to refuse.

Each step looks something up, reads the section that it is judged by, and says whether the way goes on. What is read
follows from what was shown before, so equal records lead to equal steps. The rules decide; nothing is planted here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from palaestra.envs.kit import Priority
from palaestra.envs.task import call
from palaestra.envs.worlds.insurer.amounts import Calculations, invoice_counts, items_count, payable
from palaestra.envs.worlds.insurer.population import ACTOR_ID
from palaestra.envs.worlds.insurer.rules import InsurerRules
from palaestra.envs.worlds.insurer.schema import (
    Adjuster,
    Claim,
    ClaimDocument,
    ClaimPayment,
    Contract,
    Cover,
    Garage,
    Invoice,
    LossItem,
    Matter,
    Policyholder,
    Premium,
    Team,
)
from palaestra.protocols import StateView
from palaestra.records import Row, ToolCall
from palaestra.rubrics import Criterion, expect_read

NEAR_DAYS = 7
"""How near another loss of the same peril must be for an adjuster to ask whether it is the same."""
FEW_CLAIMS = 2
"""From so many other settled claims on, an adjuster asks whether they are a series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalReason:
    """Why a matter is declined or handed over."""

    section: str
    evidence: Row
    facts: tuple[Criterion, ...]
    team: Team | None = None
    """Who takes over; `None` where it is declined."""
    priority: Priority = "normal"


@dataclass(slots=True, kw_only=True)
class Assessment:
    """The way to a decision so far."""

    state: StateView
    rules: InsurerRules
    matter: Matter
    holder: Policyholder
    today: date
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    facts: dict[str, Criterion] = field(default_factory=dict[str, Criterion])
    """What has to be known, by its id."""
    sections: list[str] = field(default_factory=list[str])
    reason: RefusalReason | None = None
    """Why the wish is refused; `None` while nothing stands against it."""
    needs_report: bool = False
    """Whether a police report is missing that nobody has asked for."""
    approver: Adjuster | None = None
    """Who has to approve what is paid."""

    def look(self, made: ToolCall, *facts: Criterion) -> None:
        """Make a look-up, once, that shows these facts."""
        if made not in self.calls:
            self.calls.append(made)
        self.facts.update((fact.id, fact) for fact in facts)

    def read(self, section: str) -> None:
        """Read a section of the handbook, once."""
        if section not in self.sections:
            self.calls.append(call("read_handbook", section_id=section))
            self.sections.append(section)

    def refuse(
        self, section: str, evidence: Row, *facts: str, team: Team | None = None, priority: Priority = "normal"
    ) -> None:
        """Refuse the wish by a section that was read, on facts that were looked up."""
        known = tuple(self.facts[fact] for fact in facts)
        self.reason = RefusalReason(section=section, evidence=evidence, facts=known, team=team, priority=priority)

    @property
    def is_open(self) -> bool:
        """Whether nothing stands against the wish so far."""
        return self.reason is None

    def contract(self, claim: Claim) -> Contract:
        """The contract of a claim."""
        return self.state.get(Contract, claim.contract_id)

    def cover(self, claim: Claim) -> Cover:
        """The cover that insures the peril of a claim."""
        return self.state.find(Cover, contract_id=claim.contract_id, peril=claim.peril)[0]


def open_matter(a: Assessment) -> None:
    """Who asks, and whether the adjuster may decide about them (AUT-3)."""
    own = a.state.get(Adjuster, ACTOR_ID)
    a.look(call("get_matter", matter_id=a.matter.id))
    a.look(call("get_policyholder", policyholder_id=a.holder.id))
    a.look(
        call("get_adjuster", adjuster_id=ACTOR_ID), expect_read(own, fields=["related_to_id", "team"], id="saw-self")
    )
    if own.related_to_id == a.holder.id:
        a.read("AUT-3")
        a.refuse("AUT-3", own, "saw-self", team="management")


def view_claim(a: Assessment, claim: Claim) -> None:
    """The claim itself."""
    a.look(call("get_claim", claim_id=claim.id), expect_read(claim, id="saw-claim"))


def check_cover(a: Assessment, claim: Claim) -> None:
    """Whether the loss is within the time of its cover (COV-1) and after its waiting period (COV-2)."""
    cover = a.cover(claim)
    a.look(call("get_covers", contract_id=claim.contract_id), expect_read(cover, id="saw-cover"))
    a.read("COV-1")
    if cover.began > claim.loss_day or (cover.ended is not None and cover.ended < claim.loss_day):
        a.refuse("COV-1", cover, "saw-claim", "saw-cover")
    elif claim.peril in ("storm", "water"):
        a.read("COV-2")
        if claim.loss_day < cover.began + timedelta(days=a.rules.waiting_days):
            a.refuse("COV-2", cover, "saw-claim", "saw-cover")


def check_report(a: Assessment, claim: Claim) -> None:
    """Whether the loss was reported in time (RPT-1); on its own day it was."""
    if claim.reported == claim.loss_day:
        return
    a.read("RPT-1")
    limit = a.rules.theft_days if claim.peril in ("theft", "burglary") else a.rules.report_days
    if (claim.reported - claim.loss_day).days > limit:
        a.refuse("RPT-1", claim, "saw-claim")


def unpaid_premiums(state: StateView, claim: Claim, today: date) -> list[Premium]:
    """The premiums of a claim's contract that are due and unpaid."""
    return [p for p in due_premiums(state, claim, today) if p.paid_on is None]


def due_premiums(state: StateView, claim: Claim, today: date) -> list[Premium]:
    """The premiums of a claim's contract that are due, paid or not, the latest one last."""
    return [p for p in state.find(Premium, contract_id=claim.contract_id) if p.due <= today]


def check_premiums(a: Assessment, claim: Claim) -> None:
    """Whether a premium that was overdue on the day of the loss stands against a payment (PRE-1)."""
    due = due_premiums(a.state, claim, a.today)
    asked = [p for p in due if p.paid_on is None or (p.due <= claim.loss_day < p.paid_on)]
    fact = expect_read(*(asked or due[-1:]), fields=["due", "reminded", "paid_on", "amount_cents"], id="saw-premium")
    a.look(call("get_premiums", contract_id=claim.contract_id), fact)
    if not asked:
        return
    a.read("PRE-1")
    for premium in asked:
        if premium.reminded is not None and (claim.loss_day - premium.reminded).days > a.rules.grace_days:
            a.refuse("PRE-1", premium, "saw-claim", "saw-premium")


def check_history(a: Assessment, claim: Claim) -> None:
    """Whether the loss was paid before (HIS-1), or is one of a series (HIS-2)."""
    others = [
        c for c in a.state.find(Claim, contract_id=claim.contract_id) if c.id != claim.id and c.status == "settled"
    ]
    fact = expect_read(*others, fields=["peril", "loss_day", "status"], id="saw-history")
    a.look(call("get_claims", contract_id=claim.contract_id), fact)
    near = [c for c in others if c.peril == claim.peril and abs((c.loss_day - claim.loss_day).days) <= NEAR_DAYS]
    if near:
        a.read("HIS-1")
        if same := [c for c in near if c.loss_day == claim.loss_day]:
            a.refuse("HIS-1", same[0], "saw-claim", "saw-history")
            return
    if len(others) >= FEW_CLAIMS:
        a.read("HIS-2")
        since = claim.loss_day - timedelta(days=a.rules.series_days)
        if sum(since <= c.loss_day <= claim.loss_day for c in others) >= a.rules.series_claims:
            contract = a.contract(claim)
            a.refuse("HIS-2", contract, "saw-claim", "saw-history", team="investigations", priority="high")


def check_police_report(a: Assessment, claim: Claim) -> None:
    """Whether the police report of a theft or burglary is there, or has to be asked for (EVD-1)."""
    if claim.peril not in ("theft", "burglary"):
        return
    documents = a.state.find(ClaimDocument, claim_id=claim.id)
    reports = [document for document in documents if document.kind == "police_report"]
    fact = expect_read(*(reports or documents[:1]), fields=["kind", "status", "dated"], id="saw-documents")
    a.look(call("get_documents", claim_id=claim.id), fact)
    a.read("EVD-1")
    if claim.estimate_cents <= a.rules.police_from_cents or any(r.status == "received" for r in reports):
        return
    a.needs_report = not reports
    if reports and (a.today - reports[0].dated).days > a.rules.police_days:
        a.refuse("EVD-1", reports[0], "saw-claim", "saw-documents")


def follow(a: Assessment, claim: Claim, *steps: Callable[[Assessment, Claim], None]) -> None:
    """Open the matter and take these steps, up to the first reason to refuse."""
    open_matter(a)
    for step in steps:
        if a.is_open:
            step(a, claim)


def assess_claim(a: Assessment, claim: Claim) -> None:
    """Open the matter and see whether a claim may be paid at all."""
    follow(a, claim, view_claim, check_cover, check_report, check_premiums, check_history, check_police_report)


def view_payments(a: Assessment, claim: Claim) -> list[ClaimPayment]:
    """What was paid on a claim, and what waits."""
    payments = a.state.find(ClaimPayment, claim_id=claim.id)
    facts = [expect_read(*payments, fields=_PAYMENT_FIELDS, id="saw-payments")] if payments else []
    a.look(call("get_payments", claim_id=claim.id), *facts)
    return payments


_PAYMENT_FIELDS = ("kind", "invoice_id", "invoice_number", "amount_cents", "paid_on", "status")


def assess_invoice(a: Assessment, claim: Claim, invoice: Invoice) -> int:
    """What is paid of an invoice, in cents (BIL-1 to BIL-3, DED-1); 0 where it is refused."""
    garage = a.state.get(Garage, invoice.garage_id)
    a.look(call("get_invoices", claim_id=claim.id), expect_read(invoice, id="saw-invoice"))
    payments = view_payments(a, claim)
    a.read("BIL-1")
    before = [p for p in payments if p.invoice_number == invoice.number and p.status == "paid"]
    if before:
        a.refuse("BIL-1", before[0], "saw-invoice", "saw-payments")
        return 0
    a.look(call("get_garage", garage_id=garage.id), expect_read(garage, fields=["partner"], id="saw-garage"))
    if not garage.partner:
        a.read("BIL-2")
    if not garage.partner or a.holder.vat_registered:
        a.read("BIL-3")
    a.read("DED-1")
    work, cover = Calculations(), a.cover(claim)
    counts = invoice_counts(a.rules, invoice, work, partner=garage.partner, vat=not a.holder.vat_registered)
    due = payable(counts, cover, work)
    a.calls += work.calls
    return due


def assess_items(a: Assessment, claim: Claim) -> int:
    """What is paid for lost things, in cents (DEP-1, DEP-2, DED-1, SET-1); 0 where it is refused."""
    items = a.state.find(LossItem, claim_id=claim.id)
    fact = expect_read(*items, fields=["category", "bought", "price_cents"], id="saw-items")
    a.look(call("get_loss_items", claim_id=claim.id), fact)
    payments = [p for p in view_payments(a, claim) if p.kind in ("advance", "compensation") and p.status == "paid"]
    a.read("DEP-1")
    if any(item.category == "valuables" for item in items):
        a.read("DEP-2")
    a.read("DED-1")
    work, cover = Calculations(), a.cover(claim)
    due = payable(items_count(a.rules, items, cover, claim.loss_day, work), cover, work)
    if payments:
        a.read("SET-1")
        due = work.subtract(due, *(p.amount_cents for p in payments))
    a.calls += work.calls
    if due <= 0:
        a.refuse("SET-1", latest(payments), "saw-claim", "saw-cover", "saw-items", "saw-payments")
        return 0
    return due


def deduct_arrears(a: Assessment, claim: Claim, cents: int) -> int:
    """A compensation less the premiums that are unpaid (PRE-2)."""
    unpaid = unpaid_premiums(a.state, claim, a.today)
    if not unpaid:
        return cents
    a.read("PRE-2")
    work = Calculations()
    rest = work.subtract(cents, *(premium.amount_cents for premium in unpaid))
    a.calls += work.calls
    return rest


def find_approver(a: Assessment, claim: Claim, cents: int) -> None:
    """Who has to approve a payment (AUT-1), and whether there is somebody (AUT-2)."""
    a.read("AUT-1")
    if cents <= a.rules.own_limit_cents:
        return
    team: Team = "claims" if cents <= a.rules.four_eyes_cents else "controlling"
    colleagues = [c for c in a.state.find(Adjuster, team=team) if c.id != ACTOR_ID]
    fields = ["approval_limit_cents", "on_leave", "delegate_id", "related_to_id"]
    a.look(call("search_adjusters", team=team), expect_read(*colleagues, fields=fields, id="saw-approvers"))
    a.read("AUT-2")
    a.approver = _choose_approver(a, colleagues, cents)
    if a.approver is None:
        a.refuse("AUT-2", claim, "saw-approvers", team="management")


def _choose_approver(a: Assessment, colleagues: Sequence[Adjuster], cents: int) -> Adjuster | None:
    by_id = {c.id: c for c in colleagues}
    for colleague in sorted(colleagues, key=lambda c: c.approval_limit_cents):
        if colleague.approval_limit_cents < cents:
            continue
        named = by_id.get(colleague.delegate_id or "") if colleague.on_leave else colleague
        if named is not None and not named.on_leave and named.related_to_id != a.holder.id:
            return named
    return None


def latest(payments: Sequence[ClaimPayment]) -> ClaimPayment:
    """The latest of some payments."""
    return max(payments, key=lambda payment: (payment.paid_on, payment.id))
