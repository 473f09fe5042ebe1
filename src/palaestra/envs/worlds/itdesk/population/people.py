"""People, their line managers, their rotas and their accounts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import get_args

from palaestra.envs.kit import Person, draw_people
from palaestra.envs.worlds.itdesk.schema import (
    AccountStatus,
    Department,
    Rota,
    Site,
    StaffMember,
    UserAccount,
)
from palaestra.seeding import Stream

AGENT_ID = "STF-101"
"""The agent's own record: the desk."""
LEADS = 5
"""How many lead a department; they follow the desk's record, in the order of the departments."""
_TEAM = 10
_ON_CALL = 6
"""How many people of engineering, and as many of it, take turns in being on call."""


def draw_staff(stream: Stream, today: date, *, held_out: bool) -> list[StaffMember]:
    """The desk, the leads of the departments, and ten people under each of them."""
    people = draw_people(stream.split("names"), 1 + LEADS + LEADS * _TEAM, held_out=held_out)
    departments: tuple[Department, ...] = get_args(Department)
    desk = _member(stream, people[0], 0, "it", today, manager=None)
    rows = [desk]
    for place, department in enumerate(departments, 1):
        rows.append(_member(stream, people[place], place, department, today, manager=AGENT_ID))
    for place in range(1 + LEADS, len(people)):
        number = place - 1 - LEADS
        team, rank = number % LEADS, number // LEADS
        department = departments[team]
        lead = rows[1 + team]
        one = _member(stream, people[place], place, department, today, manager=lead.id)
        rows.append(_place(stream, one, team, rank, today))
    return rows


def _member(
    stream: Stream, person: Person, place: int, department: Department, today: date, *, manager: str | None
) -> StaffMember:
    return StaffMember(
        id=f"STF-{101 + place}",
        name=person.name,
        email=f"{person.mailbox}@company.example",
        department=department,
        former_department=None,
        moved=None,
        site=stream.choice(get_args(Site)),
        manager_id=manager,
        status="active",
        contract="permanent",
        starts=today - timedelta(days=stream.between(400, 2_800)),
        ends=None,
        rota=None,
    )


def _place(stream: Stream, one: StaffMember, team: int, rank: int, today: date) -> StaffMember:
    """A member of a team by rank: a joiner, a leaver, a mover, contractors, or ordinary staff."""
    departments: tuple[Department, ...] = get_args(Department)
    if rank == 0:
        return replace(one, status="joining", starts=today + timedelta(days=stream.between(3, 40)))
    if rank == 1:
        return replace(one, status="left", ends=today - timedelta(days=stream.between(15, 80)))
    if rank == 2:
        moved = today - timedelta(days=stream.between(30, 300))
        return replace(one, former_department=departments[(team + 1) % LEADS], moved=moved)
    if rank == 3:
        starts = today - timedelta(days=stream.between(20, 80))
        return replace(one, contract="contractor", starts=starts, ends=today + timedelta(days=stream.between(40, 95)))
    if team in (2, 4) and rank >= 4:
        crew = (rank - 4) + (_ON_CALL if team == 4 else 0)
        rotas: tuple[Rota, ...] = get_args(Rota)
        return replace(one, rota=rotas[crew % len(rotas)])
    return one


def draw_accounts(stream: Stream, staff: Sequence[StaffMember]) -> list[UserAccount]:
    """An account for everybody who works here or did; that of a joiner is still to be opened."""
    accounts: list[UserAccount] = []
    for one in staff:
        if one.status == "joining":
            continue
        status: AccountStatus = "closed" if one.status == "left" else "active"
        if status == "active" and one.id != AGENT_ID and stream.chance(15):
            status = "locked"
        accounts.append(
            UserAccount(
                id=f"UA-{2001 + len(accounts)}",
                staff_member_id=one.id,
                login=one.email.partition("@")[0],
                status=status,
                lockouts=stream.between(1, 3) if status == "locked" else stream.below(3),
                expires=one.ends if one.contract == "contractor" else None,
            )
        )
    return accounts
