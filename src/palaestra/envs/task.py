"""A task, and the family that it is an instance of: what an author writes.

A family is a function from a `Draft` (a fresh world with a random stream) to a `Task`; `@family(...)` names it. The
same family is instantiated for as many indices as wanted. Which split an index belongs to, and so which world it is
set in, follows from the index alone.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

from palaestra.envs.state import Base, Overlay
from palaestra.envs.user.persona import Persona
from palaestra.errors import DrawError, TaskError
from palaestra.protocols import R
from palaestra.records import Json, Row, ToolCall
from palaestra.rubrics import Allowance, Criterion
from palaestra.seeding import Stream
from palaestra.tools.context import state_beside

Split: TypeAlias = Literal["train", "dev", "heldout", "heldout-policy"]
SPLITS: tuple[Split, ...] = ("train", "dev", "heldout", "heldout-policy")
"""In "heldout-policy" the worlds are new and go by rules that no other split has."""
FIRST_INDEX: dict[Split, int] = {"train": 0, "dev": 5_000, "heldout": 7_000, "heldout-policy": 8_500}
"""The index at which each split begins; it ends where the next one begins."""
LAST_INDEX = 9_999

Deals: TypeAlias = dict[bool, Sequence[Row]]
"""The rows that a first pick deals out, for a family and for its twin."""

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
    """What an expert would check; left out, it is derived from `oracle` and `alternatives`. `collateral` and
    `ungrounded` are added to every task."""
    oracle: Sequence[ToolCall]
    """Calls that solve it."""
    allow: Sequence[Allowance] = ()
    """Changes permitted beside those that the rubric expects."""
    alternatives: Sequence[Sequence[ToolCall]] = ()
    """Other right ways to solve it; the proof holds the rubric to accepting them."""
    user: Persona | None = None
    """Who answers when they are written to; `None`: they read and do not answer."""
    max_turns: int = 30


S = TypeVar("S")


class Draft:
    """A world in which a task is being set: its rows to choose from and plant in, and randomness to choose by.

    Attributes:
        state: The world's rows; what is written here is there before the episode begins.
        start: When the episode begins.
        rules: What the world goes by, such as a company's policy; the world's own type.
        twin: Whether the refusal twin is asked for: the same draws and so the same request, in a world changed so
            that the right answer is to refuse it.
    """

    def __init__(
        self,
        *,
        state: Overlay,
        start: datetime,
        family_stream: Stream,
        ordinal: int,
        rules: Any = None,
        twin: bool = False,
        deals: Deals | None = None,
    ) -> None:
        self.state = state
        self.start = start
        self.rules = rules
        self.twin = twin
        self._stream = family_stream.split("instance", ordinal)
        self._drawn_from = False
        self._family_stream = family_stream
        self._ordinal = ordinal
        self._picks = 0
        self._deals: Deals = {} if deals is None else deals

    @property
    def stream(self) -> Stream:
        """This instance's randomness."""
        self._drawn_from = True
        return self._stream

    @property
    def today(self) -> date:
        """The day on which the episode begins."""
        return self.start.date()

    def beside(self, kind: type[S], name: str) -> S:
        """The state of that name beside the rows; what is written to it is there before the episode begins.

        Raises:
            UnknownNameError: the world has none of that name and class.
        """
        return state_beside(self.state.states, kind, name)

    def pick(self, kind: type[R], where: Callable[[R], bool] = lambda _: True, *, what: str = "") -> R:
        """A row of `kind` for which `where` holds.

        The first pick of an instance deals the fitting rows out, so that instances in one world do not repeat each
        other until all are used; later picks are independent.

        Raises:
            DrawError: no row fits; `what` says in the message what was looked for.
            TaskError: `kind` is no class of rows.
        """
        if not _is_rows(kind):
            raise TaskError(f"pick: {kind!r} is no class of rows; name one, as in desk.pick(Order)")
        self._picks += 1
        if self._picks == 1:
            rows = self._deal(kind, where, what)
            return rows[self._ordinal % len(rows)]
        return self._stream.choice(self._fitting(kind, where, what))

    def _deal(self, kind: type[R], where: Callable[[R], bool], what: str) -> Sequence[R]:
        """The fitting rows in the order in which they are dealt out.

        Nothing tells instances of one world apart until one draws or plants, so up to then they share the deal.
        """
        shared = not self._drawn_from and not self.state.journal
        if shared and self.twin in self._deals:
            return cast("Sequence[R]", self._deals[self.twin])
        rows = self._family_stream.split("deal").shuffled(self._fitting(kind, where, what))
        if shared:
            self._deals[self.twin] = rows
        return rows

    def _fitting(self, kind: type[R], where: Callable[[R], bool], what: str) -> list[R]:
        rows = [row for row in self.state.find(kind) if where(row)]
        if not rows:
            raise DrawError(f"the world has no {what or f'row of {kind.table} that fits'}; ask for less, or plant it")
        return rows


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
        return replace(self, id=f"{self.id}-twin", traits=traits, twin=False, no_twin="", twin_of=self.id)

    @property
    def world(self) -> str:
        """The name of the world that it is set in."""
        return self.id.partition("/")[0]

    @property
    def unseen(self) -> bool:
        """Whether it occurs in "heldout" alone."""
        return self.splits == ("heldout",)

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
