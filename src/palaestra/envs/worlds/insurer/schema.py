"""The tables of the Insurer world: contracts and their ledgers, claims and their evidence, and who works on them.

Money is integer euro cents.
"""

from datetime import date
from typing import Annotated, ClassVar, Literal, TypeAlias

from palaestra.envs.kit import CaseRow, Section
from palaestra.envs.state import Schema
from palaestra.record import record
from palaestra.records import References, Row, Searchable

PolicyholderId: TypeAlias = Annotated[str, References("policyholders")]
AdjusterId: TypeAlias = Annotated[str, References("adjusters")]
ContractId: TypeAlias = Annotated[str, References("contracts")]
PremiumId: TypeAlias = Annotated[str, References("premiums")]
ClaimId: TypeAlias = Annotated[str, References("claims")]
InvoiceId: TypeAlias = Annotated[str, References("invoices")]
PaymentId: TypeAlias = Annotated[str, References("payments")]
GarageId: TypeAlias = Annotated[str, References("garages")]
SurveyorId: TypeAlias = Annotated[str, References("surveyors")]
OtherInsurerId: TypeAlias = Annotated[str, References("other_insurers")]

Team: TypeAlias = Literal["claims", "controlling", "investigations", "management"]
Product: TypeAlias = Literal["motor", "household"]
Peril: TypeAlias = Literal["collision", "theft", "glass", "storm", "burglary", "fire", "water"]
DocumentKind: TypeAlias = Literal["police_report", "estimate", "photos", "statement"]
ItemCategory: TypeAlias = Literal["furniture", "electronics", "clothing", "valuables"]
PaymentKind: TypeAlias = Literal["invoice", "assistance", "compensation", "advance", "deductible"]
Field: TypeAlias = Literal["motor", "property"]


@record
class Policyholder(Row):
    """Who has contracts with the insurer."""

    table: ClassVar[str] = "policyholders"
    prefix: ClassVar[str] = "PH-"
    name: Annotated[str, Searchable()]
    email: Annotated[str, Searchable()]
    street: str
    city: str
    since: date
    vat_registered: bool
    """Whether they reclaim VAT themselves."""


@record
class Adjuster(Row):
    """A colleague who decides on claims, or approves what others decide."""

    table: ClassVar[str] = "adjusters"
    prefix: ClassVar[str] = "ADJ-"
    name: Annotated[str, Searchable()]
    email: str
    team: Team
    approval_limit_cents: int
    on_leave: bool
    delegate_id: AdjusterId | None
    """Who approves in their place while they are on leave."""
    related_to_id: PolicyholderId | None
    """A policyholder of the family."""


@record
class Contract(Row):
    """An insurance contract; its covers and premiums name it."""

    table: ClassVar[str] = "contracts"
    prefix: ClassVar[str] = "CON-"
    policyholder_id: PolicyholderId
    product: Product
    insured: Annotated[str, Searchable()]
    """The car, or the home."""
    value_cents: int
    """What the car is worth, or the sum insured."""
    began: date


@record
class Cover(Row):
    """What a contract insures against one peril, and for how long."""

    table: ClassVar[str] = "covers"
    prefix: ClassVar[str] = "CVR-"
    contract_id: ContractId
    peril: Peril
    deductible_cents: int
    limit_cents: int
    began: date
    ended: date | None
    """Its last day; `None` while it runs."""


@record
class Premium(Row):
    """A premium that was charged for a contract."""

    table: ClassVar[str] = "premiums"
    prefix: ClassVar[str] = "PRM-"
    contract_id: ContractId
    due: date
    amount_cents: int
    reminded: date | None
    """The day of the reminder; `None` where there was none."""
    paid_on: date | None
    claim_id: ClaimId | None
    """The claim whose payment it was set off against."""


@record
class Claim(Row):
    """A loss that a policyholder has reported."""

    table: ClassVar[str] = "claims"
    prefix: ClassVar[str] = "CLM-"
    contract_id: ContractId
    peril: Peril
    loss_day: date
    reported: date
    estimate_cents: int
    """What the loss seemed to come to when it was reported."""
    status: Literal["open", "settled", "withdrawn"]
    other_insurer_id: OtherInsurerId | None
    """The insurer of somebody else who is liable."""
    liable_percent: int
    """The share of the loss for which somebody else is liable."""


@record
class ClaimDocument(Row):
    """A document of a claim that was received or asked for."""

    table: ClassVar[str] = "documents"
    prefix: ClassVar[str] = "DOC-"
    claim_id: ClaimId
    kind: DocumentKind
    status: Literal["requested", "received"]
    dated: date
    """The day on which it was received or, so far, asked for."""
    reference: str | None
    """Its number."""
    amount_cents: int | None
    """What an estimate of costs comes to."""


@record
class Invoice(Row):
    """An invoice of a claim. parts + hours * rate + VAT = total."""

    table: ClassVar[str] = "invoices"
    prefix: ClassVar[str] = "INV-"
    claim_id: ClaimId
    garage_id: GarageId
    number: str
    """The garage's own number."""
    issued: date
    parts_cents: int
    labour_hours: int
    labour_rate_cents: int
    vat_cents: int
    total_cents: int


@record
class LossItem(Row):
    """A thing that was lost or destroyed."""

    table: ClassVar[str] = "loss_items"
    prefix: ClassVar[str] = "ITM-"
    claim_id: ClaimId
    what: Annotated[str, Searchable()]
    category: ItemCategory
    bought: date
    price_cents: int


@record
class ClaimPayment(Row):
    """Money that the insurer paid on a claim, or that waits for approval."""

    table: ClassVar[str] = "payments"
    prefix: ClassVar[str] = "PAY-"
    claim_id: ClaimId
    kind: PaymentKind
    invoice_id: InvoiceId | None
    """The invoice that it pays; `None`: it goes to the policyholder."""
    invoice_number: str | None
    amount_cents: int
    paid_on: date
    status: Literal["paid", "pending", "reclaimed"]
    approver_id: AdjusterId | None


@record
class Reserve(Row):
    """What is set aside for a claim."""

    table: ClassVar[str] = "reserves"
    prefix: ClassVar[str] = "RSV-"
    claim_id: ClaimId
    amount_cents: int
    set_on: date


@record
class Recovery(Row):
    """Money that is demanded of another insurer."""

    table: ClassVar[str] = "recoveries"
    prefix: ClassVar[str] = "RCV-"
    claim_id: ClaimId
    other_insurer_id: OtherInsurerId
    demanded_cents: int
    received_cents: int
    accepted_percent: int
    """How many per cent of the demand the other insurer has accepted."""
    status: Literal["demanded", "received"]
    demanded_on: date


@record
class OtherInsurer(Row):
    """Another insurer."""

    table: ClassVar[str] = "other_insurers"
    prefix: ClassVar[str] = "OIN-"
    name: Annotated[str, Searchable()]
    sharing_agreement: bool
    """Whether both insurers have agreed to bear small losses themselves."""


@record
class Garage(Row):
    """Who repairs, tows or replaces."""

    table: ClassVar[str] = "garages"
    prefix: ClassVar[str] = "GAR-"
    name: Annotated[str, Searchable()]
    city: str
    partner: bool


@record
class Surveyor(Row):
    """Somebody who looks at damage for the insurer."""

    table: ClassVar[str] = "surveyors"
    prefix: ClassVar[str] = "SVR-"
    name: Annotated[str, Searchable()]
    field: Field
    city: str
    open_surveys: int
    on_leave: bool


@record
class Survey(Row):
    """A survey that was ordered for a claim."""

    table: ClassVar[str] = "surveys"
    prefix: ClassVar[str] = "SVY-"
    claim_id: ClaimId
    surveyor_id: SurveyorId
    ordered: date
    status: Literal["ordered", "reported"]


@record
class RepairRelease(Row):
    """A repair that a garage may begin at the insurer's cost."""

    table: ClassVar[str] = "releases"
    prefix: ClassVar[str] = "RLS-"
    claim_id: ClaimId
    garage_id: GarageId
    amount_cents: int
    released: date


@record
class Matter(CaseRow):
    """What a policyholder asks the department for."""

    table: ClassVar[str] = "matters"
    prefix: ClassVar[str] = "MAT-"
    policyholder_id: PolicyholderId
    team: Team


SCHEMA = Schema(
    Policyholder,
    Adjuster,
    Contract,
    Cover,
    Premium,
    Claim,
    ClaimDocument,
    Invoice,
    LossItem,
    ClaimPayment,
    Reserve,
    Recovery,
    OtherInsurer,
    Garage,
    Surveyor,
    Survey,
    RepairRelease,
    Matter,
    Section,
)
