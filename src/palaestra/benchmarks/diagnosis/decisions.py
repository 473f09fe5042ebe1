"""Decisions: how the case of an episode should have closed, and how it closed.

Worlds that use the kit's cases close a case as "resolved", "declined" or "escalated". A rubric says which one it
expects by a criterion of that id, or by one that states "status = resolved". The journal says which one was written.
Where a rubric states no decision, none is guessed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import cast, get_args

from palaestra.envs.kit.cases import CaseStatus
from palaestra.records import CriterionSpec
from palaestra.trajectory import Turn

LEFT_OPEN = "left open"
"""How a case closed that nobody closed."""
_CLOSED = tuple(status for status in cast("tuple[str, ...]", get_args(CaseStatus)) if status != "open")
_CASE_COLUMNS = frozenset({"status", "policy_id", "evidence_id"})
"""Columns of a case, and of no other row."""
_STATED = re.compile(rf"status = ({'|'.join(_CLOSED)})\b")


def expected_decision(rubric: Sequence[CriterionSpec]) -> str | None:
    """How a case should close, by a rubric; several ways are joined by "+", `None` where it states none."""
    found: set[str] = set()
    for spec in rubric:
        if spec.kind == "expect":
            found.update([spec.id] if spec.id in _CLOSED else _STATED.findall(spec.text))
    return " + ".join(status for status in _CLOSED if status in found) or None


def closing_decision(turns: Sequence[Turn]) -> str:
    """How an episode's cases closed, by its journal; several ways are joined by "+", "left open" where none did."""
    last: dict[tuple[str, str], object] = {}
    for turn in turns:
        for change in turn.changes:
            after = change.get("after")
            if isinstance(after, Mapping) and after.keys() >= _CASE_COLUMNS:
                last[str(change["table"]), str(change["key"])] = after["status"]
    return " + ".join(status for status in _CLOSED if status in last.values()) or LEFT_OPEN
