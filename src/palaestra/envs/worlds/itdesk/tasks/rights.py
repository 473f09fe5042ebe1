"""Requests about roles that somebody has: take one away, say when it ends, let it run longer."""

from datetime import date, timedelta

from palaestra.envs.kit import ask, draw_temper
from palaestra.envs.task import Task, call, family
from palaestra.envs.user import Persona, UserFact
from palaestra.envs.worlds.itdesk.desk import DeskRefusal, ITDeskDraft, Plan, look_for, settle
from palaestra.envs.worlds.itdesk.planting import plant_grant
from palaestra.envs.worlds.itdesk.schema import AccessGrant, AccessRole, ServiceRequest, StaffMember
from palaestra.envs.worlds.itdesk.talk import TOPICS, with_requester
from palaestra.records import ToolCall
from palaestra.rubrics import expect_change, expect_question, expect_read


def _choose_role(desk: ITDeskDraft, person: StaffMember) -> AccessRole:
    """A role that somebody never had, for their department or for all."""
    had = {grant.role_id for grant in desk.state.find(AccessGrant, staff_member_id=person.id)}
    audiences = ("all", person.department)
    return desk.stream.choice([r for r in desk.state.find(AccessRole) if r.audience in audiences and r.id not in had])


def _look_grant(person: StaffMember, role: AccessRole) -> tuple[ToolCall, ...]:
    return call("search_roles", query=role.name), call("get_grants", staff_member_id=person.id)


def _not_the_manager(asker: StaffMember, person: StaffMember, section: str) -> DeskRefusal | None:
    """The refusal of what somebody asks about a person whose line manager they are not."""
    if person.manager_id == asker.id:
        return None
    saw = expect_read(person, fields=["manager_id"], id="saw-manager")
    return DeskRefusal(section=section, evidence=person, facts=(saw,), looks=look_for(person))


@family("itdesk/take-role", level=2, traits=("write", "multi-hop"), twin=True)
def take_role(desk: ITDeskDraft) -> Task:
    """The line manager has a role taken away; in the twin somebody else is the line manager."""
    person = desk.pick_member()
    role, asker, other = _choose_role(desk, person), desk.lead_of(person), desk.other_lead(person)
    ago = desk.stream.between(40, 200)
    case, prompt = desk.open_request(
        asker,
        "take-role",
        subject="Access of a colleague",
        bodies=(
            "{name} no longer needs the role {role}. Please take it away.",
            "Please revoke the role {role} of {name}.",
            "The role {role} should be taken from {name}, please.",
        ),
        name=person.name,
        role=role.name,
    )
    grant = plant_grant(desk, person, role, granted=desk.today - timedelta(days=ago))
    if desk.twin:
        person = desk.state.update(person, manager_id=other.id)
    plan = Plan(
        looks=(*look_for(person), *_look_grant(person, role)),
        facts=(
            expect_read(person, fields=["manager_id"], id="saw-manager"),
            expect_read(grant, fields=["role_id", "status"], id="saw-grant"),
        ),
        sections=("ID-1",),
        work=(call("revoke_access", access_grant_id=grant.id),),
        done=(expect_change(grant, {"status": "revoked"}, id="revoked"),),
        message="The role is revoked.",
    )
    return settle(desk, case, prompt, plan, [_not_the_manager(asker, person, "ID-1")])


@family("itdesk/tell-end", level=2, traits=("lookup", "multi-hop"), twin=True)
def tell_end(desk: ITDeskDraft) -> Task:
    """The line manager learns until when somebody has a role; in the twin somebody else is the line manager."""
    person = desk.pick_member()
    role, asker, other = _choose_role(desk, person), desk.lead_of(person), desk.other_lead(person)
    ago, until = desk.stream.between(40, 200), desk.today + timedelta(days=desk.stream.between(5, 90))
    case, prompt = desk.open_request(
        asker,
        "tell-end",
        subject="A question about access",
        bodies=(
            "Until which day does {name} have the role {role}? Please tell me the date.",
            "Please tell me the last day on which {name} has the role {role}.",
        ),
        name=person.name,
        role=role.name,
    )
    grant = plant_grant(desk, person, role, granted=desk.today - timedelta(days=ago), until=until)
    if desk.twin:
        person = desk.state.update(person, manager_id=other.id)
    looks = (*look_for(person), *_look_grant(person, role))
    stranger = _not_the_manager(asker, person, "PRV-1")
    if stranger is not None:
        nothing = Plan(looks=looks, facts=(), sections=("PRV-1",), work=(), done=(), message="")
        return settle(desk, case, prompt, nothing, [stranger])
    return _tell_day(desk, case, prompt, (person, grant), until, looks)


def _tell_day(
    desk: ITDeskDraft,
    case: ServiceRequest,
    prompt: str,
    rows: tuple[StaffMember, AccessGrant],
    day: date,
    looks: tuple[ToolCall, ...],
) -> Task:
    person, grant = rows
    known = [
        expect_read(person, fields=["manager_id"], id="saw-manager"),
        expect_read(grant, fields=["role_id", "until"], id="saw-grant"),
        desk.account(desk.state.get(StaffMember, case.staff_member_id)),
        desk.read("PRV-1"),
    ]
    after = [fact.id for fact in known]
    [_, resolved] = desk.expect_resolved(case, after=after)
    return Task(
        prompt=prompt,
        rubric=[*known, desk.expect_reply(after=after, day=day), resolved],
        oracle=[
            *desk.opening(case),
            *looks,
            call("read_handbook", section_id="PRV-1"),
            *desk.closing_calls(case, f"The last day is {day.isoformat()}."),
        ],
    )


@family("itdesk/extend-role", level=3, traits=("dialogue", "write", "arithmetic"), twin=True)
def extend_role(desk: ITDeskDraft) -> Task:
    """A grant runs until a day that only its holder knows; in the twin it was granted a day too early for that."""
    asker = desk.pick_member()
    role = _choose_role(desk, asker)
    ahead, left = desk.stream.between(12, 30), desk.stream.between(2, 8)
    temper, margin = draw_temper(desk.stream), desk.draw_margin()
    case, prompt = desk.open_request(
        asker,
        "extend",
        subject="My access ends soon",
        bodies=(
            "My access as {role} ends soon and I still need it. Please extend it.",
            "Please let me keep the role {role} for longer.",
            "Could you extend my role {role}? I need some more time.",
        ),
        role=role.name,
    )
    day = desk.today + timedelta(days=ahead)
    granted = day - timedelta(days=desk.planting_rules.extension_days + (1 + margin if desk.twin else -margin))
    grant = plant_grant(desk, asker, role, granted=granted, until=desk.today + timedelta(days=left))
    saw = expect_read(grant, fields=["role_id", "granted", "until"], id="saw-grant")
    question = ask("day", "Until which day do you need it?")
    looks = (*_look_grant(asker, role), question)
    plan = Plan(
        looks=looks,
        facts=(expect_question("day"), saw),
        sections=("ACC-6",),
        work=(call("extend_access", access_grant_id=grant.id, until=day.isoformat()),),
        done=(expect_change(grant, {"until": day}, id="extended"),),
        message="The role is yours until then.",
    )
    long = DeskRefusal(section="ACC-6", evidence=grant, facts=(expect_question("day"), saw), looks=looks)
    over = (day - grant.granted).days > desk.rules.extension_days
    user = Persona(
        goal=f"You want to keep the role {role.name} until {day.isoformat()}.",
        topics=TOPICS,
        facts=(UserFact(topic="day", says=f"I need it until {day.isoformat()}."),),
        temper=temper,
        owed=not desk.twin,
        pushes=1,
        pleas=("My project fails without it.", "It is only a few days more."),
    )
    return with_requester(settle(desk, case, prompt, plan, [long if over else None]), user, about="access")
