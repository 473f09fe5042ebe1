"""Data for noise that every world of cases has: other words, lists that lag, cases that come in, notes of the past."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from palaestra.envs.kit.cases import CaseType
from palaestra.envs.noise.material import Contradiction, Injection, Listing, NoiseMaterial, WorldEvent
from palaestra.protocols import State
from palaestra.records import Row
from palaestra.seeding import Stream

DESK_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "approval": ("consent", "clearance", "go_ahead"),
    "claim": ("case_of_fault", "warranty_case", "complaint"),
    "claims": ("fault_cases", "warranty_cases", "complaints"),
    "employees": ("colleagues", "staff", "coworkers"),
    "fee": ("charge", "deduction", "levy"),
    "handbook": ("manual", "rule_book", "guidelines"),
    "payment": ("charge", "transaction", "debit"),
    "payments": ("charges", "transactions", "debits"),
    "section": ("paragraph", "chapter", "article_of_rules"),
}
"""Other words for what most desks have."""


def case_noise(
    cases: CaseType,
    *,
    subjects: Sequence[str],
    synonyms: Mapping[str, tuple[str, ...]],
    texts: Mapping[str, tuple[str, ...]] | None = None,
    injections: tuple[Injection, ...] = (),
    listings: Mapping[str, Listing[Any]] | None = None,
    events: tuple[WorldEvent[Any], ...] = (),
    contradictions: tuple[Contradiction[Any], ...] = (),
) -> NoiseMaterial:
    """What a world of cases hands to its noise, beside what its cases give by themselves.

    Lists of cases lag, instructions hide in the subjects of cases, and further cases come in.

    Args:
        cases: The world's cases.
        subjects: What further cases are about.
        synonyms: Other words, beside `DESK_SYNONYMS`.
        texts: By table: further columns that hold what outsiders wrote.
        injections: Instructions that ask for the world's own tools.
        listings: By tool: further lists that may be stale.
        events: What else happens by itself.
        contradictions: Notes that contradict records, such as `note_about` makes.
    """
    table = cases.kind.table
    wrote_in: WorldEvent[Any] = WorldEvent(
        name="wrote-in", kind=cases.requester, where=_anyone, move=partial(_write_in, cases, tuple(subjects))
    )
    return NoiseMaterial(
        synonyms={**DESK_SYNONYMS, **synonyms},
        texts={table: ("subject",), **(texts or {})},
        injections=injections,
        listings={f"search_{table}": Listing(kind=cases.kind, earlier={"status": _as_it_came}), **(listings or {})},
        events=(*events, wrote_in),
        contradictions=contradictions,
        owners=(cases.requester.table,),
    )


def note_about(
    cases: CaseType,
    kind: type[Any],
    says: Callable[[Any, Stream], str],
    *,
    whose: Callable[[State, Any], Row] | None = None,
    since: str = "",
) -> Contradiction[Any]:
    """A settled case of the past whose subject says something else than a record.

    Args:
        cases: The world's cases.
        kind: The class of the record.
        says: The subject, for a record.
        whose: Whose case it is; `None`: the record is the requester's own.
        since: The column of the requester that holds the first day on which they can have written; empty: always.
    """

    def plant(state: State, row: Any, stream: Stream, start: datetime) -> None:
        subject = says(row, stream)
        owner = row if whose is None else whose(state, row)
        _plant_note(state, cases, owner, subject, stream, start, getattr(owner, since) if since else date.min)

    return Contradiction(kind=kind, where=_anyone, plant=plant)


def _plant_note(
    state: State, cases: CaseType, owner: Row, subject: str, stream: Stream, start: datetime, since: date
) -> None:
    days = min(stream.between(2, 25), max(0, (start.date() - since).days - 1))
    opened = start - timedelta(days=days, minutes=stream.between(1, 300))
    key = state.next_id(cases.kind)
    state.insert(cases.new(key, owner.id, subject, opened, status="resolved", priority="low"))


def _write_in(
    cases: CaseType, subjects: tuple[str, ...], state: State, requester: Row, stream: Stream, now: datetime
) -> None:
    """Somebody opens a case."""
    subject = stream.choice(subjects)
    state.insert(cases.new(state.next_id(cases.kind), requester.id, subject, now))


def _as_it_came(_case: Row, _stream: Stream) -> str:
    return "open"


def _anyone(_row: Row) -> bool:
    return True
