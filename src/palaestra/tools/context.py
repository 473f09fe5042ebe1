"""What a tool is given besides its arguments: the rows, the time, who calls, and a way to say what was shown."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from palaestra.clock import Clock
from palaestra.errors import UnknownNameError
from palaestra.protocols import ForkableState, State
from palaestra.records import EndReason, Json, Row, ShownColumns
from palaestra.tools.images import image_url

S = TypeVar("S")

_NO_STATES: Mapping[str, ForkableState] = {}


def state_beside(states: Mapping[str, ForkableState], kind: type[S], name: str) -> S:
    """The state of that name and class.

    Raises:
        UnknownNameError: there is none.
    """
    found = states.get(name)
    if not isinstance(found, kind):
        raise UnknownNameError.of(f"state of class {kind.__name__}", name, states)
    return found


class ToolContext:
    """The world as one call sees it.

    Attributes:
        state: The rows.
        clock: The virtual clock.
        role: In which role the agent acts; tools are open to some roles and closed to others.
        states: What the world holds beside its rows, by name; most worlds have rows alone.
        actor: The id under which the agent acts, such as an employee's.
        surface: What the surface holds for the episode beside the rows, such as a browser; `None` on most surfaces.
        rules: What the world goes by, such as a company's policy; the world's own type, fixed for an episode.
        end_reason: Set by a tool that ends the episode.
        answer: What the agent answered when it ended the episode.
        spelled: Ids that the code which makes the call spells out, and that only its own earlier calls have shown.
        images: What the call attached to its answer, as `data:` URLs.
    """

    __slots__ = (
        "_ids_in",
        "actor",
        "answer",
        "clock",
        "columns",
        "end_reason",
        "images",
        "mentioned",
        "named",
        "role",
        "rules",
        "shown",
        "spelled",
        "state",
        "states",
        "surface",
    )

    def __init__(
        self,
        *,
        state: State,
        clock: Clock,
        role: str,
        actor: str,
        ids_in: Callable[[Row], Iterable[str]],
        rules: Any = None,
        states: Mapping[str, ForkableState] = _NO_STATES,
    ) -> None:
        self.state = state
        self.clock = clock
        self.role = role
        self.actor = actor
        self.rules = rules
        self.states = states
        self.surface: object | None = None
        self.end_reason: EndReason | None = None
        self.answer: dict[str, Json] = {}
        self.shown: list[tuple[str, str]] = []
        self.columns: tuple[ShownColumns, ...] = ()
        self.mentioned: set[str] = set()
        self.named: list[str] = []
        self.images: tuple[str, ...] = ()
        self.spelled: frozenset[str] = frozenset()
        self._ids_in = ids_in

    def beside(self, kind: type[S], name: str) -> S:
        """The state of that name beside the rows, to be read and written; a refused call takes back what it wrote.

        Raises:
            UnknownNameError: the world has none of that name and class.
        """
        return state_beside(self.states, kind, name)

    def show(self, *rows: Row) -> None:
        """Say that the result shows these rows whole; a rubric may ask what an agent has seen."""
        for row in rows:
            self.shown.append((row.table, row.id))
            self.mentioned.update(self._ids_in(row))

    def show_columns(self, rows: Sequence[Row], columns: Iterable[str]) -> None:
        """Say that the result shows these columns of rows of one table, in words or as a value that follows from them.

        It names no id: `mention` those that the result states.
        """
        if rows:
            keys = tuple(row.id for row in rows)
            self.columns += (ShownColumns(table=rows[0].table, keys=keys, columns=tuple(columns)),)

    def mention(self, *ids: str) -> None:
        """Say that the result names these ids and no more."""
        self.mentioned.update(ids)

    def name(self, *ids: str) -> None:
        """Say that the call acts on these ids, where they stand deeper in its arguments than a schema can tell."""
        self.named.extend(ids)

    def attach(self, image: bytes) -> None:
        """Put an image into the answer, after those that the call has attached before.

        An agent that reads text only cannot see it: whatever a task depends on must also stand in the answer's text,
        or the task needs a model that reads images.

        Args:
            image: A PNG, JPEG, GIF or WebP file of at most 4 MiB.

        Raises:
            ValueError: it is none of these, or larger.
        """
        self.images += (image_url(image),)

    def end(self, reason: EndReason, answer: dict[str, Json] | None = None) -> None:
        """End the episode after this turn."""
        self.end_reason = reason
        self.answer = answer or {}

    def begin_call(self) -> None:
        """Forget what the last call showed, and an end that it asked for before it was refused."""
        self.end_reason = None
        self.answer = {}
        self.shown = []
        self.columns = ()
        self.mentioned = set()
        self.named = []
        self.images = ()
