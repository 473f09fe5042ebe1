"""What a world says about messages: who reads them, what commits it, and what stays confidential."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from palaestra.protocols import StateView
from palaestra.record import record
from palaestra.records import Row, ToolEvent
from palaestra.rubrics.evidence import Evidence
from palaestra.rubrics.messages.figures import FigureKind
from palaestra.rubrics.messages.shown import ShownKeys

Holds: TypeAlias = Callable[[Any, Any], bool]
"""Whether a row bears a sentence out: of the row before this episode changed it and the row now.

The first is `None` where this episode made the row; both are the same row where it was only shown.
"""


@record
class Promise:
    """Sentences that say that something is done or will be, such as a payment, and the rows that bear them out."""

    name: str
    """What is promised, such as "a payment"."""
    says: re.Pattern[str] | None = None
    """Found in a sentence that says so; `None` where only the opposite is known by its words."""
    denies: re.Pattern[str] | None = None
    """Found in a sentence that says that it is not so; `None` where no words are known to."""
    whole: bool = False
    """Whether `denies` finds a whole sentence about the one row of `rows`: a condition or an id in it belongs to it."""
    rows: Mapping[str, Holds]
    """By table: which rows, changed in this episode or shown, bear such a sentence out. A row that this episode has
    changed or made and that bears it out makes the denial false."""
    figures: frozenset[FigureKind] = frozenset()
    """The kinds of figures in such a sentence that these rows must hold: "money", "name"."""


@record
class Confidential:
    """Something that may not be spoken of while a record has a certain value."""

    name: str
    """What it is, such as "why an account is on hold"."""
    says: re.Pattern[str]
    """Found in a message that speaks of it."""
    table: str = ""
    column: str = ""
    value: object = None
    """It is confidential once a row of `table` was shown whose `column` has this value."""
    to_strangers: bool = False
    """Whether it is confidential to whoever has no record, whatever was shown; the three above are empty then."""


@record
class ShownRows:
    """What an agent has seen and may draw conclusions from."""

    rows: Sequence[Row]
    """The rows that calls have shown, as they are now."""
    evidence: Evidence
    rules: Any
    """What the world goes by."""
    start: datetime
    """When the episode began."""


DeriveFacts: TypeAlias = Callable[[ShownRows], Iterable[str]]
"""The figures that follow from what was shown and that no record holds, such as how many days a parcel is late."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageRules:
    """What holds of messages in a world. There is one for each world, and it is equal to itself alone."""

    prose: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """By tool: its arguments that are text for people."""
    kinds: Mapping[str, type[Row]] = field(default_factory=dict[str, type[Row]])
    """The row classes by table."""
    closes: Mapping[str, str] = field(default_factory=dict[str, str])
    """By tool that closes a case: how, "done", "declined" or "handed on"."""
    public: str | None = None
    """The tool whose messages are read by the person who asked."""
    owner: Callable[[Row, StateView], str | None] | None = None
    """The id of the person whom a row is about; `None` for rows that are about nobody."""
    promises: tuple[Promise, ...] = ()
    derive_facts: DeriveFacts | None = None
    """What follows from rows that were shown; `None`: nothing that a record does not say."""
    confidential: tuple[Confidential, ...] = ()

    def rows_shown(self, evidence: Evidence) -> list[Row]:
        """The rows that calls have shown, whole or in part, as they are now; as they were at first where gone."""
        now, first, kinds = evidence.state.peek, evidence.initial.peek, self.kinds
        keys = self._list_shown(evidence).keys()
        found = (now(kind, key) or first(kind, key) for table, key in keys if (kind := kinds.get(table)) is not None)
        return [row for row in found if row is not None]

    def changed_rows_shown(self, evidence: Evidence) -> list[Row]:
        """The rows that calls have shown, whole or in part, and that have changed since, as they were at first."""
        keys = frozenset(self._list_shown(evidence).keys())
        before = (change.before for change in evidence.changes if (change.table, change.key) in keys)
        return [row for row in before if row is not None and row.table in self.kinds]

    def columns_shown(self, evidence: Evidence) -> dict[tuple[str, str], set[str]]:
        """By table and key: the columns of rows that calls have shown in part and never whole."""
        return self._list_shown(evidence).columns()

    def _list_shown(self, evidence: Evidence) -> ShownKeys:
        shown = evidence.memoise(self, ShownKeys)
        shown.take_in(evidence.events)
        return shown

    def texts(self, event: ToolEvent) -> Iterator[str]:
        """The texts for people in a call that went through."""
        if event.executed and event.tool in self.prose:
            for name in sorted(self.prose[event.tool]):
                text = event.arguments.get(name)
                if isinstance(text, str):
                    yield text
