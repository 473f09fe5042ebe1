"""The facts that a run learnt before it acted, without those that it need not have read.

A look-up counts if its answer decided something: records that it was the first to show whole, or a figure, a list or an
absence that nothing read before shows. It does not count if other criteria cover it: `ungrounded` covers an id that it
was the first to name, and a figure that was computed from read records and then written is checked where it is written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from palaestra.protocols import StateView
from palaestra.records import Json, Row, ShownColumns, ToolEvent, Verdict
from palaestra.rubrics.criterion import MET, UNMET, Criterion, has_values
from palaestra.rubrics.derivation.runs import SolutionTrace, Tables, TraceStep, leaves
from palaestra.rubrics.evidence import Evidence
from palaestra.rubrics.library import GUESSED

_TELLING = ("reveal", "correct", "affirm")
"""The acts of a person who states a true fact; they are equivalent."""
_SMALL_TALK = frozenset(
    {"acknowledge", "leave", "mistake", "push", "query", "repeat", "sulk", "thanks", "unclear", "unknown"}
)
"""Sayings of a person without information to act on."""
_ASKING = ("ask", "confirm")
"""The acts of an agent that asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldWrite:
    """A write of the world itself to a row: look-ups of the row count after it, and earlier ones do not."""

    table: str
    key: str
    values: tuple[tuple[str, object], ...]
    """The columns that it changed, with their values since; empty for a new row."""

    def has_happened(self, by_world: Mapping[tuple[str, str], Row | None]) -> bool:
        """Whether the world has made this write."""
        row = by_world.get((self.table, self.key))
        return row is not None and has_values(row, self.values)

    @property
    def text(self) -> str:
        """The moment from which look-ups count, in words."""
        values = ", ".join(f"{name} = {value}" for name, value in self.values)
        return f"{self.key} had {values}" if values else f"{self.key} was there"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSource:
    """One way to learn a fact: an answer that shows rows whole, answers that show parts, or a certain call."""

    shows: frozenset[str] = frozenset()
    """The ids of rows that one answer shows whole; empty for a call."""
    parts: tuple[ShownColumns, ...] = ()
    """The columns of rows that one or several answers together show."""
    tool: str = ""
    names: frozenset[str] = frozenset()
    """Ids that the call names, perhaps among others."""
    mentions: frozenset[str] = frozenset()
    """Ids that its answer mentions, perhaps among others."""
    question: Mapping[str, Json] | None = None
    """All its other arguments; `None` for any."""
    said: frozenset[str] = frozenset()
    """The possible answers of a person, for something that they told."""
    since: tuple[WorldWrite, ...] = ()
    """The world's writes to the rows by then."""

    def had_by(self, event: ToolEvent, by_world: Mapping[tuple[str, str], Row | None]) -> bool:
        """Whether a call used this source, after these writes of the world. A call that writes is not a look-up."""
        if event.written or not event.executed or not all(write.has_happened(by_world) for write in self.since):
            return False
        if self.said:
            return not self.said.isdisjoint(event.said)
        if self.shows:
            return self.shows <= {key for _, key in event.shown}
        if self.parts:
            return all(part in event.columns for part in self.parts)
        return (
            event.tool == self.tool
            and self.names <= set(event.named)
            and self.mentions <= event.mentioned
            and (self.question is None or self.question == _question(event))
        )

    def is_completed_by(self, evidence: Evidence) -> bool:
        """Whether the latest call showed part of the rows, and look-ups so far have shown everything required."""
        event = evidence.event
        if event.written or not self.parts or not all(write.has_happened(evidence.by_world) for write in self.since):
            return False
        touched = {key for _, key in event.shown}.union(*(part.keys for part in event.columns))
        return any(not touched.isdisjoint(part.keys) for part in self.parts) and all(
            evidence.has_shown(part.table, key, frozenset(part.columns)) for part in self.parts for key in part.keys
        )

    @property
    def text(self) -> str:
        """The evidence source in a sentence."""
        if self.said:
            return f"Heard the customer's answer: {' or '.join(sorted(self.said))}."
        if self.shows:
            since = f" once {' and '.join(write.text for write in self.since)}" if self.since else ""
            return f"Looked at {' and '.join(sorted(self.shows))}{since}."
        if self.parts:
            return " ".join(f"Saw {', '.join(p.columns)} of {' and '.join(sorted(p.keys))}." for p in self.parts)
        about = [*sorted(self.names | self.mentions), *(f"{n}={v!r}" for n, v in (self.question or {}).items())]
        return f"Asked {self.tool} about {', '.join(about) or 'it'}."


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredFact:
    """A fact that had to be learnt, and the ways to do so."""

    name: str
    """The name of a criterion about it, the same in every task of a family."""
    subject: frozenset[str]
    """The ids of the rows that it is about."""
    around: frozenset[str]
    """The ids related to its subject: those that the call named, and those in the rows that it named or showed."""
    acted_on: bool
    """Whether later work names its subject."""
    computed: bool
    """Whether it is a figure that a tool computed."""
    informed: bool = False
    """Whether it was an answer to a message that needed the facts first."""
    sources: tuple[EvidenceSource, ...]

    def had_by(self, event: ToolEvent, by_world: Mapping[tuple[str, str], Row | None]) -> bool:
        """Whether a call learnt it, after these writes of the world."""
        return any(source.had_by(event, by_world) for source in self.sources)

    def learnt(self, run: SolutionTrace) -> int | None:
        """The first call of `run` that learnt it."""
        return next((i for i, step in enumerate(run.steps) if self.had_by(step.event, step.by_world)), None)

    def first_need(self, run: SolutionTrace) -> int | None:
        """The first call of `run` that needed it: the one that names its subject, or else any later one."""
        learnt = self.learnt(run)
        if learnt is None or not self.acted_on:
            return learnt
        later = range(learnt + 1, len(run.steps))
        return next((i for i in later if run.steps[i].changes and self.subject & run.steps[i].arguments()), learnt)

    def criterion(self, id: str, points: int | None, after: Sequence[str]) -> Criterion:
        """Expect that the agent learnt it, asking about ids that it knew."""

        def check(evidence: Evidence) -> Verdict:
            had = self.had_by(evidence.event, evidence.by_world)
            if not had and not any(source.is_completed_by(evidence) for source in self.sources):
                return UNMET
            return MET if evidence.knew(evidence.event) else GUESSED

        text = " Or: ".join(source.text for source in self.sources)
        return Criterion(
            id=id, text=text, check=check, points=points, layer="selection", after=tuple(after), about="event"
        )


def facts(
    runs: Sequence[SolutionTrace], given: frozenset[str], case: str | None, initial: StateView, tables: Tables
) -> list[RequiredFact]:
    """The facts that all `runs` learnt, in the order of the first; ways of only some runs become further sources."""
    found, *others = (list(_Reader(run, given, case, initial, tables).facts()) for run in runs)
    for run, theirs in zip(runs[1:], others, strict=True):
        found = list(_find_shared(found, run, theirs, runs[0]))
    return found


def _find_shared(
    found: Iterable[RequiredFact], run: SolutionTrace, theirs: Sequence[RequiredFact], first: SolutionTrace
) -> Iterator[RequiredFact]:
    """The facts of `found` that `run` learnt too, in the same way or in another way that replaces it."""
    spare = [f for f in theirs if not any(f.sources[0].had_by(step.event, step.by_world) for step in first.steps)]
    for fact in found:
        if fact.learnt(run) is not None:
            yield fact
            continue
        if instead := _instead(fact, spare):
            yield replace(fact, sources=(*fact.sources, *(s for s in instead if s not in fact.sources)))


def _instead(fact: RequiredFact, spare: Sequence[RequiredFact]) -> tuple[EvidenceSource, ...]:
    """What a run learnt instead of `fact`: about the same rows, else their kind, else computed from related ids."""
    same = (f.sources for f in spare if f.subject & fact.subject)
    alike = (f.sources for f in spare if f.name == fact.name)
    near = (f.sources[:1] for f in spare if f.computed and f.around & fact.around)
    return next(same, None) or next(alike, None) or next(near, ())


class _Reader:
    """Reads one run from its beginning, remembering what had been shown, named and written."""

    def __init__(
        self, run: SolutionTrace, given: frozenset[str], case: str | None, initial: StateView, tables: Tables
    ) -> None:
        self._run = run
        self._case = case
        self._initial = initial
        self._tables = tables
        self._shown: set[str] = set()
        self._known = set(given)
        self._written: set[str] = set()
        self._by_world: Mapping[tuple[str, str], Row] = {}

    def facts(self) -> Iterator[RequiredFact]:
        """The facts of the run, in the order in which it learnt them."""
        acts = [index for index, step in enumerate(self._run.steps) if step.spoke or step.changes]
        # Reading after the last act has no use, unless there is an answer to give, or reading is the whole task.
        last = len(self._run.steps) if self._run.answer or not acts else acts[-1]
        for index, step in enumerate(self._run.steps):
            later = self._run.steps[index + 1 :]
            self._forget_what_moved(step)
            if step.is_lookup and index < last:
                fact = self._records(step, later) if step.event.shown else self._find_told(step, later)
                if fact is not None:
                    yield fact
            elif step.spoke:
                yield from _find_heard(step)
            self._shown.update(key for _, key in step.event.shown)
            self._known |= step.event.mentioned
            self._written.update(change.key for change in step.changes)

    def _forget_what_moved(self, step: TraceStep) -> None:
        """Treat rows that the world has written since the last call as not shown."""
        moved = {key for (table, key), row in step.by_world.items() if self._by_world.get((table, key)) != row}
        self._shown -= moved
        self._written -= moved
        self._by_world = step.by_world

    def _world_writes(self, rows: frozenset[str]) -> tuple[WorldWrite, ...]:
        """The world's writes to these rows so far."""
        return tuple(
            WorldWrite(table=table, key=key, values=tuple(self._differences(row)))
            for (table, key), row in sorted(self._by_world.items(), key=lambda item: item[0])
            if key in rows
        )

    def _differences(self, row: Row) -> Iterator[tuple[str, object]]:
        """The columns of a row that differ from the episode's beginning, with their values; empty for a new row."""
        first = self._initial.peek(type(row), row.id)
        if first is not None:
            names = (f.name for f in fields(row))
            yield from ((n, getattr(row, n)) for n in names if getattr(row, n) != getattr(first, n))

    def _records(self, step: TraceStep, later: Sequence[TraceStep]) -> RequiredFact | None:
        """The rows that a look-up was the first to show; only those that later work names, if it names any."""
        new = {key: table for table, key in step.event.shown if key not in self._shown | self._written}
        new.pop(self._case or "", None)
        if not new:
            return None
        acted_on = frozenset(_later_values(later)) & new.keys()
        rows = frozenset(key for key in new if key in acted_on) or frozenset(new)
        table = next(table for key, table in new.items() if key in rows)
        return RequiredFact(
            name=f"saw-{table}",
            subject=rows,
            around=frozenset(self._link(rows)) | {*step.event.named},
            acted_on=bool(acted_on),
            computed=False,
            sources=(EvidenceSource(shows=rows, parts=self._all_columns(rows), since=self._world_writes(rows)),),
        )

    def _find_told(self, step: TraceStep, later: Sequence[TraceStep]) -> RequiredFact | None:
        """The fact that a look-up shows without a row: a figure, a list, or an absence."""
        event = step.event
        news = event.mentioned - self._known
        if news and any(news & set(d.event.named) for d in later):
            return None  # `ungrounded` covers it
        named, mentioned = set(event.named) - self._shown, set(event.mentioned) - self._shown
        values = frozenset(leaves(step.said))
        if values and not named and not mentioned and values & _later_values(later):
            return None  # the write's own criterion covers it
        subject = frozenset((mentioned & self._known) or mentioned or named or self._link(event.named) - self._shown)
        if values and not subject:
            return None  # it can be computed from what was read
        listed = frozenset(event.mentioned & self._known)
        asked = EvidenceSource(
            tool=event.tool,
            names=frozenset(event.named),
            mentions=listed,
            question=None if listed else _question(event),
        )
        whole: tuple[EvidenceSource, ...] = ()
        if values and len(subject) == 1:
            whole = (EvidenceSource(shows=subject, parts=self._all_columns(subject)),)
        if listed and (parts := _parts_of(event, listed)):
            whole = (*whole, EvidenceSource(parts=parts))
        return RequiredFact(
            name=f"asked-{event.tool}",
            subject=subject,
            around=frozenset(self._link(event.named)) | {*event.named},
            acted_on=False,
            computed=not event.mentioned and bool(values),
            sources=(asked, *whole),
        )

    def _all_columns(self, keys: frozenset[str]) -> tuple[ShownColumns, ...]:
        """These rows with all their columns; empty if one of them does not exist at the beginning of the episode."""
        found = [(key, row) for key in sorted(keys) if (row := self._row(key)) is not None]
        if len(found) < len(keys):
            return ()
        return tuple(
            ShownColumns(table=row.table, keys=(key,), columns=tuple(f.name for f in fields(row) if f.name != "id"))
            for key, row in found
        )

    def _row(self, key: str) -> Row | None:
        return next((row for t in self._tables.values() if (row := self._initial.peek(t.kind, key)) is not None), None)

    def _link(self, keys: Iterable[str]) -> set[str]:
        """The ids in these rows."""
        rows = [row for key in keys for t in self._tables.values() if (row := self._initial.peek(t.kind, key))]
        held = (getattr(row, column) for row in rows for column in self._tables[row.table].references)
        return {value for value in held if value is not None}


def _find_heard(step: TraceStep) -> Iterator[RequiredFact]:
    """The answers of a person that hold information."""
    for said in step.event.said:
        kind, _, topic = said.partition(":")
        if kind not in _SMALL_TALK:
            options = frozenset(f"{k}:{topic}" for k in _TELLING) if kind in _TELLING else frozenset({said})
            yield RequiredFact(
                name=f"heard-{said.replace(':', '-')}",
                subject=frozenset(),
                around=frozenset(),
                acted_on=False,
                computed=False,
                informed=not any(act.startswith(_ASKING) for act in step.event.acts),
                sources=(EvidenceSource(said=options),),
            )


def _parts_of(event: ToolEvent, keys: frozenset[str]) -> tuple[ShownColumns, ...]:
    """The columns that an answer shows of these rows; empty if it only names one of them."""
    kept = (replace(part, keys=tuple(key for key in part.keys if key in keys)) for part in event.columns)
    parts = tuple(part for part in kept if part.keys)
    return parts if keys <= frozenset[str]().union(*(part.keys for part in parts)) else ()


def _later_values(later: Sequence[TraceStep]) -> frozenset[Json]:
    """The values that later writes are made with."""
    return frozenset[Json]().union(*(step.arguments() for step in later if step.changes))


def _question(event: ToolEvent) -> dict[str, Json]:
    """The arguments of a call that name no row; with the ids, they are the question."""
    named = set(event.named)
    given = {name: value for name, value in event.arguments.items() if value is not None}
    return {name: value for name, value in given.items() if not {*leaves(value)} or not {*leaves(value)} <= named}
