"""How objectives stand data that older weights drew: success against staleness, at each one's best learning rate.

The policy that draws stays frozen for `staleness` steps while the trained one moves on. Everything is fixed beforehand
and the same for all: toys, batches, steps, optimiser and the grid of learning rates. A rate is chosen on seeds of its
own, and what is reported comes from others, so that the choice does not flatter anybody.
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
"""What is compared, each the preset of that name."""
CONTROL = "unclipped"
"""Beside them: the product of a trajectory's ratios as it is, with GRPO's advantage."""
_CONTROL = Recipe(trust="unclipped", ratio=RatioConfig(granularity="product"))
TOYS: tuple[Toy, ...] = (
    Bandit(tasks=3, arms=8, good=60, other=40, name="noisy bandit"),
    Copying(tasks=3, length=4, letters=2, good=80, other=20, name="noisy copying"),
)
"""One token, and a chain of four that all have to be right; both pay by chance, so that good data are much data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPolicyScale:
    """How much is done."""

    stalenesses: tuple[int, ...] = (1, 4, 16, 64)
    rates: tuple[float, ...] = (0.02, 0.05, 0.15, 0.4)
    """Learning rates of Adam, from which one is chosen for each method, staleness and toy."""
    steps: int = 192
    choosing: int = 2
    """Seeds that a rate is chosen on."""
    seeds: int = FEWEST
    """Other seeds, which are reported; fewer have no interval."""
    measure_every: int = 16
    """Steps between the points of a curve."""
    measured: int = 128
    """Episodes of each task that a point of a curve is measured with."""


FULL = OffPolicyScale()
QUICK = OffPolicyScale(stalenesses=(1, 16), rates=(0.05, 0.15), steps=32, choosing=1, seeds=2, measured=64)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPolicyCell:
    """One method at one staleness on one toy."""

    toy: str
    method: str
    staleness: int
    rate: float
    """The learning rate of the grid that did best on the seeds it was chosen on."""
    tried: dict[str, float]
    """The mean final success of every rate, on the seeds it was chosen on; of equals the faster was chosen."""
    success: tuple[float, ...]
    """The final success of each reported seed."""
    mean: float
    low: float | None
    """Of the 95 % interval over seeds; `None` with too few of them."""
    high: float | None
    speed: float
    """The mean success over the whole of a training, and over the reported seeds: what was learnt sooner counts."""
    ess: float
    """The effective share of a batch's trajectories at that rate, the mean over batches and seeds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPolicyReport:
    """What a run of the comparison came to."""

    command: str
    setting: JsonObject
    torch: str
    """The version of torch."""
    cells: tuple[OffPolicyCell, ...]

    def as_json(self) -> JsonObject:
        """The report as plain JSON."""
        return asdict(self)


def bench_objectives(*, scale: OffPolicyScale, bar: OpenProgressBar = silent) -> OffPolicyReport:
    """Train every method at every staleness on every toy.

    Args:
        scale: How much.
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
        """Choose a rate, and report others' seeds at it."""
        scale = self._scale
        tried = {rate: fmean(self._run(rate, seed).final for seed in range(scale.choosing)) for rate in scale.rates}
        rate = max(scale.rates, key=lambda one: tried[one])  # of equals the smallest
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
