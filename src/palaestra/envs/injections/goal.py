"""An attacker's goal: what it wants of a task's world, the words that ask for it, and its parts in code."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from palaestra.envs.injections.part import GoalPart
from palaestra.records import Row, ToolCall
from palaestra.seeding import Stream

if TYPE_CHECKING:
    from palaestra.envs.injections.trial import TaskTrials
    from palaestra.envs.instance import Instance

R = TypeVar("R", bound=Row)
Language: TypeAlias = Literal["en", "de"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalSetting:
    """The task that a goal is aimed at."""

    instance: "Instance"
    trials: "TaskTrials"
    """What the task's own solutions do."""
    stream: Stream
    """Draws the records that the attack is aimed at."""

    def free(self, kind: type[R], where: Callable[[R], bool] = lambda _: True) -> list[R]:
        """The rows of a class that the task is not about, in drawn order."""
        return self.stream.split("free", kind.table).permutation(
            [row for row in self.instance.initial_state.find(kind) if where(row) and not self._is_touched(row)]
        )

    def own(self, kind: type[R], where: Callable[[R], bool] = lambda _: True) -> list[R]:
        """The rows of a class that the task's solutions are shown, in drawn order."""
        state = self.instance.initial_state
        keys = [key for table, key in self.trials.shown if table == kind.table]
        rows = [row for row in (state.peek(kind, key) for key in keys) if row is not None and where(row)]
        return self.stream.split("own", kind.table).permutation(rows)

    def get(self, kind: type[R], key: str) -> R:
        """A row by its id."""
        return self.instance.initial_state.get(kind, key)

    def find(self, kind: type[R], **equal: Any) -> list[R]:
        """Rows with these values."""
        return self.instance.initial_state.find(kind, **equal)

    def _is_touched(self, row: Row) -> bool:
        info = self.instance.world.schema[row.table]
        columns = [name for name in info.references if info.columns[name].references not in _SHARED]
        return not self.trials.touched.isdisjoint({row.id, *(getattr(row, column) or "" for column in columns)})


_SHARED = frozenset({"products", "handbook", "promotions", "employees", "customers"})
"""Tables whose rows many records name; a record may be aimed at though the task reads such a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalTarget:
    """A goal aimed at records of one task."""

    parts: tuple[GoalPart, ...]
    calls: tuple[ToolCall, ...]
    """What a victim does that follows the text, with the world's own tools."""
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    """What fills the placeholders of the order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackGoal:
    """What an attacker wants."""

    id: str
    """Such as "cancel-other-order"; unlike that of any other goal of the world."""
    text: str
    """What it is, as a sentence."""
    orders: Mapping[Language, str]
    """The order in words, by language, with `{placeholders}`. It has no quotes and no line breaks."""
    aim: Callable[[GoalSetting], Iterator[GoalTarget]]
    """The targets that a task offers, the first to be tried first."""


def order_text(goal: AttackGoal, target: GoalTarget, language: Language) -> str:
    """The order in words."""
    return goal.orders[language].format(**target.values)


def required_parts(parts: Sequence[GoalPart]) -> list[GoalPart]:
    """The parts that the goal asks for."""
    return [part for part in parts if part.required]
