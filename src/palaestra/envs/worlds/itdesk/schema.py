"""The seventeen tables of the ITDesk world: people, what they may use, what they hold, and when they are on duty.

Nothing here is money. What decides are persons, days, counts and who stands behind an approval.
"""

from datetime import date
from typing import Annotated, ClassVar, Literal, TypeAlias

from palaestra.envs.kit import CaseRow, RecordId, Section
from palaestra.envs.state import Schema
from palaestra.record import record
from palaestra.records import References, Row, Searchable

StaffId: TypeAlias = Annotated[str, References("staff")]
AccountId: TypeAlias = Annotated[str, References("accounts")]
SystemId: TypeAlias = Annotated[str, References("systems")]
RoleId: TypeAlias = Annotated[str, References("roles")]
GrantId: TypeAlias = Annotated[str, References("grants")]
ApprovalId: TypeAlias = Annotated[str, References("approvals")]
DeviceId: TypeAlias = Annotated[str, References("devices")]
PoolId: TypeAlias = Annotated[str, References("pools")]
SeatId: TypeAlias = Annotated[str, References("seats")]
ShiftId: TypeAlias = Annotated[str, References("shifts")]
ChangeId: TypeAlias = Annotated[str, References("changes")]

Department: TypeAlias = Literal["finance", "sales", "engineering", "people", "it"]
Audience: TypeAlias = Literal["all", "finance", "sales", "engineering", "people", "it"]
Site: TypeAlias = Literal["north", "harbour", "campus"]
StaffStatus: TypeAlias = Literal["joining", "active", "left"]
Contract: TypeAlias = Literal["permanent", "contractor"]
AccountStatus: TypeAlias = Literal["active", "locked", "frozen", "closed"]
RoleKind: TypeAlias = Literal["reader", "editor", "approver", "administrator"]
ApprovedBy: TypeAlias = Literal["manager", "owner", "both"]
Course: TypeAlias = Literal["data-protection", "payments", "safety", "cloud"]
Scope: TypeAlias = Literal["access", "hardware", "changes"]
DeviceKind: TypeAlias = Literal["laptop", "phone", "monitor", "token"]
DeviceStatus: TypeAlias = Literal["in_stock", "assigned", "lost", "retired"]
Weekday: TypeAlias = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
Rota: TypeAlias = Literal["network", "database", "workplace"]
Risk: TypeAlias = Literal["low", "high"]
ChangeStatus: TypeAlias = Literal["draft", "approved", "scheduled", "done"]
Team: TypeAlias = Literal["desk", "security", "procurement", "people", "operations", "board"]


@record
class StaffMember(Row):
    """Somebody who works here, will, or did."""

    table: ClassVar[str] = "staff"
    prefix: ClassVar[str] = "STF-"
    name: Annotated[str, Searchable()]
    email: Annotated[str, Searchable()]
    department: Department
    former_department: Department | None
    """Where they worked before they moved."""
    moved: date | None
    """The day on which they moved."""
    site: Site
    manager_id: Annotated[str, References("staff")] | None
    status: StaffStatus
    contract: Contract
    starts: date
    ends: date | None
    """Their last day, where one is agreed."""
    rota: Rota | None
    """With whom they take turns in being on call."""


@record
class UserAccount(Row):
    """What somebody logs in with."""

    table: ClassVar[str] = "accounts"
    prefix: ClassVar[str] = "UA-"
    staff_member_id: StaffId
    login: Annotated[str, Searchable()]
    status: AccountStatus
    lockouts: int
    """How often it was locked in the last thirty days."""
    expires: date | None


@record
class BusinessSystem(Row):
    """A system that the company runs."""

    table: ClassVar[str] = "systems"
    prefix: ClassVar[str] = "SYS-"
    name: Annotated[str, Searchable()]
    owner_id: RecordId
    """The staff member who answers for it; no record of theirs, so it is marked as an id of no one table."""
    window: Weekday
    """The day of the week on which it may be changed."""


@record
class AccessRole(Row):
    """What a person may do in a system."""

    table: ClassVar[str] = "roles"
    prefix: ClassVar[str] = "ROL-"
    system_id: SystemId
    name: Annotated[str, Searchable()]
    group: str
    """The group of the directory that carries it."""
    kind: RoleKind
    audience: Audience
    """The department that needs it, or all."""
    approved_by: ApprovedBy
    course: Course | None
    """The course that has to be passed first."""
    excludes_id: Annotated[str, References("roles")] | None
    """A role that the same person must not hold."""


@record
class AccessGrant(Row):
    """A role that somebody has, or had."""

    table: ClassVar[str] = "grants"
    prefix: ClassVar[str] = "GRA-"
    staff_member_id: StaffId
    role_id: RoleId
    granted: date
    until: date | None
    """Its last day; `None` where it has none."""
    status: Literal["active", "revoked"]
    approval_id: ApprovalId | None
    """The line manager's approval that it rests on."""
    owner_approval_id: ApprovalId | None
    """The system owner's approval that it rests on."""


@record
class AccessApproval(Row):
    """Somebody's word that a person may have a role."""

    table: ClassVar[str] = "approvals"
    prefix: ClassVar[str] = "APR-"
    staff_member_id: StaffId
    """For whom."""
    role_id: RoleId
    approver_id: StaffId
    decided: date
    decision: Literal["approved", "refused"]


@record
class ApprovalDelegation(Row):
    """Days on which somebody decides in another person's place."""

    table: ClassVar[str] = "delegations"
    prefix: ClassVar[str] = "DLG-"
    staff_member_id: StaffId
    """Who is stood in for."""
    delegate_id: StaffId
    first: date
    last: date
    scope: Scope


@record
class TrainingRecord(Row):
    """A course that somebody has passed."""

    table: ClassVar[str] = "trainings"
    prefix: ClassVar[str] = "TRN-"
    staff_member_id: StaffId
    course: Course
    passed: date


@record
class ManagedDevice(Row):
    """A device of the company."""

    table: ClassVar[str] = "devices"
    prefix: ClassVar[str] = "DEV-"
    staff_member_id: StaffId | None
    """Who holds it."""
    kind: DeviceKind
    model: Annotated[str, Searchable()]
    site: Site
    status: DeviceStatus
    bought: date
    encrypted: bool


@record
class LicencePool(Row):
    """Licences of one product, so many seats."""

    table: ClassVar[str] = "pools"
    prefix: ClassVar[str] = "POOL-"
    product: Annotated[str, Searchable()]
    seats: int


@record
class LicenceAssignment(Row):
    """A seat that somebody has."""

    table: ClassVar[str] = "seats"
    prefix: ClassVar[str] = "SEAT-"
    pool_id: PoolId
    product: str
    staff_member_id: StaffId
    assigned: date
    last_used: date


@record
class OnCallShift(Row):
    """Days on which somebody is on call."""

    table: ClassVar[str] = "shifts"
    prefix: ClassVar[str] = "SHF-"
    rota: Rota
    staff_member_id: StaffId
    first: date
    last: date


@record
class StaffAbsence(Row):
    """Days on which somebody is away."""

    table: ClassVar[str] = "absences"
    prefix: ClassVar[str] = "ABS-"
    staff_member_id: StaffId
    first: date
    last: date


@record
class SystemChange(Row):
    """Work on a system that interrupts it."""

    table: ClassVar[str] = "changes"
    prefix: ClassVar[str] = "CHG-"
    system_id: SystemId
    staff_member_id: StaffId
    """Who carries it out."""
    title: Annotated[str, Searchable()]
    risk: Risk
    hours: int
    status: ChangeStatus
    day: date | None


@record
class ChangeFreeze(Row):
    """Days on which a system must not be changed."""

    table: ClassVar[str] = "freezes"
    prefix: ClassVar[str] = "FRZ-"
    system_id: SystemId
    first: date
    last: date
    reason: str


@record
class ServiceRequest(CaseRow):
    """What somebody asks the desk for."""

    table: ClassVar[str] = "requests"
    prefix: ClassVar[str] = "SR-"
    staff_member_id: StaffId
    team: Team


SCHEMA = Schema(
    StaffMember,
    UserAccount,
    BusinessSystem,
    AccessRole,
    AccessApproval,
    AccessGrant,
    ApprovalDelegation,
    TrainingRecord,
    ManagedDevice,
    LicencePool,
    LicenceAssignment,
    OnCallShift,
    StaffAbsence,
    SystemChange,
    ChangeFreeze,
    ServiceRequest,
    Section,
)
