"""What messages may state beside what stands in records: days on which periods of the handbook end."""

from collections.abc import Iterator
from datetime import timedelta

from palaestra.envs.worlds.insurer.rules import InsurerRules
from palaestra.envs.worlds.insurer.schema import Claim, ClaimDocument, Cover
from palaestra.rubrics.messages import ShownRows


def derive_facts(shown: ShownRows) -> Iterator[str]:
    """The days that follow from the rows that an agent was shown, as it would write them."""
    rules: InsurerRules = shown.rules
    yield shown.start.date().isoformat()
    for row in shown.rows:
        if isinstance(row, Claim):
            yield str(row.loss_day + timedelta(days=rules.report_days))
            yield str(row.loss_day + timedelta(days=rules.theft_days))
            yield str(row.loss_day + timedelta(days=rules.recovery_days))
        elif isinstance(row, Cover):
            yield str(row.began + timedelta(days=rules.waiting_days))
        elif isinstance(row, ClaimDocument):
            yield str(row.dated + timedelta(days=rules.police_days))
