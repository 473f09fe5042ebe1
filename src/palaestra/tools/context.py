"""The context of a tool call: the rows, the clock, the caller, and the declaration of what the answer shows."""

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
    """The additional state with this name and class.

    Raises:
        UnknownNameError: there is no such state.
    """
    found = states.get(name)
    if not isinstance(found, kind):
        raise UnknownNameError.of(f"state of class {kind.__name__}", name, states)
    return found


class ToolContext:
    """The context of one call.

    Attributes:
        state: The rows.
        clock: The virtual clock.
        role: The agent's role; it decides which tools the agent may call.
        states: The world's state in addition to its rows, by name; most worlds have only rows.
        actor: The id of the agent, such as an employee's.
        surface: The surface's own state for the episode, such as a browser; `None` on most surfaces.
        rules: The world's rules, such as a company's policy; of the world's own type, fixed for an episode.
        end_reason: Set by a tool that ends the episode.
        answer: The agent's answer when it ended the episode.
        spelled: Ids that the calling code writes literally, although only its own earlier calls have shown them.
        images: The images attached to the call's answer, as `data:` URLs.
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
        """The additional state with this name, for reading and writing; writes of a refused call are rolled back.

        Raises:
            UnknownNameError: the world has no state with this name and class.
        """
        return state_beside(self.states, kind, name)

    def show(self, *rows: Row) -> None:
        """Declare that the result shows these rows completely; a rubric may ask what an agent has seen."""
        for row in rows:
            self.shown.append((row.table, row.id))
            self.mentioned.update(self._ids_in(row))

    def show_columns(self, rows: Sequence[Row], columns: Iterable[str]) -> None:
        """Declare that the result shows these columns of rows of one table, in words or as a value derived from them.

        It declares no id: use `mention` for ids that the result states.
        """
        if rows:
            keys = tuple(row.id for row in rows)
            self.columns += (ShownColumns(table=rows[0].table, keys=keys, columns=tuple(columns)),)

    def mention(self, *ids: str) -> None:
        """Declare that the result names these ids and nothing else of their rows."""
        self.mentioned.update(ids)

    def name(self, *ids: str) -> None:
        """Declare that the call acts on these ids, if a schema cannot find them in its arguments."""
        self.named.extend(ids)

    def attach(self, image: bytes) -> None:
        """Attach an image to the answer, after those attached before.

        An agent that reads only text cannot see it: everything that a task depends on must also be in the answer's
        text, or the task needs a model that reads images.

        Args:
            image: A PNG, JPEG, GIF or WebP file of at most 4 MiB.

        Raises:
            ValueError: it is not such a file, or is larger.
        """
        self.images += (image_url(image),)

    def end(self, reason: EndReason, answer: dict[str, Json] | None = None) -> None:
        """End the episode after this turn."""
        self.end_reason = reason
        self.answer = answer or {}

    def begin_call(self) -> None:
        """Clear what the last call showed, and an end that it requested before it was refused."""
        self.end_reason = None
        self.answer = {}
        self.shown = []
        self.columns = ()
        self.mentioned = set()
        self.named = []
        self.images = ()
