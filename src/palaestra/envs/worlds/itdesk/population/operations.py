"""On-call duty, absences, and changes of systems with the days on which they are frozen."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import get_args

from palaestra.envs.worlds.itdesk.schema import (
    BusinessSystem,
    ChangeFreeze,
    ChangeStatus,
    OnCallShift,
    Risk,
    Rota,
    StaffAbsence,
    StaffMember,
    SystemChange,
)
from palaestra.records import Row
from palaestra.seeding import Stream

_SHIFT_DAYS = 3
_EVERY_DAYS = 10
"""From the first day of a rota's shift to that of the next."""
_TITLES = (
    "Patch the operating system",
    "Move to new storage",
    "Renew certificates",
    "Raise the database version",
    "Change the network range",
    "Switch off an old interface",
)
_REASONS = ("Year-end closing", "Audit", "Trade fair", "Payroll run")


def draw_duties(stream: Stream, today: date, staff: Sequence[StaffMember]) -> Iterator[Row]:
    """Shifts of three days every ten days in each rota, in turns, and some absences that are over or far off."""
    number = 0
    rotas: tuple[Rota, ...] = get_args(Rota)
    for rota in rotas:
        crew = stream.permutation([one for one in staff if one.rota == rota])
        first = today - timedelta(days=70 - stream.below(_EVERY_DAYS))
        for turn in range(20):
            number += 1
            start = first + timedelta(days=_EVERY_DAYS * turn)
            yield OnCallShift(
                id=f"SHF-{3000 + number}",
                rota=rota,
                staff_member_id=crew[turn % len(crew)].id,
                first=start,
                last=start + timedelta(days=_SHIFT_DAYS - 1),
            )
    number = 0
    for one in staff:
        if one.status == "active" and stream.chance(50):
            number += 1
            begins = today + timedelta(days=stream.choice((-50, -30, 200, 230)) + stream.below(9))
            yield StaffAbsence(
                id=f"ABS-{1000 + number}",
                staff_member_id=one.id,
                first=begins,
                last=begins + timedelta(days=stream.between(1, 9)),
            )


def draw_changes(
    stream: Stream, today: date, staff: Sequence[StaffMember], systems: Sequence[BusinessSystem]
) -> Iterator[Row]:
    """Two changes of each system, one over and one in the making, and a freeze that is over."""
    crew = [one for one in staff if one.rota is not None]
    number = 0
    stages: tuple[tuple[ChangeStatus, int], ...] = (("done", -40), ("draft", 0))
    for place, system in enumerate(systems):
        for status, offset in stages:
            number += 1
            risk: Risk = "high" if stream.chance(40) else "low"
            yield SystemChange(
                id=f"CHG-{400 + number}",
                system_id=system.id,
                staff_member_id=stream.choice(crew).id,
                title=stream.choice(_TITLES),
                risk=risk,
                hours=stream.between(1, 2),
                status=status,
                day=None if status == "draft" else today + timedelta(days=offset + stream.below(10)),
            )
        last = today - timedelta(days=stream.between(20, 60))
        yield ChangeFreeze(
            id=f"FRZ-{201 + place}",
            system_id=system.id,
            first=last - timedelta(days=stream.between(3, 12)),
            last=last,
            reason=stream.choice(_REASONS),
        )
