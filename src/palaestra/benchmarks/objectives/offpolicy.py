"""Robustness of objectives to stale data: success by staleness, at the best learning rate of each objective.

The behaviour policy stays frozen for `staleness` steps while the trained policy changes. Toys, batches, steps,
optimiser and the grid of learning rates are fixed in advance and equal for all objectives. A rate is selected on
separate seeds; the reported results come from other seeds, so that the selection does not bias them.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import fmean

import torch

from palaestra.benchmarks.objectives.bandit import Bandit
from palaestra.benchmarks.objectives.copying import Copying
from palaestra.benchmarks.objectives.toy import Toy
from palaestra.benchmarks.objectives.training import ToyResult, ToyTraining, train_toy
from palaestra.benchmarks.statistics import FEWEST, Observation, Unit, estimate_share
from palaestra.records import JsonObject
from palaestra.trainers.objectives import ObjectiveConfig, RatioConfig, Recipe
from palaestra.trainers.progress import OpenProgressBar, silent

METHODS: Mapping[str, str] = {
    "GRPO": "grpo",
    "SAPO": "sapo",
    "decoupled PPO": "decoupled_ppo",
    "TIS": "token_tis",
    "VCPO": "vcpo_async",
    "VESPO": "vespo",
    "OAPL": "oapl",
}
"""The compared methods; each is the preset of that name."""
CONTROL = "unclipped"
"""The control: the unclipped product of a trajectory's ratios, with GRPO's advantage."""
_CONTROL = Recipe(trust="unclipped", ratio=RatioConfig(granularity="product"))
TOYS: tuple[Toy, ...] = (
    Bandit(tasks=3, arms=8, good=60, other=40, name="noisy bandit"),
    Copying(tasks=3, length=4, letters=2, good=80, other=20, name="noisy copying"),
)
"""A toy of one token, and a chain of four that must all be right. Both pay at random, so learning needs much data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPolicyScale:
    """The size of the comparison."""

    stalenesses: tuple[int, ...] = (1, 4, 16, 64)
    rates: tuple[float, ...] = (0.02, 0.05, 0.15, 0.4)
    """Learning rates of Adam; one is selected for each method, staleness and toy."""
    steps: int = 192
    choosing: int = 2
    """Number of seeds on which a rate is selected."""
    seeds: int = FEWEST
    """Number of other seeds, which are reported; fewer give no interval."""
    measure_every: int = 16
    """Steps between the points of a curve."""
    measured: int = 128
    """Episodes of each task per point of a curve."""


FULL = OffPolicyScale()
QUICK = OffPolicyScale(stalenesses=(1, 16), rates=(0.05, 0.15), steps=32, choosing=1, seeds=2, measured=64)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPolicyCell:
    """The results of one method at one staleness on one toy."""

    toy: str
    method: str
    staleness: int
    rate: float
    """The learning rate of the grid with the highest success on the selection seeds."""
    tried: dict[str, float]
    """The mean final success of every rate on the selection seeds; of equal rates the smaller is selected."""
    success: tuple[float, ...]
    """The final success of each reported seed."""
    mean: float
    low: float | None
    """The lower end of the 95 % interval over seeds; `None` with too few seeds."""
    high: float | None
    speed: float
    """The mean success over all points of training and over the reported seeds: earlier learning counts more."""
    ess: float
    """The effective share of a batch's trajectories at that rate, as a mean over batches and seeds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPolicyReport:
    """The results of the comparison."""

    command: str
    setting: JsonObject
    torch: str
    """The version of torch."""
    cells: tuple[OffPolicyCell, ...]

    def as_json(self) -> JsonObject:
        """The report as plain JSON."""
        return asdict(self)


def bench_objectives(*, scale: OffPolicyScale, bar: OpenProgressBar = silent) -> OffPolicyReport:
    """Train with every method at every staleness on every toy.

    Args:
        scale: The size of the comparison.
        bar: Opens a progress bar.
    """
    methods = {**{name: ObjectiveConfig(preset=preset).recipe() for name, preset in METHODS.items()}, CONTROL: _CONTROL}
    cells: list[OffPolicyCell] = []
    with bar("training", len(TOYS) * len(methods) * len(scale.stalenesses)) as shown:
        for toy in TOYS:
            for name, recipe in methods.items():
                for staleness in scale.stalenesses:
                    cells.append(_Runs(toy, name, recipe, staleness, scale).cell())
                    shown.step(f"{toy.name}: {name}, {staleness}")
    return OffPolicyReport(
        command="palaestra bench objectives",
        setting={**asdict(scale), "toys": [{"toy": type(toy).__name__, **_settings(toy)} for toy in TOYS]},
        torch=torch.__version__,
        cells=tuple(cells),
    )


class _Runs:
    """The runs of a cell."""

    def __init__(self, toy: Toy, method: str, recipe: Recipe, staleness: int, scale: OffPolicyScale) -> None:
        self._toy, self._method, self._recipe = toy, method, recipe
        self._staleness, self._scale = staleness, scale

    def cell(self) -> OffPolicyCell:
        """Select a rate, and measure success at that rate on other seeds."""
        scale = self._scale
        tried = {rate: fmean(self._run(rate, seed).final for seed in range(scale.choosing)) for rate in scale.rates}
        rate = max(scale.rates, key=lambda one: tried[one])  # of equal rates the first, which is the smallest
        runs = [self._run(rate, scale.choosing + seed) for seed in range(scale.seeds)]
        success = tuple(run.final for run in runs)
        seeds = [Observation(value=one, task="", training_seed=seed) for seed, one in enumerate(success)]
        over_seeds = estimate_share(seeds, Unit.TRAINING_SEED)
        return OffPolicyCell(
            toy=self._toy.name,
            method=self._method,
            staleness=self._staleness,
            rate=rate,
            tried={f"{one:g}": mean for one, mean in tried.items()},
            success=success,
            mean=over_seeds.mean,
            low=over_seeds.low,
            high=over_seeds.high,
            speed=fmean(run.area for run in runs),
            ess=fmean(run.ess for run in runs),
        )

    def _run(self, rate: float, seed: int) -> ToyResult:
        scale = self._scale
        training = ToyTraining(
            groups=self._toy.tasks,
            lr=rate,
            staleness=self._staleness,
            measure_every=scale.measure_every,
            measured=scale.measured,
        )
        return train_toy(self._toy, self._recipe, steps=scale.steps, seed=seed, training=training)


def _settings(toy: Toy) -> JsonObject:
    assert isinstance(toy, Bandit | Copying), "these are the toys of the comparison"
    return asdict(toy)
