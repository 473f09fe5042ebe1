"""What a criterion may read: the rows before and now, every change, every call, the answer. Never the agent's prose."""

from collections.abc import Callable, Iterable, Sequence

from palaestra.protocols import StateView
from palaestra.records import EndReason, JsonObject, RowChange, ToolEvent


class Evidence:
    """The evidence of one episode, as it stands.

    Attributes:
        initial: The rows as the episode began.
        state: The rows now.
        events: One for every call so far.
        given: The ids that the task's messages name.
        turn_start: How many calls had been answered when the present turn began: what the agent could know of.
        answer: What the agent answered when it finished; empty until then.
        end: Why the episode ended; `None` until then.
    """

    __slots__ = (
        "_changes",
        "_changes_at",
        "_journal",
        "_net",
        "answer",
        "end",
        "events",
        "given",
        "initial",
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
    ) -> None:
        self.initial = initial
        self.state = state
        self.given = given
        self.events: list[ToolEvent] = []
        self.turn_start = 0
        self.answer: JsonObject = {}
        self.end: EndReason | None = None
        self._journal = journal
        self._net = net
        self._changes: tuple[RowChange, ...] = ()
        self._changes_at = 0

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
        """The net difference between `initial` and `state`: one entry for each row that is not as it was."""
        length = len(self._journal())
        if length != self._changes_at:
            self._changes = tuple(self._net())
            self._changes_at = length
        return self._changes

    def known(self) -> set[str]:
        """The ids that the agent could know in this turn: given ones, and those that earlier turns' results named.

        A call on a guessed id teaches nothing: what its result names does not count, so a lucky guess stays one.
        """
        known = set(self.given)
        for event in self.events[: self.turn_start]:
            if known.issuperset(event.named):
                known |= event.mentioned
        return known

    def went_back(self) -> None:
        """Forget what was worked out: the rows were restored from a snapshot."""
        self._changes = ()
        self._changes_at = -1
