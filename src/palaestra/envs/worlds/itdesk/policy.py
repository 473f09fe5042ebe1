"""The desk's handbook: the numbers that it states, its sections, and the arithmetic of days that they ask for."""

from dataclasses import dataclass
from datetime import date, timedelta

from palaestra.envs.kit import HandbookVariants, Section, count, enumerate_words, parse_sections
from palaestra.envs.worlds.itdesk.schema import DeviceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskRules:
    """Every number and choice that the handbook states."""

    most_lockouts: int = 4
    joiner_days: int = 14
    contractor_days: int = 180
    overlap_days: int = 7
    grace_days: int = 2
    must_return: tuple[DeviceKind, ...] = ("laptop", "phone")
    approval_days: int = 30
    extension_days: int = 90
    standing_days: int = 30
    training_days: int = 365
    idle_days: int = 60
    laptop_days: int = 1_095
    stock_first: str = "longest"
    most_monitors: int = 2
    again_days: int = 30
    rest_days: int = 7
    low_notice_days: int = 3
    high_notice_days: int = 10
    change_hours: int = 4


RULES = HandbookVariants(
    stream="itdesk-rules",
    own=DeskRules(),
    changes={
        "most_lockouts": (3, 5, 6),
        "joiner_days": (7, 10, 21),
        "contractor_days": (90, 120, 270),
        "overlap_days": (3, 10, 14),
        "grace_days": (1, 4, 7),
        "must_return": (("laptop",), ("laptop", "phone", "token"), ("phone", "token")),
        "approval_days": (14, 21, 45),
        "extension_days": (45, 60, 120),
        "standing_days": (14, 21, 45),
        "training_days": (180, 270, 540),
        "idle_days": (30, 45, 90),
        "laptop_days": (730, 900, 1_460),
        "stock_first": ("newest",),
        "most_monitors": (1, 3),
        "again_days": (14, 21, 60),
        "rest_days": (5, 10, 14),
        "low_notice_days": (2, 5),
        "high_notice_days": (8, 14, 21),
        "change_hours": (2, 3, 6),
    },
    sections={
        "most_lockouts": ("ID-2",),
        "joiner_days": ("JOI-1",),
        "contractor_days": ("JOI-2",),
        "overlap_days": ("MOV-1",),
        "grace_days": ("LEA-1",),
        "must_return": ("LEA-2",),
        "approval_days": ("ACC-1",),
        "extension_days": ("ACC-6",),
        "standing_days": ("ACC-8",),
        "training_days": ("ACC-4",),
        "idle_days": ("LIC-2",),
        "laptop_days": ("HW-1",),
        "stock_first": ("HW-4",),
        "most_monitors": ("HW-2",),
        "again_days": ("HW-5",),
        "rest_days": ("ONC-1",),
        "low_notice_days": ("MNT-1",),
        "high_notice_days": ("MNT-1",),
        "change_hours": ("MNT-4",),
    },
    fewest=4,
    most=7,
)

_TEXT = """
## ID-1 Who asks for whom
What concerns another person's access is asked for by that person's line manager. A request by anybody else is declined
by this section; the record that shows it is that of the person concerned.
## ID-2 Locked accounts
A locked account is unlocked for its owner. Where it was locked {lockouts} times or more, it stays locked and the
request goes to security with high priority by this section; the record that shows it is the account.
## JOI-1 Joiners
The line manager asks for the account of somebody who joins. It is opened at most {joiner} before their first day. An
earlier request is declined by this section; the record that shows it is the joiner's.
## JOI-2 Contractors who join
The account of a contractor expires on the last day of their contract, that of permanent staff never. If that day is
more than {contractor} after their first one, the request goes to the people team with normal priority by this section;
the record that shows it is the contractor's.
## MOV-1 Movers
Whoever moves to another department keeps the roles of the former one at first. From {overlap} after the day of the move
on, their new line manager may have the active roles revoked whose audience is the former department; roles for all and
for other departments stay. An earlier request is declined by this section; the record that shows it is the mover's.
## LEA-1 Leavers
At the line manager's request an account is frozen from {grace} after the leaver's last day on. An earlier request is
declined by this section; the record that shows it is the leaver's.
## LEA-2 What a leaver gives back
The account of a leaver is closed once they hold no device of these kinds: {kinds}. Until then it is frozen instead, and
the request to close it is declined by this section; the record that shows it is a device that is not returned.
## LEA-3 Approvals of leavers
An approval lapses when its approver leaves. A request that rests on one is declined by this section; the record that
shows it is the approver's.
## LEA-4 Leavers with systems
Whoever asks to take everything from a leaver has the account frozen and all active roles revoked. If the leaver owns a
system, nothing is changed, and the request goes to the board with high priority by this section until there is another
owner; the record that shows it is the system.
## ACC-1 Approvals
A role is granted on the approval of the line manager, of the owner of its system, or of both, as the role says; it is
cited in the grant. An approval counts for {approval} after the day of its decision, and a refusal never. A request
without one that counts is declined by this section; the record that shows it is the last approval for the role.
## ACC-2 Delegates
A delegate's approval counts as that of the person whom they stand in for, if a delegation with the scope "access"
covers the day of the decision. Otherwise the request is declined by this section; the record that shows it is the
delegation.
## ACC-3 Four eyes
Where a role needs the approvals of both, they come from two persons, and nobody approves for themselves. Otherwise the
request is declined by this section; the record that shows it is the approval that does not count.
## ACC-4 Training first
Where a role names a course, the person must have passed it at most {training} ago. Otherwise the request is declined
by this section; the record that shows it is the training.
## ACC-5 Duties that are kept apart
Nobody holds a role together with one that excludes it; a revoked role is not held. Otherwise the request is declined by
this section; the record that shows it is the grant of the other role.
## ACC-6 Limited access
A grant that has a last day may be extended; the new one is at most {extension} after the day on which it was granted. A
longer extension is declined by this section; the record that shows it is the grant.
## ACC-7 Contractors
A role of a contractor ends with their contract: its last day is theirs. A contractor never becomes administrator; the
request is declined by this section; the record that shows it is the role.
## ACC-8 Standing in
A line manager names somebody to decide in their place. The last day is at most {standing} after the first, and whoever
stands in is away on none of the days. Otherwise the request is declined by this section; the record that shows it is
the absence or, where the time is too long, the line manager's own.
## LIC-1 One seat each
A person has one seat of a product. A request for a second one is declined by this section; the record that shows it is
the seat that they have.
## LIC-2 No free seat
Where all seats of a product are assigned, the one that has not been used for longest is reassigned, if it was last used
more than {idle} ago. Otherwise the request goes to procurement with normal priority by this section; the record that
shows it is the pool.
## HW-1 New laptops
A laptop is replaced once {laptop} have passed since it was bought. An earlier request is declined by this section; the
record that shows it is the laptop.
## HW-2 Monitors
A person holds at most {monitors}. A request for a further one is declined by this section; the record that shows it is
a monitor that they hold.
## HW-3 Lost devices
An encrypted device that is lost is reported as lost. One that is not encrypted is left to security, to whom the request
goes with high priority by this section; the record that shows it is the device.
## HW-4 Stock
A device comes from the stock of the person's own site: of those of its kind, the one that was bought {stock}. A device
that it replaces is taken back. Where the site has none, the request goes to procurement with normal priority by this
section; the record that shows it is the device that was to be replaced.
## HW-5 Asking again
Whoever was declined a monitor may ask again {again} after the day of the earlier request at the earliest. A request
before that is declined by this section; the record that shows it is the earlier request.
## ONC-1 Rest between shifts
The first day of a person's shift is at least {rest} after the last day of their shift before. Otherwise the request is
declined by this section; the record that shows it is the shift that is too near.
## ONC-2 Cover
Whoever covers a shift is a member of the rota, is away on none of its days, and has their rest. Where nobody can, the
request goes to operations with high priority by this section; the record that shows it is the shift.
## ONC-3 Within the rota
A shift is handed over to a member of its rota and to nobody else. Otherwise the request is declined by this section;
the record that shows it is that of the person who was to take it.
## MNT-1 Notice of changes
A change takes place on the weekday that its system has as its window. It is scheduled at least {low} ahead if its risk
is low, and at least {high} ahead if it is high. Otherwise the request is declined by this section; the record that
shows it is the change.
## MNT-2 Freezes
No change takes place on a day on which its system is frozen. Such a request is declined by this section; the record
that shows it is the freeze.
## MNT-3 Who approves changes
The owner of a system approves its changes, and nobody else does; the record that shows it is the system. Nobody
approves a change that they carry out themselves; the record that shows it is the change. Such requests are declined by
this section.
## MNT-4 Long changes
A change of more than {hours} is for the change board, to whom the request goes with normal priority by this section;
the record that shows it is the change.
## PRV-1 Questions about others
Until when a person has a role is told to nobody else but their line manager. Another question about it is declined by
this section; the record that shows it is that of the person concerned.
"""

_STOCK = {"longest": "longest ago", "newest": "last"}


def write_sections(rules: DeskRules) -> list[Section]:
    """The handbook under these rules."""
    return parse_sections(
        _TEXT.format(
            lockouts=rules.most_lockouts,
            joiner=count(rules.joiner_days, "day"),
            contractor=count(rules.contractor_days, "day"),
            overlap=count(rules.overlap_days, "day"),
            grace=count(rules.grace_days, "day"),
            kinds=enumerate_words(rules.must_return),
            approval=count(rules.approval_days, "day"),
            extension=count(rules.extension_days, "day"),
            standing=count(rules.standing_days, "day"),
            training=count(rules.training_days, "day"),
            idle=count(rules.idle_days, "day"),
            laptop=count(rules.laptop_days, "day"),
            stock=_STOCK[rules.stock_first],
            again=count(rules.again_days, "day"),
            monitors=count(rules.most_monitors, "monitor"),
            rest=count(rules.rest_days, "day"),
            low=count(rules.low_notice_days, "day"),
            high=count(rules.high_notice_days, "day"),
            hours=count(rules.change_hours, "hour"),
        )
    )


def days_ago(today: date, days: int) -> date:
    """The day so many days before `today`."""
    return today - timedelta(days=days)


def rest_between(first: tuple[date, date], second: tuple[date, date]) -> int:
    """The days from the last day of the earlier of two shifts to the first day of the later one."""
    earlier, later = sorted((first, second))
    return (later[0] - earlier[1]).days


def is_fresh(decided: date, today: date, days: int) -> bool:
    """Whether what was decided or passed on a day still counts `days` later."""
    return (today - decided).days <= days
