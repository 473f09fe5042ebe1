"""Advantages against all earlier returns of a task: DCPO's. Axes: T tokens, R trajectories, O tasks."""

from dataclasses import dataclass, field
from typing import cast

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.weighted import exact_mean_over
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import centre, number_keys, variance_over


@dataclass(frozen=True, slots=True, kw_only=True)
class Visits:
    """The mean and variance of a task's returns over all visits so far."""

    count: int = 0
    mean: float = 0.0
    variance: float = 0.0
    """Zero only if all returns of all visits were equal."""

    def then(self, mean: float, variance: float) -> "Visits":
        """Add a visit; visits have equal weight, however many trajectories each had."""
        n, more = self.count, self.count + 1
        between = n / more * (self.mean - mean) ** 2
        return Visits(
            count=more,
            # In this form, the mean of equal values stays exactly equal.
            mean=self.mean + (mean - self.mean) / more,
            variance=(n * self.variance + variance + between) / more,
        )


@part(
    "advantage",
    "history",
    formula="A = of ((i - 1) N + C) / i and (N + (i - 1) C) / i the nearer to 0; N: visit i alone, C: all visits",
    sources=("arXiv:2509.02333", "github.com/lime-RL/DCPO"),
    confidence="code",
    requires=("task_R",),
)
@dataclass(slots=True, kw_only=True)
class History:
    """Smooth advantage standardisation (DCPO): returns compared with this visit of a task and with all visits.

    A batch is one visit of each task in it. The first visit is GRPO without its epsilon. Later, a task that is now
    always solved, but was not before, still has advantages. A task with one trajectory in a batch has advantage 0, and
    this does not count as a visit. If rewards change, begin anew, because the history no longer fits.
    """

    _seen: dict[int, Visits] = field(init=False, default_factory=dict[int, Visits])

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`; also records the batch."""
        task_R, return_R = batch.column("task_R"), batch.return_R
        owner_R, tasks = number_keys(task_R)
        name_O = task_R.new_zeros(tasks).index_put((owner_R,), task_R).tolist()
        mean_O, variance_O = exact_mean_over(return_R, owner_R, tasks), variance_over(return_R, owner_R, tasks)
        counts_O = torch.bincount(owner_R, minlength=tasks) > 1
        all_O = [
            self._visit(int(name), mean, variance) if counts else Visits()
            for name, mean, variance, counts in zip(
                name_O, mean_O.tolist(), variance_O.tolist(), counts_O.tolist(), strict=True
            )
        ]
        first_R = return_R.new_tensor([seen.count == 1 for seen in all_O]).bool()[owner_R]
        visit_R = return_R.new_tensor([max(1, seen.count) for seen in all_O])[owner_R]
        ever_R = return_R - return_R.new_tensor([seen.mean for seen in all_O])[owner_R]
        new_R = _over(centre(return_R, owner_R, tasks), variance_O[owner_R])
        all_R = _over(ever_R, return_R.new_tensor([seen.variance for seen in all_O])[owner_R])
        return blend(new_R, all_R.where(~first_R, new_R), visit_R).masked_fill(~counts_O[owner_R], 0.0)[
            batch.trajectory_T
        ]

    def state(self) -> dict[str, object]:
        """See `Stateful`."""
        return {str(task): [seen.count, seen.mean, seen.variance] for task, seen in self._seen.items()}

    def restore(self, state: dict[str, object]) -> None:
        """See `Stateful`."""
        self._seen = {}
        for task, seen in state.items():
            count, mean, variance = cast("list[float]", seen)
            self._seen[int(task)] = Visits(count=int(count), mean=mean, variance=variance)

    def _visit(self, task: int, mean: float, variance: float) -> Visits:
        self._seen[task] = self._seen.get(task, Visits()).then(mean, variance)
        return self._seen[task]


def blend(new_R: Tensor, all_R: Tensor, visit_R: Tensor) -> Tensor:
    """The one of two blends that is nearer to 0, [R].

    Args:
        new_R: Returns standardised against this visit.
        all_R: Returns standardised against all visits.
        visit_R: The number of the visit, from 1.
    """
    mostly_new_R = ((visit_R - 1) * new_R + all_R) / visit_R
    mostly_all_R = (new_R + (visit_R - 1) * all_R) / visit_R
    return mostly_new_R.where(mostly_new_R.abs() <= mostly_all_R.abs(), mostly_all_R)


def _over(off_R: Tensor, variance_R: Tensor) -> Tensor:
    """Differences in standard deviations, [R]; 0 if the deviation is 0."""
    none_R = variance_R <= 0
    return (off_R / variance_R.masked_fill(none_R, 1.0).sqrt()).masked_fill(none_R, 0.0)
