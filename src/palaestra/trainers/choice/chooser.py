"""The choice of each group's task from the results of earlier groups.

A choice is a function of two numbers: the group's index, and the version of the weights under which it was begun, which
is the number of steps whose results are known then. So a resumed run that observes the recorded steps makes the same
choices, also for groups that run ahead of training.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from palaestra.record import record
from palaestra.seeding import Stream
from palaestra.trainers.choice.bandit import DecayedRates, bandit_weights
from palaestra.trainers.choice.config import ChoiceConfig
from palaestra.trainers.choice.families import TaskFamily, feature_matrix
from palaestra.trainers.choice.goldilocks import UtilityPredictor
from palaestra.trainers.choice.paced import PartitionHead
from palaestra.trainers.choice.picking import pick_best, pick_weighted

DrawInstance: TypeAlias = Callable[[TaskFamily, Stream], str]
"""Draws a task from a family and returns the task's reference."""


@record
class GroupOutcome:
    """The result of a group."""

    task: str
    """The reference of the played task."""
    solved: int
    """The number of trajectories that solved the task; `tried` is the number of all."""
    tried: int


class _Estimate(Protocol):
    def update(self, results: Sequence[tuple[int, int, int]]) -> None: ...

    def values(self) -> tuple[float, ...]: ...


class _Nothing:
    """The estimate of a rule that learns nothing."""

    def update(self, results: Sequence[tuple[int, int, int]]) -> None:
        """Do nothing."""

    def values(self) -> tuple[float, ...]:
        """No values."""
        return ()


def draw_listed(family: TaskFamily, stream: Stream) -> str:
    """Draw one of a family's listed tasks."""
    return stream.choice(family.tasks)


class TaskChooser:
    """Draws a family for each group, then an instance of it.

    Args:
        config: The rule; not "deal", which `TaskDeal` implements.
        families: The families to draw from, at least one.
        names: The names of the run's random streams: its stage and its seed.
        draw: Draws an instance; by default one of the listed tasks.
    """

    def __init__(
        self,
        config: ChoiceConfig,
        families: Sequence[TaskFamily],
        *,
        names: tuple[str, int],
        draw: DrawInstance = draw_listed,
    ) -> None:
        self._config = config
        self._families = tuple(families)
        self._places = {family.reference: place for place, family in enumerate(self._families)}
        self._weights = [family.weight for family in self._families]
        self._names = names
        self._draw = draw
        self._estimate = self._make_estimate()
        self._known = [self._estimate.values()]
        """The estimate's values under each version."""
        self._chosen: dict[tuple[int, int], str] = {}
        self._drawn: Counter[int] = Counter()

    def _make_estimate(self) -> _Estimate:
        config = self._config
        match config.rule:
            case "bandit":
                return DecayedRates(len(self._families), memory=config.memory)
            case "goldilocks":
                return UtilityPredictor(feature_matrix(self._families), window=config.window)
            case "paced":
                return PartitionHead(feature_matrix(self._families), memory=config.memory)
            case _:
                return _Nothing()

    @property
    def version(self) -> int:
        """The number of steps whose results are known."""
        return len(self._known) - 1

    def observe(self, results: Sequence[GroupOutcome]) -> None:
        """Add the results of the next step."""
        places = [(self._places[one.task.rpartition("/")[0]], one.solved, one.tried) for one in results]
        self._drawn.update(place for place, *_ in places)
        self._estimate.update(places)
        self._known.append(self._estimate.values())

    def estimate(self, task: str, version: int) -> float:
        """The rule's estimate for a task's family under weights of this version.

        Args:
            task: The task's reference.
            version: The version: at most the number of steps whose results are known.
        """
        return self._known[version][self._places[task.rpartition("/")[0]]]

    def task(self, index: int, version: int) -> str:
        """See `TaskChoice`."""
        if (index, version) not in self._chosen:
            stream = Stream.root(*self._names, "choice", index)
            family = self._families[self._pick(self._known[version], stream)]
            self._chosen[index, version] = self._draw(family, stream.split("instance"))
        return self._chosen[index, version]

    def _pick(self, known: Sequence[float], stream: Stream) -> int:
        config, weights = self._config, self._weights
        match config.rule:
            case "bandit":
                return pick_weighted(bandit_weights(known, weights, floor=config.floor), stream)
            case "goldilocks":
                explores = stream.word() / 2.0**64 < config.epsilon
                candidates = 1 if explores else config.candidates
                return pick_best(known, weights, candidates=candidates, stream=stream)
            case "paced":
                scores = [-abs(rate - config.target) for rate in known]
                return pick_best(scores, weights, candidates=config.candidates, stream=stream)
            case _:
                return pick_weighted(weights, stream)

    def metrics(self, results: Sequence[GroupOutcome]) -> dict[str, float]:
        """The distribution of draws over families.

        Args:
            results: The results of the step that was observed last.

        Returns:
            For each family that was drawn: `choice/share/FAMILY`, its share of the step's groups;
            `choice/solved/FAMILY`, the solved share of their trajectories; `choice/expected/FAMILY`, the rule's current
            estimate. `choice/untried`, the number of families that were never drawn.
        """
        found: dict[str, float] = {"choice/untried": float(len(self._families) - len(self._drawn))}
        for place in sorted({self._places[one.task.rpartition("/")[0]] for one in results}):
            name = self._families[place].reference
            own = [one for one in results if one.task.rpartition("/")[0] == name]
            found[f"choice/share/{name}"] = len(own) / len(results)
            if tried := sum(one.tried for one in own):
                found[f"choice/solved/{name}"] = sum(one.solved for one in own) / tried
            if known := self._known[-1]:
                found[f"choice/expected/{name}"] = known[place]
        return found
