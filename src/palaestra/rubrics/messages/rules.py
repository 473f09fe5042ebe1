"""A world's rules for messages: who reads them, what is a commitment, and what stays confidential."""

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
"""Whether a row confirms a sentence, given the row before this episode changed it and the row now.

The first is `None` if this episode made the row; both are the same if it was only shown.
"""


@record
class Promise:
    """Sentences that say that something is or will be done, such as a payment, and the rows that confirm them."""

    name: str
    """The subject of the promise, such as "a payment"."""
    says: re.Pattern[str] | None = None
    """A pattern of sentences that say so; `None` if only denials can be recognised by their words."""
    denies: re.Pattern[str] | None = None
    """A pattern of sentences that deny it; `None` if denials cannot be recognised by their words."""
    whole: bool = False
    """Whether `denies` matches a whole sentence about the one row of `rows`, including any condition or id in it."""
    rows: Mapping[str, Holds]
    """By table: which rows, changed in this episode or shown, confirm such a sentence. If this episode has changed or
    made a row that confirms it, the denial is false."""
    figures: frozenset[FigureKind] = frozenset()
    """The kinds of figures in such a sentence that these rows must hold: "money", "name"."""


@record
class Confidential:
    """Something that may not be mentioned while a record has a certain value."""

    name: str
    """The subject, such as "why an account is on hold"."""
    says: re.Pattern[str]
    """A pattern of messages that mention it."""
    table: str = ""
    column: str = ""
    value: object = None
    """It is confidential once a row of `table` was shown whose `column` has this value."""
    to_strangers: bool = False
    """Whether it is confidential for people without a record, whatever was shown; the three above are empty then."""


@record
class ShownRows:
    """What an agent has seen, from which it may draw conclusions."""

    rows: Sequence[Row]
    """The rows that calls have shown, in their present state."""
    evidence: Evidence
    rules: Any
    """The world's rules."""
    start: datetime
    """When the episode began."""


DeriveFacts: TypeAlias = Callable[[ShownRows], Iterable[str]]
"""Returns figures that follow from shown rows but are in no record, such as how many days a parcel is late."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageRules:
    """The rules for messages in a world. Each world has one instance, which is equal only to itself."""

    prose: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """By tool: its arguments that are text for people."""
    kinds: Mapping[str, type[Row]] = field(default_factory=dict[str, type[Row]])
    """The row classes by table."""
    closes: Mapping[str, str] = field(default_factory=dict[str, str])
    """By tool that closes a case: the way, "done", "declined" or "handed on"."""
    public: str | None = None
    """The tool whose messages the requester reads."""
    owner: Callable[[Row, StateView], str | None] | None = None
    """Returns the id of the person that a row is about; `None` for rows about nobody."""
    promises: tuple[Promise, ...] = ()
    derive_facts: DeriveFacts | None = None
    """Derives facts from shown rows; `None`: no facts beyond the records."""
    confidential: tuple[Confidential, ...] = ()

    def rows_shown(self, evidence: Evidence) -> list[Row]:
        """The rows that calls have shown, whole or in part, in their present state, or the first state if deleted."""
        now, first, kinds = evidence.state.peek, evidence.initial.peek, self.kinds
        keys = self._list_shown(evidence).keys()
        found = (now(kind, key) or first(kind, key) for table, key in keys if (kind := kinds.get(table)) is not None)
        return [row for row in found if row is not None]

    def changed_rows_shown(self, evidence: Evidence) -> list[Row]:
        """The rows that calls have shown, whole or in part, and that have changed since, in their first state."""
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
        """The texts for people in a successful call."""
        if event.executed and event.tool in self.prose:
            for name in sorted(self.prose[event.tool]):
                text = event.arguments.get(name)
                if isinstance(text, str):
                    yield text
