"""`palaestra/HumanResources-v0`: employees ask for leave and for what they spent; the handbook decides.

Five tables, 15 tools beside `reply`, `finish` and `give_up`, and four families with twins. Handbook variants change
four rules: notice for leave, age of claims, cap on meals, what the desk pays alone.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from palaestra.envs import Task, World, call, family, kit
from palaestra.envs.state import Base, Schema
from palaestra.envs.surfaces import generated_surfaces
from palaestra.envs.user import Persona, UserFact
from palaestra.errors import ToolRefusal
from palaestra.record import record
from palaestra.records import References, Row, Searchable, ToolCall
from palaestra.rubrics import Criterion, expect_question, expect_read
from palaestra.seeding import Stream
from palaestra.tools import CONTROL, Toolbox, ToolContext, tool

EmployeeId = Annotated[str, References("employees")]
Team = Literal["people", "finance", "sales"]
LeaveStatus = Literal["requested", "granted", "cancelled"]
Category = Literal["travel", "meal"]


@record
class Employee(Row):
    """Somebody who works here."""

    table: ClassVar[str] = "employees"
    prefix: ClassVar[str] = ""
    name: Annotated[str, Searchable()]
    email: Annotated[str, Searchable()]
    team: Team
    approval_limit_cents: int
    on_leave: bool


@record
class Leave(Row):
    """Days off that an employee has asked for."""

    table: ClassVar[str] = "leaves"
    prefix: ClassVar[str] = "LV-"
    employee_id: EmployeeId
    first: date
    days: int
    status: LeaveStatus


@record
class Claim(Row):
    """What an employee spent for the company."""

    table: ClassVar[str] = "claims"
    prefix: ClassVar[str] = "EXP-"
    employee_id: EmployeeId
    category: Category
    spent: date
    amount_cents: int
    paid_cents: int = 0
    approver_id: EmployeeId | None = None


@record
class Case(kit.CaseRow):
    """What an employee asks the desk for."""

    employee_id: EmployeeId
    team: Team


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Every number that the handbook states."""

    notice_days: int = 14
    claim_days: int = 60
    meal_cap_cents: int = 4_000
    own_limit_cents: int = 50_000


RULES = kit.HandbookVariants(
    stream="human-resources-rules",
    own=Rules(),
    changes={
        "notice_days": (7, 21, 28),
        "claim_days": (30, 45, 90),
        "meal_cap_cents": (2_500, 3_000, 5_500),
        "own_limit_cents": (30_000, 40_000, 80_000),
    },
)
HANDBOOK = """
## LV-1 Granting leave
Leave is granted at least {notice_days} days before its first day. A later request is declined by this section; the
record that shows it is the leave.
## LV-2 Cancelling leave
Granted leave can be cancelled until the day before it begins. A later request is declined by this section; the record
that shows it is the leave.
## EX-1 Expenses
What was spent at most {claim_days} days ago is paid, a meal up to {meal_cap_cents} cents. An older claim is declined by
this section; the record that shows it is the claim.
## EX-2 Approval
The desk pays up to {own_limit_cents} cents alone. Above that it asks a colleague of finance for approval: of those at
work whose limit covers the amount, the one with the lowest. Where there is none, the case is escalated to finance with
normal priority by this section; the record that shows it is the claim.
"""
SCHEMA = Schema(Employee, Leave, Claim, Case, kit.Section)
CASES = kit.CaseType(kind=Case, requester=Employee, team="people", evidence=(Employee, Leave, Claim))


@tool(writes=True)
def pay_claim(
    context: ToolContext,
    claim_id: Annotated[str, References("claims")],
    amount_cents: Annotated[int, Field(ge=1)],
    approver_id: EmployeeId | None = None,
) -> object:
    """Pay an expense claim, or have it paid once a colleague approves it.

    Args:
        claim_id: The claim's id.
        amount_cents: How much of it is paid, in cents.
        approver_id: The colleague who is asked for approval; left out where the desk pays alone.
    """
    claim = context.state.get(Claim, claim_id)
    if claim.paid_cents:
        raise ToolRefusal("paid_already", f"{claim_id} was paid or waits for approval")
    if approver_id is not None:
        context.state.get(Employee, approver_id)
    return context.state.update(claim, paid_cents=amount_cents, approver_id=approver_id)


TOOLBOX = Toolbox(
    [
        kit.search_tool(
            Employee, filters=(("team", "Only this team."),), summary=("name", "approval_limit_cents", "on_leave")
        ),
        kit.get_tool(Employee, example="EMP-117"),
        kit.list_tool(Leave, Employee),
        kit.get_tool(Claim, example="EXP-1042"),
        *kit.handbook_tools(number="LV-1", words="leave"),
        *kit.reading_tools(CASES),
        kit.transition_tool(Leave, "grant_leave", "Grant requested leave.", before="requested", after="granted"),
        kit.transition_tool(Leave, "cancel_leave", "Cancel granted leave.", before="granted", after="cancelled"),
        pay_claim,
        *kit.closing_tools(CASES),
        *CONTROL,
    ],
    prose_tool="reply",
)


def populate(seed: int, rules: Rules) -> Base:
    """The company of a world seed: thirty people, each with leave and expenses."""
    stream, today = Stream.root("human-resources", seed), kit.draw_start("human-resources", seed).date()
    rows: list[Row] = [*kit.parse_sections(HANDBOOK.format(**asdict(rules)))]
    for n, person in enumerate(kit.draw_people(stream.split("people"), 30)):
        key, mail, away = f"EMP-{101 + n}", f"{person.mailbox}@company.example", n > 0 and stream.chance(20)
        team, limit = get_args(Team)[n % 3], 100_000 * (1 + n // 3 % 4) if n % 3 == 1 else 0
        rows.append(
            Employee(id=key, name=person.name, email=mail, team=team, approval_limit_cents=limit, on_leave=away)
        )
        for number in range(1001 + 3 * n, 1004 + 3 * n):
            first, days = today + timedelta(days=rules.notice_days + stream.below(60)), stream.between(1, 6)
            status: LeaveStatus = "requested" if number % 3 == 1 else "granted"
            rows.append(Leave(id=f"LV-{number}", employee_id=key, first=first, days=days, status=status))
            meal, spent = stream.chance(50), today - timedelta(days=stream.below(rules.claim_days + 1))
            cents = stream.between(1_500, 9_000) if meal else stream.between(10_000, 200_000)
            kind: Category = "meal" if meal else "travel"
            rows.append(Claim(id=f"EXP-{number}", employee_id=key, category=kind, spent=spent, amount_cents=cents))
    return Base(SCHEMA, rows)


def briefing(now: datetime, contact: str = "The employee does not answer.") -> str:
    """The system message."""
    return (
        f"You work at the human-resources desk (EMP-101). It is {kit.format_moment(now)}. Look up the facts, decide by "
        f"the handbook, do what the case calls for and nothing else. {contact} Then tell them with `reply`, "
        "close the case (resolve, decline or escalate it), and call `finish`. Handbook: LV-1, LV-2 on leave; EX-1, "
        "EX-2 on expenses."
    )


class Desk(kit.CaseDraft[Case]):
    """A draft of this world."""

    cases = CASES
    rules: Rules


def settle(
    desk: Desk,
    body: str,
    work: kit.Work[Leave | Claim],
    sections: Sequence[str],
    *,
    facts: Sequence[Criterion] = (),
    lookups: Sequence[ToolCall] = (),
    team: str | None = None,
) -> Task:
    """The task of a request about a record: do the work or, in the twin, refuse by the last of the sections."""
    employee = desk.state.get(Employee, work.row.employee_id)
    case = desk.open_case(employee, "A request")
    prompt, known = desk.message(case, body), [expect_read(work.row, id="saw-record"), *facts]
    claim, leaves = call("get_claim", claim_id=work.row.id), call("get_leaves", employee_id=employee.id)
    about = claim if isinstance(work.row, Claim) else leaves
    opening = [call("get_case", case_id=case.id), call("get_employee", employee_id=employee.id), about, *lookups]
    if desk.twin:
        why = kit.RefusalCondition(
            section=sections[-1], evidence=work.row, facts=(*known,), team=team, message="The handbook forbids it."
        )
        path = [*opening, *(call("read_handbook", section_id=section) for section in sections)]
        return kit.refusal_task(desk, case, prompt, why, account=employee, opening=opening, path=path)
    return kit.grant_task(
        desk, case, prompt, work, account=employee, opening=opening, facts=known, sections=sections, message="Granted."
    )


@family("human-resources/grant-leave", level=1, traits=("write",), twin=True)
def grant_leave(desk: Desk) -> Task:
    """Leave is granted where the notice was kept."""
    leave = desk.pick(Leave, lambda x: x.status == "requested")
    if desk.twin:
        leave = desk.state.update(leave, first=desk.today + timedelta(days=desk.rules.notice_days - 1))
    work = kit.Work(call=call("grant_leave", leave_id=leave.id), row=leave, values={"status": "granted"})
    return settle(desk, f"May I take my leave {leave.id}?", work, ["LV-1"])


@family("human-resources/cancel-leave", level=2, traits=("dialogue", "write"), twin=True)
def cancel_leave(desk: Desk) -> Task:
    """One of two leaves is to be cancelled, and only the employee knows which."""
    leave = desk.pick(Leave, lambda x: x.status == "granted")
    if desk.twin:
        leave = desk.state.update(leave, first=desk.today - timedelta(days=1))
    knows = UserFact(topic="leave", says=f"I mean {leave.id}.")
    user = Persona(goal="You want one leave cancelled.", topics={"leave": ("leave", "which")}, facts=(knows,))
    work = kit.Work(call=call("cancel_leave", leave_id=leave.id), row=leave, values={"status": "cancelled"})
    ask = kit.ask("leave", "Which leave do you mean?")
    body = "I can not go after all. Please cancel it."
    return kit.with_user(settle(desk, body, work, ["LV-2"], facts=[expect_question("leave")], lookups=[ask]), user)


@family("human-resources/pay-claim", level=2, traits=("write", "arithmetic"), twin=True)
def settle_claim(desk: Desk) -> Task:
    """A claim within the desk's own limit is paid, a meal up to the cap."""
    claim = desk.pick(Claim, lambda x: x.amount_cents <= desk.rules.own_limit_cents)
    if desk.twin:
        claim = desk.state.update(claim, spent=desk.today - timedelta(days=desk.rules.claim_days + 1))
    due = min(claim.amount_cents, desk.rules.meal_cap_cents) if claim.category == "meal" else claim.amount_cents
    pay = call("pay_claim", claim_id=claim.id, amount_cents=due)
    work = kit.Work(call=pay, row=claim, values={"paid_cents": due, "approver_id": None})
    return settle(desk, f"Please pay {claim.id}.", work, ["EX-2", "EX-1"])


@family("human-resources/approve-claim", level=3, traits=("write", "multi-hop"), twin=True)
def approve_claim(desk: Desk) -> Task:
    """A claim above the limit goes to the approver with the lowest limit, or to finance where there is none."""
    claim = desk.pick(Claim, lambda x: x.amount_cents > desk.rules.own_limit_cents)
    able = kit.approvers(desk.state.find(Employee, team="finance"), claim.amount_cents)
    right = kit.lowest_approvers(able, claim.amount_cents)
    facts = [expect_read(right[0], fields=["approval_limit_cents", "on_leave"], id="knew-approver")]
    for one in able if desk.twin else ():
        desk.state.update(one, on_leave=True)
    due, who, look = claim.amount_cents, frozenset(one.id for one in right), [call("search_employees", team="finance")]
    ask = call("pay_claim", claim_id=claim.id, amount_cents=due, approver_id=right[0].id)
    work = kit.Work(call=ask, row=claim, values={"paid_cents": due, "approver_id": who})
    return settle(desk, f"Please pay {claim.id}.", work, ["EX-1", "EX-2"], facts=facts, lookups=look, team="finance")


HUMAN_RESOURCES = World(
    name="human-resources",
    schema=SCHEMA,
    populate=populate,
    start=partial(kit.draw_start, "human-resources"),
    toolbox=TOOLBOX,
    role="agent",
    actor="EMP-101",
    briefing=briefing,
    talking=partial(briefing, contact="The employee answers what you send with `reply`: ask what is left open."),
    rules=RULES,
    surfaces=generated_surfaces(SCHEMA, TOOLBOX, role="agent"),
    draft=Desk,
    families=__name__,
    tempers=True,
    optional_tools=("reopen_case", "search_cases", "search_handbook"),  # a real desk has them; no task turns on them
    guards={"work": frozenset({"leaves", "claims"}), "case": frozenset({"cases"})},
    noise=kit.case_noise(
        CASES,
        subjects=("A question about my payslip", "Thank you"),
        synonyms={"leave": ("absence", "time_off", "holiday"), "case": ("inquiry", "request", "matter")},
    ),
)
