"""Every tool of the desk: those that read, those that change, and those that close a request."""

from palaestra.envs.kit import (
    CaseType,
    closing_tools,
    get_tool,
    handbook_tools,
    list_tool,
    reading_tools,
    search_tool,
    transition_tool,
)
from palaestra.envs.worlds.itdesk.schema import (
    AccessApproval,
    AccessGrant,
    AccessRole,
    ApprovalDelegation,
    BusinessSystem,
    ChangeFreeze,
    LicenceAssignment,
    LicencePool,
    ManagedDevice,
    OnCallShift,
    ServiceRequest,
    StaffAbsence,
    StaffMember,
    SystemChange,
    TrainingRecord,
    UserAccount,
)
from palaestra.envs.worlds.itdesk.tools.duty import hand_over_shift, schedule_change
from palaestra.envs.worlds.itdesk.tools.equipment import (
    assign_device,
    assign_seat,
    reassign_seat,
    report_lost,
    take_back_device,
)
from palaestra.envs.worlds.itdesk.tools.identity import (
    close_account,
    extend_access,
    freeze_account,
    grant_access,
    open_account,
    record_delegation,
    revoke_access,
    unlock_account,
)
from palaestra.tools import CONTROL, Toolbox

CASES = CaseType(
    kind=ServiceRequest,
    requester=StaffMember,
    team="desk",
    example="SR-1042",
    evidence=(
        StaffMember,
        UserAccount,
        AccessRole,
        AccessGrant,
        AccessApproval,
        ApprovalDelegation,
        TrainingRecord,
        ManagedDevice,
        LicencePool,
        LicenceAssignment,
        OnCallShift,
        StaffAbsence,
        BusinessSystem,
        SystemChange,
        ChangeFreeze,
        ServiceRequest,
    ),
    evidence_text="an approval, a grant, a device or the record of the person concerned",
)

TOOLBOX = Toolbox(
    [
        search_tool(
            StaffMember,
            "Find people by name. At most ten are listed at a time.",
            query_text="Words of a name or an address that must all occur.",
            filters=(("department", "Only people of this department."),),
            summary=("name", "department", "status"),
        ),
        get_tool(
            StaffMember, "Show a person: department, line manager, contract, first and last day.", example="STF-117"
        ),
        search_tool(
            StaffMember,
            "List the members of an on-call rota.",
            name="search_rota",
            filters=(("rota", "The rota."),),
            summary=("name", "status", "rota"),
        ),
        list_tool(UserAccount, StaffMember, "List a person's accounts.", name="get_accounts"),
        search_tool(
            BusinessSystem,
            "List the systems and who owns them. At most ten are listed at a time.",
            summary=("name", "owner_id", "window"),
        ),
        get_tool(
            BusinessSystem, "Show a system: its owner and the weekday on which it may be changed.", example="SYS-24"
        ),
        search_tool(
            AccessRole,
            "Find roles by words of their name.",
            query_text='Words of the name that must all occur, such as "Docstore reader".',
            summary=("name", "kind"),
        ),
        get_tool(
            AccessRole,
            "Show a role: whose approval it needs, which course, and which role it excludes.",
            example="ROL-317",
        ),
        list_tool(AccessGrant, StaffMember, "List the roles that a person has or had."),
        list_tool(AccessApproval, StaffMember, "List the approvals that were asked for a person."),
        list_tool(ApprovalDelegation, StaffMember, "List who stood in for a person, and when."),
        list_tool(TrainingRecord, StaffMember, "List the courses that a person has passed."),
        get_tool(ManagedDevice, "Show a device: who holds it, where it is, its status.", example="DEV-8012"),
        list_tool(ManagedDevice, StaffMember, "List the devices that a person holds."),
        search_tool(
            ManagedDevice,
            "List devices by kind, site and status. At most ten are listed at a time.",
            filters=(
                ("kind", "Only devices of this kind."),
                ("site", "Only devices at this site."),
                ("status", "Only devices of this status."),
            ),
            summary=("kind", "model", "site", "status", "bought"),
        ),
        search_tool(
            LicencePool,
            "Find licences by the name of the product.",
            query_text="Words of the name that must all occur.",
            summary=("product", "seats"),
        ),
        search_tool(
            LicenceAssignment,
            "List the seats that are assigned. At most ten are listed at a time.",
            filters=(("product", 'Only seats of this product, such as "Planboard".'),),
            summary=("product", "staff_member_id", "assigned", "last_used"),
        ),
        list_tool(OnCallShift, StaffMember, "List a person's on-call shifts."),
        list_tool(StaffAbsence, StaffMember, "List the days on which a person is away."),
        get_tool(
            SystemChange, "Show a change: its system, who carries it out, risk, hours, status.", example="CHG-412"
        ),
        search_tool(
            SystemChange,
            "List changes by status and risk. At most ten are listed at a time.",
            filters=(("status", "Only changes of this status."), ("risk", "Only changes of this risk.")),
            summary=("title", "status", "day"),
        ),
        list_tool(
            ChangeFreeze, BusinessSystem, "List the days on which a system must not be changed.", column="system_id"
        ),
        *handbook_tools(number="ACC-1", words="approval"),
        *reading_tools(CASES),
        open_account,
        unlock_account,
        freeze_account,
        close_account,
        grant_access,
        extend_access,
        revoke_access,
        record_delegation,
        assign_device,
        take_back_device,
        report_lost,
        assign_seat,
        reassign_seat,
        hand_over_shift,
        schedule_change,
        transition_tool(
            SystemChange, "approve_change", "Record that a change is approved.", before="draft", after="approved"
        ),
        *closing_tools(CASES),
        *CONTROL,
    ],
    prose_tool="reply",
)
