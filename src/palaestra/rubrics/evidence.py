"""The evidence that criteria read: the rows before and now, changes, calls, the answer, and the messages so far.

The agent's own texts are in the arguments of its calls. Only criteria about messages (`rubrics/messages`) read them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from palaestra.protocols import StateView
from palaestra.record import record
from palaestra.records import EndReason, JsonObject, Row, RowChange, ToolEvent

T = TypeVar("T")

WORLD = "(world)"
"""The tool of an event without a call: the world wrote by itself."""


_NOTHING: frozenset[str] = frozenset()


@record
class Guess:
    """A call that named ids that nothing had shown."""

    event: ToolEvent
    ids: frozenset[str]
    """The ids that nothing had shown."""


class Evidence:
    """The evidence of one episode so far.

    Attributes:
        initial: The rows at the beginning of the episode.
        state: The rows now.
        events: One event for every call so far.
        given: The ids that the task's messages name.
        turn_start: The number of calls that had been answered when the present turn began, which the agent could know.
        answer: The agent's answer when it finished; empty until then.
        end: Why the episode ended; `None` until then.
        opening: The contents of the task's messages.
        heard: The contents of the messages that the agent could have read: those of the task and of earlier turns.
        by_world: By table and key: the rows that the world wrote by itself, after its last write.
    """

    __slots__ = (
        "_changes",
        "_changes_at",
        "_columns",
        "_guesses",
        "_journal",
        "_kept",
        "_known",
        "_known_from",
        "_net",
        "_replayed",
        "_replayed_from",
        "_whole",
        "answer",
        "by_world",
        "end",
        "events",
        "given",
        "heard",
        "initial",
        "opening",
        "state",
        "turn_start",
    )

    def __init__(
        self,
        *,
        initial: StateView,
        state: StateView,
        journal: Callable[[], Sequence[RowChange]],
        net: Callable[[], Iterable[RowChange]],
        given: frozenset[str],
        opening: tuple[str, ...] = (),
    ) -> None:
        self.initial = initial
        self.state = state
        self.given = given
        self.opening = opening
        self.heard: list[str] = list(opening)
        self.events: list[ToolEvent] = []
        self.turn_start = 0
        self.answer: JsonObject = {}
        self.end: EndReason | None = None
        self.by_world: dict[tuple[str, str], Row | None] = {}
        self._journal = journal
        self._net = net
        self._changes: tuple[RowChange, ...] = ()
        self._changes_at = 0
        # Any: each owner knows the type of its value.
        self._kept: dict[object, Any] = {}
        # The ids that the first `_known_from` events showed, besides the given ones.
        self._known: set[str] = set(given)
        self._known_from = 0
        self._forget_look_ups()

    @property
    def event(self) -> ToolEvent:
        """The latest call."""
        return self.events[-1]

    @property
    def journal(self) -> Sequence[RowChange]:
        """Every write so far, in order."""
        return self._journal()

    @property
    def changes(self) -> tuple[RowChange, ...]:
        """The net difference between `initial` and `state`: one entry for each row that differs.

        For a row that the world wrote by itself, the state after that write counts as the initial one.
        """
        length = len(self._journal())
        if length != self._changes_at:
            self._changes = tuple(self._beside_world() if self.by_world else self._net())
            self._changes_at = length
        return self._changes

    def _beside_world(self) -> Iterator[RowChange]:
        left = dict(self.by_world)
        for change in self._net():
            before = left.pop((change.table, change.key), change.before)
            if change.after != before:
                yield replace(change, before=before)
        for (table, key), row in left.items():
            # A row that is missing from the net difference equals its initial state, whatever the world had written.
            first = None if row is None else self.initial.peek(type(row), key)
            if first != row:
                yield RowChange(table=table, key=key, before=row, after=first)

    def take_in_world_changes(self, changes: Sequence[RowChange]) -> None:
        """Record that the world made these latest changes by itself."""
        left = {(change.table, change.key): change.after for change in changes}
        self.by_world.update(left)
        length = len(self._journal())
        # If the agent's net changes are up to date and have none of these rows, they stay valid.
        apart = self._changes_at == length - len(changes) and not any((c.table, c.key) in left for c in self._changes)
        self._changes_at = length if apart else -1

    def known_ids(self) -> set[str]:
        """The ids that the agent could know in this turn: given ones, and those that results of earlier turns named.

        A call on a guessed id adds no knowledge: ids in its result do not count, so a lucky guess remains a guess.
        """
        for event in self.events[self._known_from : self.turn_start]:
            if not event.guessed and self._known.issuperset(event.named):
                self._known |= event.mentioned
        self._known_from = max(self._known_from, self.turn_start)
        return self._known

    def knew(self, event: ToolEvent) -> bool:
        """Whether the agent could know every id that a call of this turn names."""
        if event.guessed:
            return False
        return self.given.issuperset(event.named) or self.known_ids().issuperset(event.named)

    def has_shown(self, table: str, key: str, columns: AbstractSet[str]) -> bool:
        """Whether look-ups so far have together shown these columns of a row.

        A look-up by a guessed id shows nothing.
        """
        self._take_in_look_ups()
        return (table, key) in self._whole or columns <= self._columns.get((table, key), _NOTHING)

    def guesses(self) -> Sequence[Guess]:
        """The calls so far that named ids that no earlier call had shown."""
        self._take_in_look_ups()
        return self._guesses

    def _forget_look_ups(self) -> None:
        # The rows that the first `_replayed_from` events showed, and the guesses among them.
        self._replayed: set[str] = set(self.given)
        self._replayed_from = 0
        self._whole: set[tuple[str, str]] = set()
        self._columns: dict[tuple[str, str], set[str]] = {}
        self._guesses: list[Guess] = []

    def _take_in_look_ups(self) -> None:
        """Read the events since the last time. The result depends only on events, so a snapshot need not hold it."""
        for event in islice(self.events, self._replayed_from, None):
            unknown = frozenset(event.named) - self._replayed
            if event.guessed:
                unknown = unknown.union(event.guessed)
            if unknown:
                self._guesses.append(Guess(event=event, ids=unknown))
                continue
            self._replayed |= event.mentioned
            if event.written:
                continue
            self._whole.update(event.shown)
            for part in event.columns:
                for key in part.keys:
                    self._columns.setdefault((part.table, key), set()).update(part.columns)
        self._replayed_from = len(self.events)

    def memoise(self, owner: object, make: Callable[[], T]) -> T:
        """The cached result of `make` for `owner`, made on first use and again after a snapshot was restored.

        A criterion caches values derived from events and journal here, so that it reads each of them once.
        """
        if owner not in self._kept:
            self._kept[owner] = make()
        found: T = self._kept[owner]
        return found

    def went_back(self) -> None:
        """Discard everything derived from rows and events, which were restored from a snapshot."""
        self._changes = ()
        self._changes_at = -1
        self._kept = {}
        self._known, self._known_from = set(self.given), 0
        self._forget_look_ups()
        self.by_world = {}
        if any(event.tool == WORLD for event in self.events):
            written, journal = 0, self._journal()
            for event in self.events:
                if event.tool == WORLD:
                    self.take_in_world_changes(journal[written : written + event.written])
                written += event.written
