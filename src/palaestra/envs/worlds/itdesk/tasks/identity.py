"""Requests about accounts: unlock, open for joiners, close and freeze for leavers, clear away after a move."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Literal

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.itdesk.desk import (
    DeskRefusal,
    ITDeskDraft,
    Plan,
    is_ordinary,
    look_for,
    read_calls,
    settle,
)
from palaestra.envs.worlds.itdesk.planting import plant_grant
from palaestra.envs.worlds.itdesk.schema import (
    AccessGrant,
    AccessRole,
    ManagedDevice,
    ServiceRequest,
    StaffMember,
    UserAccount,
)
from palaestra.records import ToolCall
from palaestra.rubrics import Criterion, expect_change, expect_read, expect_row


@family("itdesk/unlock-account", level=1, traits=("write",), twin=True)
def unlock_own_account(desk: ITDeskDraft) -> Task:
    """A locked account is unlocked; in the twin it was locked too often and goes to security."""
    asker = desk.pick_member()
    case, prompt = desk.open_request(
        asker,
        "unlock",
        subject="I cannot log in",
        bodies=(
            "My account is locked. Please unlock it.",
            "I typed my password wrong and now I am locked out. Please unlock my account.",
            "It says that my account is locked. Could you unlock it for me?",
        ),
    )
    lockouts = desk.planting_rules.most_lockouts - (0 if desk.twin else 1)
    account = desk.state.update(desk.account_of(asker), status="locked", lockouts=lockouts)
    look = call("get_accounts", staff_member_id=asker.id)
    saw = expect_read(account, fields=["status", "lockouts"], id="saw-locked")
    plan = Plan(
        looks=(look,),
        facts=(saw,),
        sections=("ID-2",),
        work=(call("unlock_account", user_account_id=account.id),),
        done=(expect_change(account, {"status": "active"}, id="unlocked"),),
        message="Your account is unlocked.",
    )
    often = DeskRefusal(section="ID-2", evidence=account, facts=(saw,), looks=(look,), team="security", priority="high")
    return settle(desk, case, prompt, plan, [often if account.lockouts >= desk.rules.most_lockouts else None])


def _ask_for_joiner(desk: ITDeskDraft, joiner: StaffMember) -> tuple[ServiceRequest, str]:
    return desk.open_request(
        desk.lead_of(joiner),
        "joiner",
        subject="A new colleague",
        bodies=(
            "{name} joins my team. Please open an account.",
            "Please open the account of {name}, who will soon start with us.",
            "We have hired {name}. The account should be there on the first day, please.",
        ),
        name=joiner.name,
    )


def _open_account(desk: ITDeskDraft, joiner: StaffMember, case: ServiceRequest, prompt: str) -> Task:
    """Open the account of a joiner, or what stands against it."""
    looks = look_for(joiner)
    contractor = joiner.contract == "contractor"
    fields = ["manager_id", "status", "contract", "starts", "ends"]
    saw = expect_read(joiner, fields=fields, id="saw-joiner")
    starts = expect_read(joiner, fields=["starts"], id="saw-start")
    span = expect_read(joiner, fields=["contract", "starts", "ends"], id="saw-contract")
    expires: dict[str, str] = {"expires": joiner.ends.isoformat()} if contractor and joiner.ends else {}
    plan = Plan(
        looks=looks,
        facts=(saw,),
        sections=("ID-1", "JOI-1", *(("JOI-2",) if contractor else ())),
        work=(call("open_account", staff_member_id=joiner.id, **expires),),
        done=(
            expect_row(
                UserAccount,
                {
                    "staff_member_id": joiner.id,
                    "status": "active",
                    "expires": joiner.ends if contractor else None,
                },
                id="opened",
            ),
        ),
        message="The account is open.",
    )
    early = DeskRefusal(section="JOI-1", evidence=joiner, facts=(starts,), looks=looks)
    long = DeskRefusal(section="JOI-2", evidence=joiner, facts=(span,), looks=looks, team="people")
    length = (joiner.ends - joiner.starts).days if joiner.ends else 0
    return settle(
        desk,
        case,
        prompt,
        plan,
        [
            early if (joiner.starts - desk.today).days > desk.rules.joiner_days else None,
            long if contractor and length > desk.rules.contractor_days else None,
        ],
    )


@family("itdesk/open-account", level=2, traits=("write", "multi-hop"), twin=True)
def open_for_joiner(desk: ITDeskDraft) -> Task:
    """A joiner's account is opened in the days before the first one; in the twin it is asked for too early."""
    joiner, margin = desk.pick(StaffMember, lambda one: one.status == "joining"), desk.draw_margin()
    case, prompt = _ask_for_joiner(desk, joiner)
    ahead = desk.planting_rules.joiner_days + (1 + margin if desk.twin else -margin)
    joiner = desk.state.update(joiner, starts=desk.today + timedelta(days=ahead))
    return _open_account(desk, joiner, case, prompt)


@family("itdesk/open-contractor", level=3, traits=("write", "multi-hop", "policy-exception"), twin=True)
def open_for_contractor(desk: ITDeskDraft) -> Task:
    """A contractor's account expires with the contract; in the twin the contract is too long for the desk."""
    joiner = desk.pick(StaffMember, lambda one: one.status == "joining")
    ahead, margin = desk.stream.between(2, 6), 7 * desk.draw_margin()
    case, prompt = _ask_for_joiner(desk, joiner)
    starts = desk.today + timedelta(days=ahead)
    length = desk.planting_rules.contractor_days + (1 + margin if desk.twin else -margin)
    joiner = desk.state.update(joiner, contract="contractor", starts=starts, ends=starts + timedelta(days=length))
    return _open_account(desk, joiner, case, prompt)


def _plant_leaver(desk: ITDeskDraft, leaver: StaffMember) -> UserAccount:
    """The account of somebody who has left, still active."""
    return desk.state.update(desk.account_of(leaver), status="active")


@family("itdesk/freeze-leaver", level=2, traits=("write", "multi-hop"), twin=True)
def freeze_leaver(desk: ITDeskDraft) -> Task:
    """A leaver's account is frozen once the days of grace are over; in the twin they are not."""
    leaver = desk.pick(StaffMember, lambda one: one.status == "left")
    case, prompt = desk.open_request(
        desk.lead_of(leaver),
        "freeze",
        subject="Somebody leaves",
        bodies=(
            "{name} leaves us. Please freeze the account.",
            "Please freeze the account of {name}, whose time with us is over.",
        ),
        name=leaver.name,
    )
    account = _plant_leaver(desk, leaver)
    ago = desk.planting_rules.grace_days - (1 if desk.twin else 0)
    leaver = desk.state.update(leaver, ends=desk.today - timedelta(days=ago))
    looks = look_for(leaver)
    saw = expect_read(leaver, fields=["manager_id", "ends"], id="saw-leaver")
    plan = Plan(
        looks=(*looks, call("get_accounts", staff_member_id=leaver.id)),
        facts=(saw,),
        sections=("ID-1", "LEA-1"),
        work=(call("freeze_account", user_account_id=account.id),),
        done=(expect_change(account, {"status": "frozen"}, id="frozen"),),
        message="The account is frozen.",
    )
    ends = expect_read(leaver, fields=["ends"], id="saw-end")
    early = DeskRefusal(section="LEA-1", evidence=leaver, facts=(ends,), looks=looks)
    over = (desk.today - (leaver.ends or desk.today)).days >= desk.rules.grace_days
    return settle(desk, case, prompt, plan, [None if over else early])


@family("itdesk/close-leaver", level=3, traits=("write", "multi-hop"), twin=True)
def close_leaver(desk: ITDeskDraft) -> Task:
    """A leaver's account is closed; in the twin a device is still out, so it is frozen and the rest declined."""
    leaver = desk.pick(StaffMember, lambda one: one.status == "left")
    kind = desk.stream.choice(desk.planting_rules.must_return)
    stock = [one for one in desk.state.find(ManagedDevice, status="assigned") if one.staff_member_id]
    monitor = desk.stream.choice([one for one in stock if one.kind == "monitor"])
    owed = desk.stream.choice([one for one in stock if one.kind == kind and one.id != monitor.id])
    case, prompt = desk.open_request(
        desk.lead_of(leaver),
        "close",
        subject="The account of a former colleague",
        bodies=(
            "{name} has left us. Please close the account for good.",
            "Please close the account of {name}; nobody needs it any longer.",
        ),
        name=leaver.name,
    )
    account = _plant_leaver(desk, leaver)
    desk.state.update(monitor, staff_member_id=leaver.id)
    if desk.twin:
        owed = desk.state.update(owed, staff_member_id=leaver.id)
    else:
        owed = desk.state.update(owed, staff_member_id=None, status="retired")
    held = desk.state.find(ManagedDevice, staff_member_id=leaver.id)
    missing = [device for device in held if device.kind in desk.rules.must_return]
    saw = expect_read(leaver, fields=["manager_id", "ends"], id="saw-leaver")
    devices = expect_read(held[0], *held[1:], fields=["kind"], id="saw-devices")
    looks = (
        *look_for(leaver),
        call("get_accounts", staff_member_id=leaver.id),
        call("get_devices", staff_member_id=leaver.id),
    )
    if missing:
        return _freeze_instead(desk, case, prompt, account, missing, looks, [saw, devices])
    plan = Plan(
        looks=looks,
        facts=(saw, devices),
        sections=("ID-1", "LEA-2"),
        work=(call("close_account", user_account_id=account.id),),
        done=(expect_change(account, {"status": "closed"}, id="closed"),),
        message="The account is closed.",
    )
    return settle(desk, case, prompt, plan)


def _freeze_instead(
    desk: ITDeskDraft,
    case: ServiceRequest,
    prompt: str,
    account: UserAccount,
    missing: Sequence[ManagedDevice],
    looks: Sequence[ToolCall],
    facts: Sequence[Criterion],
) -> Task:
    """Freeze the account and decline to close it."""
    asker = desk.state.get(StaffMember, case.staff_member_id)
    known = [*facts, desk.account(asker), desk.read("ID-1")]
    after = [*(fact.id for fact in known), "read-LEA-2"]
    frozen = expect_change(account, {"status": "frozen"}, id="frozen", after=after)
    read, *closed, told = desk.expect_declined(case, "LEA-2", *missing, after=after[:-1])
    return Task(
        prompt=prompt,
        rubric=[*known, read, frozen, *closed, replace(told, after=(*told.after, "frozen"))],
        oracle=[
            *desk.opening(case),
            *looks,
            *read_calls(["ID-1", "LEA-2"]),
            call("freeze_account", user_account_id=account.id),
            *desk.decline_calls(
                case, "LEA-2", missing[0], "A device is not back yet. The account is frozen until it is."
            ),
        ],
    )


@family("itdesk/clear-after-move", level=3, traits=("write", "multi-hop"), twin=True)
def clear_after_move(desk: ITDeskDraft) -> Task:
    """The roles of the former department are revoked; in the twin the mover may still keep them for some days."""
    mover = desk.pick(StaffMember, lambda one: is_ordinary(one) and one.moved is not None)
    fitting = desk.state.find(AccessRole, audience=mover.former_department)
    roles = sorted(desk.stream.sample([r for r in fitting if r.kind in ("reader", "editor")], 3), key=lambda r: r.id)
    statuses: list[Literal["active", "revoked"]] = desk.stream.permutation(["active", "active", "revoked"])
    margin, granted = desk.draw_margin(), desk.today - timedelta(days=desk.stream.between(90, 300))
    case, prompt = desk.open_request(
        desk.lead_of(mover),
        "mover",
        subject="A colleague who came to us",
        bodies=(
            "{name} has moved to my team. Please take away the access of the former department.",
            "Please revoke what {name} still has from the department before ours.",
        ),
        name=mover.name,
    )
    moved = desk.today - timedelta(days=desk.planting_rules.overlap_days + (-1 if desk.twin else margin))
    mover = desk.state.update(mover, moved=moved)
    for role, status in zip(roles, statuses, strict=True):
        plant_grant(desk, mover, role, granted=granted, status=status)
    return _revoke_former(desk, mover, moved, case, prompt)


def _revoke_former(desk: ITDeskDraft, mover: StaffMember, moved: date, case: ServiceRequest, prompt: str) -> Task:
    grants = desk.state.find(AccessGrant, staff_member_id=mover.id)
    roles = {grant.id: desk.state.get(AccessRole, grant.role_id) for grant in grants if grant.status == "active"}
    old = [g for g in grants if g.id in roles and roles[g.id].audience == mover.former_department]
    shown = list(dict.fromkeys(role.id for role in roles.values()))
    looks = look_for(mover)
    saw = expect_read(mover, fields=["manager_id", "moved", "former_department"], id="saw-mover")
    plan = Plan(
        looks=(
            *looks,
            call("get_grants", staff_member_id=mover.id),
            *(call("get_access_role", access_role_id=key) for key in shown),
        ),
        facts=(
            saw,
            expect_read(grants[0], *grants[1:], fields=["role_id", "status"], id="saw-grants"),
            *(expect_read(desk.state.get(AccessRole, key), fields=["audience"], id=f"saw-{key}") for key in shown),
        ),
        sections=("ID-1", "MOV-1"),
        work=tuple(call("revoke_access", access_grant_id=grant.id) for grant in old),
        done=tuple(expect_change(grant, {"status": "revoked"}, id=f"revoked-{n}") for n, grant in enumerate(old, 1)),
        message="The roles of the former department are revoked.",
    )
    day = expect_read(mover, fields=["moved"], id="saw-move")
    early = DeskRefusal(section="MOV-1", evidence=mover, facts=(day,), looks=looks)
    return settle(desk, case, prompt, plan, [early if (desk.today - moved).days < desk.rules.overlap_days else None])
