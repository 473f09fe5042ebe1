"""Decisions: the expected and the actual closing of an episode's case.

Worlds that use the kit's cases close a case as "resolved", "declined" or "escalated". A rubric states its expected
decision by a criterion of that id, or by a criterion with the text "status = resolved". The journal holds the actual
decision. Where a rubric states no decision, none is guessed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import cast, get_args

from palaestra.envs.kit.cases import CaseStatus
from palaestra.records import CriterionSpec
from palaestra.trajectory import Turn

LEFT_OPEN = "left open"
"""The name of the decision where no case was closed."""
_CLOSED = tuple(status for status in cast("tuple[str, ...]", get_args(CaseStatus)) if status != "open")
_CASE_COLUMNS = frozenset({"status", "policy_id", "evidence_id"})
"""Columns that only the rows of cases have."""
_STATED = re.compile(rf"status = ({'|'.join(_CLOSED)})\b")


def expected_decision(rubric: Sequence[CriterionSpec]) -> str | None:
    """The decision that a rubric expects; several are joined by "+", and `None` means that it states none."""
    found: set[str] = set()
    for spec in rubric:
        if spec.kind == "expect":
            found.update([spec.id] if spec.id in _CLOSED else _STATED.findall(spec.text))
    return " + ".join(status for status in _CLOSED if status in found) or None


def closing_decision(turns: Sequence[Turn]) -> str:
    """The decision in an episode's journal; several are joined by "+", and "left open" means that none was made."""
    last: dict[tuple[str, str], object] = {}
    for turn in turns:
        for change in turn.changes:
            after = change.get("after")
            if isinstance(after, Mapping) and after.keys() >= _CASE_COLUMNS:
                last[str(change["table"]), str(change["key"])] = after["status"]
    return " + ".join(status for status in _CLOSED if status in last.values()) or LEFT_OPEN
