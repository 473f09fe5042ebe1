"""Requests of the past, and some that are open still."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from palaestra.envs.worlds.itdesk.schema import ServiceRequest, StaffMember
from palaestra.seeding import Stream

_SUBJECTS = ("A question about my mailbox", "Printer on the second floor", "Headset", "Slow network", "New badge")
_PAST, _OPEN = 40, 6


def draw_requests(stream: Stream, start: datetime, staff: Sequence[StaffMember]) -> Iterator[ServiceRequest]:
    """The requests, the oldest first; a declined one names its grounds."""
    askers = [one for one in staff if one.status == "active" and one.manager_id is not None]
    for number in range(_PAST + _OPEN):
        one = stream.choice(askers)
        is_open, refused = number >= _PAST, stream.chance(15)
        opened = start - timedelta(days=60 - number, minutes=stream.between(1, 400))
        yield ServiceRequest(
            id=f"SR-{1001 + number}",
            staff_member_id=one.id,
            subject=stream.choice(_SUBJECTS),
            opened=opened,
            status="open" if is_open else "declined" if refused else "resolved",
            priority="low",
            team="desk",
            policy_id="ID-1" if refused and not is_open else None,
            evidence_id=one.id if refused and not is_open else None,
        )
