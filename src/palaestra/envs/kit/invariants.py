"""Rules that rows must keep: what every world has, and how a world states its own.

A rule takes what it reads the rows by, and yields a sentence for each row that breaks it; the sentence names the row.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeAlias, TypeVar, cast

from palaestra.envs.kit.cases import CaseRow, CaseType
from palaestra.envs.state import Schema
from palaestra.protocols import StateView

B = TypeVar("B")

Rule: TypeAlias = Callable[[B], Iterable[str]]
"""Yields one sentence for each row that breaks it."""


def broken_rules(rules: Iterable[Rule[B]], read: B) -> list[str]:
    """A sentence for each breach of any of the rules."""
    return list(chain.from_iterable(rule(read) for rule in rules))


def references_are_whole(state: StateView, schema: Schema) -> Iterator[str]:
    """Every id that a row holds names a row."""
    for info in schema:
        pointers = [(name, info.columns[name].references) for name in info.references]
        for row in state.find(info.kind):
            for name, table in pointers:
                value = getattr(row, name)
                if value is not None and state.peek(schema[table or ""].kind, value) is None:
                    yield f"{row.id}: {name} is {value!r}, which {table} has not"


def cases_name_their_policy_and_evidence(
    state: StateView, cases: CaseType, exists: Callable[[str], bool] | None = None
) -> Iterator[str]:
    """A case that was declined or escalated names a section and a record; no other case does.

    Args:
        state: The rows.
        cases: The world's cases.
        exists: Whether a record has an id; `None`: a row of the classes that may be evidence.
    """

    def is_record(key: str) -> bool:
        return any(state.peek(kind, key) is not None for kind in cases.evidence)

    for row in state.find(cases.kind):
        case = cast("CaseRow", row)
        grounds = (case.policy_id is not None, case.evidence_id is not None)
        needed = case.status in {"declined", "escalated"}
        if grounds != (needed, needed):
            yield f"{row.id}: is {case.status}, with grounds {case.policy_id}, {case.evidence_id}"
        if case.evidence_id is not None and not (exists or is_record)(case.evidence_id):
            yield f"{row.id}: its evidence {case.evidence_id} is no record"
