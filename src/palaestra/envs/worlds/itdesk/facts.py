"""What messages may state beside what stands in records: spans and days that follow from a record and a rule."""

from collections.abc import Iterator
from datetime import date, timedelta

from palaestra.envs.worlds.itdesk.policy import DeskRules
from palaestra.envs.worlds.itdesk.schema import (
    AccessApproval,
    AccessGrant,
    ChangeFreeze,
    LicenceAssignment,
    ManagedDevice,
    OnCallShift,
    StaffMember,
    SystemChange,
    TrainingRecord,
)
from palaestra.records import Row
from palaestra.rubrics.messages import ShownRows


def derive_facts(shown: ShownRows) -> Iterator[str]:
    """The days and spans that follow from the rows that an agent was shown, as it would write them."""
    rules: DeskRules = shown.rules
    today = shown.start.date()
    yield today.isoformat()
    for row in shown.rows:
        for day, until in _days_of(row, rules):
            yield f"{abs((today - day).days)} days"
            yield day.isoformat()
            yield str(day + timedelta(days=until))
            yield str(day + timedelta(days=until + 1))


def _days_of(row: Row, rules: DeskRules) -> Iterator[tuple[date, int]]:
    """The days of a row, each with how many days of a rule count from it."""
    match row:
        case StaffMember():
            yield row.starts, -rules.joiner_days
            if row.moved is not None:
                yield row.moved, rules.overlap_days
            if row.ends is not None:
                yield row.ends, rules.grace_days
        case AccessApproval():
            yield row.decided, rules.approval_days
        case AccessGrant():
            yield row.granted, rules.extension_days
            if row.until is not None:
                yield row.until, 0
        case TrainingRecord():
            yield row.passed, rules.training_days
        case ManagedDevice():
            yield row.bought, rules.laptop_days
        case LicenceAssignment():
            yield row.last_used, rules.idle_days
        case OnCallShift():
            yield row.first, -rules.rest_days
            yield row.last, rules.rest_days
        case ChangeFreeze():
            yield row.first, 0
            yield row.last, 0
        case SystemChange() if row.day is not None:
            yield row.day, 0
        case _:
            return
