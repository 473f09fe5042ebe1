"""A task, and the family that it is an instance of: what an author writes.

A family is a function from a `Draft` (a fresh world with a random stream) to a `Task`; `@family(...)` names it. The
same family is instantiated for as many indices as wanted. Which split an index belongs to, and so which world it is
set in, follows from the index alone.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

from palaestra.envs.later import LaterEvent
from palaestra.envs.state import Base, Overlay
from palaestra.envs.user.persona import Persona
from palaestra.errors import DrawError, TaskError
from palaestra.protocols import R
from palaestra.records import Json, Row, ToolCall
from palaestra.rubrics import Allowance, Criterion
from palaestra.rubrics.messages import Recipient
from palaestra.seeding import Stream
from palaestra.tools.context import state_beside

Split: TypeAlias = Literal["train", "dev", "heldout", "heldout-policy", "heldout-records"]
SPLITS: tuple[Split, ...] = ("train", "dev", "heldout", "heldout-policy", "heldout-records")
"""In "heldout-policy" the worlds are new and go by rules that no other split has. In "heldout-records" the worlds and
their records alone are new; families and wordings are those of "train"."""
FIRST_INDEX: dict[Split, int] = {
    "train": 0,
    "dev": 5_000,
    "heldout": 7_000,
    "heldout-policy": 8_500,
    "heldout-records": 9_300,
}
"""The index at which each split begins; it ends where the next one begins."""
LAST_INDEX = 9_999

Deals: TypeAlias = dict[bool, Sequence[Row]]
"""The rows that a first pick deals out, for a family and for its twin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """A row that was picked."""

    table: str
    key: str
    among: int
    """How many rows fitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDraw:
    """How a task was drawn, so that its rule twin can be drawn alike: the same rows under other rules."""

    rules: Any
    """The rules by which its rows were chosen and planted."""
    picks: tuple[Pick, ...]
    """In order."""


TRAITS: dict[str, str] = {
    "answer": "it asks for values in the answer",
    "arithmetic": "an amount has to be worked out",
    "dialogue": "the user answers",
    "lookup": "nothing is to be changed",
    "multi-hop": "a record has to be found by way of another",
    "policy-exception": "an exception to a rule decides",
    "refusal": "the request must be refused",
    "twin": "it is the refusal twin of another family",
    "write": "rows are to be changed",
}
"""The traits that families of every world may state; a world's manifest adds its own."""

TWIN = "-twin"
"""What the id of a family of refusal twins ends with."""

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*")


def call(tool: str, /, *nameless: object, **arguments: Json) -> ToolCall:
    """A call, as oracles are written.

    Raises:
        TaskError: an argument has no name.
    """
    if nameless:
        raise TaskError(
            f"call({tool!r}): {nameless[0]!r} has no name; name each argument, as in order_id={nameless[0]!r}"
        )
    return ToolCall(tool=tool, arguments=arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What an author states about one task."""

    prompt: str
    """What the user says."""
    rubric: Sequence[Criterion] | None = None
    """What an expert would check; left out, it is derived from `oracle` and `alternatives`. Guards against other
    changes and guessed ids are added to every task."""
    oracle: Sequence[ToolCall]
    """Calls that solve it."""
    allow: Sequence[Allowance] = ()
    """Changes permitted beside those that the rubric expects."""
    alternatives: Sequence[Sequence[ToolCall]] = ()
    """Other right ways to solve it; the proof holds the rubric to accepting them."""
    user: Persona | None = None
    """Who answers when they are written to; `None`: they read and do not answer."""
    later: Sequence[LaterEvent] = ()
    """What happens on later days, in order; it is for agents that wait."""
    max_turns: int = 30


S = TypeVar("S")


class Draft:
    """A world in which a task is being set: its rows to choose from and plant in, and randomness to choose by.

    Attributes:
        state: The world's rows; what is written here is there before the episode begins.
        start: When the episode begins.
        rules: What the world goes by, such as a company's policy; the world's own type.
        planting_rules: What rows are planted by. They are `rules`, but in a rule twin: there, rows are planted as in
            the task that it is the twin of, and decided about by `rules`.
        answer: What is right under any rules, for rows that may not fit; the solution of a rule twin.
        split: The split that the task belongs to. It decides the wording of a request, and nothing else.
        twin: Whether the refusal twin is asked for: the same draws and so the same request, in a world changed so
            that the right answer is to refuse it.
        place: Its place among the family's instances of the split, from 0.
    """

    def __init__(
        self,
        *,
        state: Overlay,
        start: datetime,
        family_stream: Stream,
        ordinal: int,
        rules: Any = None,
        split: Split = "train",
        twin: bool = False,
        deals: Deals | None = None,
        drawing: TaskDraw | None = None,
        own_rules: Any = None,
        place: int = 0,
    ) -> None:
        self.state = state
        self.start = start
        self.rules = rules
        self.planting_rules = rules if drawing is None else drawing.rules
        self.split: Split = split
        self.twin = twin
        self.place = place
        self._stream = family_stream.split("instance", ordinal)
        self._drawn_from = False
        self._family_stream = family_stream
        self._ordinal = ordinal
        self._deals: Deals = {} if deals is None else deals
        self._own_rules = own_rules
        self._again = None if drawing is None else drawing.picks
        self.answer: Callable[[], Sequence[ToolCall]] | None = None
        self._picks: list[Pick] = []

    @property
    def drawing(self) -> TaskDraw:
        """How the task was drawn, once it was."""
        return TaskDraw(rules=self.planting_rules, picks=tuple(self._picks))

    @property
    def is_rule_twin(self) -> bool:
        """Whether what is made is a rule twin, whose solution is `answer` where the function gives one."""
        return self._again is not None

    @property
    def stream(self) -> Stream:
        """This instance's randomness."""
        self._drawn_from = True
        return self._stream

    @property
    def today(self) -> date:
        """The day on which the episode begins."""
        return self.start.date()

    @classmethod
    def grounds(cls) -> Mapping[str, frozenset[str]]:
        """By table of cases: the columns that state on what grounds a case was closed; none in a world without cases.

        Rubrics grade harm that is confined to them, or to such a table, lower than other harm.
        """
        return {}

    @classmethod
    def person(cls) -> type[Row] | None:
        """The class of those who ask, whose records are told to nobody else; `None` where no record is private."""
        return None

    def recipient(self) -> Recipient | None:
        """Who reads the messages of this task, once it is made; `None` where they may be told anything."""
        return None

    def beside(self, kind: type[S], name: str) -> S:
        """The state of that name beside the rows; what is written to it is there before the episode begins.

        Raises:
            UnknownNameError: the world has none of that name and class.
        """
        return state_beside(self.state.states, kind, name)

    def pick(
        self,
        kind: type[R],
        where: Callable[[R], bool] = lambda _: True,
        *,
        what: str = "",
        decides: bool = False,
    ) -> R:
        """A row of `kind` for which `where` holds.

        The first pick of an instance deals the fitting rows out, so that instances in one world do not repeat each
        other until all are used; later picks are independent. A rule twin picks what its task picked.

        Args:
            kind: The class of the row.
            where: Which rows fit.
            what: What is looked for, for the message where there is none.
            decides: Whether the function can `answer` for rows that do not fit. Then, under changed rules, rows are
                picked that do not fit under the world's own, if there are any; and a rule twin takes any.

        Raises:
            DrawError: no row fits, or the one that is picked again does not.
            TaskError: `kind` is no class of rows.
        """
        if not _is_rows(kind):
            raise TaskError(f"pick: {kind!r} is no class of rows; name one, as in desk.pick(Order)")
        if self._again is None:
            rows = self._fitting_now(kind, where, what, decides=decides)
            pick = Pick(table=kind.table, key=rows[self._place(len(rows))].id, among=len(rows))
        else:
            pick = self._next_again(kind, self._again)
            self._place(pick.among)
        row = self.state.get(kind, pick.key)
        if not (self._again is None or decides or where(row)):
            raise DrawError(f"{row.id} is no {what or f'fitting row of {kind.table}'} under other rules")
        self._picks.append(pick)
        return row

    def _fitting_now(self, kind: type[R], where: Callable[[R], bool], what: str, *, decides: bool) -> Sequence[R]:
        if self._picks:
            return self._fitting(kind, where, what, decides=decides)
        return self._deal(kind, where, what, decides=decides)

    def _place(self, among: int) -> int:
        """Which of so many fitting rows is picked; a rule twin draws it too, to draw the rest alike."""
        return self._stream.below(among) if self._picks else self._ordinal % among

    def _next_again(self, kind: type[R], picks: Sequence[Pick]) -> Pick:
        """What the task picked in this place."""
        place = len(self._picks)
        if place >= len(picks) or picks[place].table != kind.table:
            raise DrawError(f"pick {place + 1} is another one under other rules; draw before the rules decide")
        return picks[place]

    def _deal(self, kind: type[R], where: Callable[[R], bool], what: str, *, decides: bool) -> Sequence[R]:
        """The fitting rows in the order in which they are dealt out.

        Nothing tells instances of one world apart until one draws or plants, so up to then they share the deal.
        """
        shared = not self._drawn_from and not self.state.journal
        if shared and self.twin in self._deals:
            return cast("Sequence[R]", self._deals[self.twin])
        rows = self._family_stream.split("deal").permutation(self._fitting(kind, where, what, decides=decides))
        if shared:
            self._deals[self.twin] = rows
        return rows

    def _fitting(self, kind: type[R], where: Callable[[R], bool], what: str, *, decides: bool) -> list[R]:
        rows = [row for row in self.state.find(kind) if where(row)]
        if decides and self._own_rules is not None and self.rules != self._own_rules:
            rows = self._change(rows, where) or rows
        if not rows:
            raise DrawError(f"the world has no {what or f'row of {kind.table} that fits'}; ask for less, or plant it")
        return rows

    def _change(self, rows: Sequence[R], where: Callable[[R], bool]) -> list[R]:
        """The rows that do not fit under the world's own rules."""
        rules, self.rules = self.rules, self._own_rules
        try:
            return [row for row in rows if not where(row)]
        finally:
            self.rules = rules


def _is_rows(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Row)


D = TypeVar("D", bound=Draft)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family(Generic[D]):
    """A named way to make tasks of one world."""

    id: str
    """`world/family`, such as "storefront/cancel-order"."""
    level: int
    """Difficulty: 1 (a lookup or one write), 2 (a decision), 3 (several hops and a decision)."""
    traits: tuple[str, ...]
    splits: tuple[Split, ...]
    make: Callable[[D], Task]
    source: str
    """File and line, for error messages."""
    twin: bool = False
    """Whether `make` can set the refusal twin of a task as well."""
    no_twin: str = ""
    """Why it needs no refusal twin, in its author's words; empty where it has one or should."""
    twin_of: str | None = None
    """The family whose refusal twins these are."""
    deals: WeakKeyDictionary[Base, Deals] = field(
        default_factory=WeakKeyDictionary[Base, Deals], compare=False, repr=False
    )
    """For each populated world: what the first pick deals out there."""

    def twins(self) -> "Family[D]":
        """The family of this family's refusal twins."""
        traits = tuple(dict.fromkeys((*self.traits, "refusal", "twin")))
        return replace(self, id=f"{self.id}{TWIN}", traits=traits, twin=False, no_twin="", twin_of=self.id)

    @property
    def world(self) -> str:
        """The name of the world that it is set in."""
        return self.id.partition("/")[0]

    @property
    def unseen(self) -> bool:
        """Whether it occurs in held-out splits alone: nothing learns from it, and no run is watched on it."""
        return {"train", "dev"}.isdisjoint(self.splits) and "heldout" in self.splits

    @property
    def name(self) -> str:
        """The name of the family within its world."""
        return self.id.partition("/")[2]


def family(
    id: str,
    *,
    level: int,
    traits: tuple[str, ...] = (),
    splits: tuple[Split, ...] = SPLITS,
    twin: bool = False,
    no_twin: str | None = None,
) -> "Callable[[Callable[[Any], Task]], Family[Any]]":
    """Make a family of a function that takes a draft of its world and returns a `Task`.

    Args:
        id: `world/family` in lower case with hyphens; an instance adds its index.
        level: Difficulty, 1 to 3.
        traits: What it turns on, such as "policy-exception", "multi-hop", "refusal".
        splits: Where it occurs; a family only in "heldout" is unseen in training.
        twin: Whether the function asks `desk.twin` and then sets a task in which the same request must be refused.
        no_twin: Why the family needs no twin; the proof reports it and asks for none.

    Raises:
        TaskError: the id, the level or a split is not of that form, or `no_twin` says nothing or is beside a twin.
    """

    def make(function: Callable[[Any], Task]) -> Family[Any]:
        source = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        if not _ID.fullmatch(id):
            raise TaskError(f"{source}: family id {id!r}; write `world/family` in lower case with hyphens")
        if level not in (1, 2, 3):
            raise TaskError(f"{source}: {id}: level {level}; levels are 1, 2 and 3")
        if _is_text(splits) or not splits or not set(splits) <= set(SPLITS):
            raise TaskError(f"{source}: {id}: splits {splits!r}; there are {', '.join(SPLITS)}, in a tuple")
        if _is_text(traits):
            raise TaskError(f"{source}: {id}: traits {traits!r}; write a tuple, as in ({traits!r},)")
        if function.__code__.co_argcount != 1:
            raise TaskError(
                f"{source}: {id}: {function.__name__} takes {function.__code__.co_argcount} arguments; "
                f"a family takes one, as in def {function.__name__}(desk: Desk)"
            )
        if no_twin is not None and (twin or not no_twin.strip()):
            raise TaskError(
                f"{source}: {id}: no_twin={no_twin!r}, twin={twin}; say in words why the family needs no refusal "
                "twin, and only where it has none"
            )
        return Family(
            id=id,
            level=level,
            traits=traits,
            splits=splits,
            make=function,
            source=source,
            twin=twin,
            no_twin=no_twin or "",
        )

    return make


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def split_of(index: int) -> Split:
    """The split that an index belongs to."""
    return max((s for s in SPLITS if FIRST_INDEX[s] <= index), key=FIRST_INDEX.__getitem__)
