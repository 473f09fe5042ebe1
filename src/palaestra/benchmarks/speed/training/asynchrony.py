"""`palaestra bench async`: the cost of slow tools in a training run that waits for them and in one that does not."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import torch
from torch import Tensor

from palaestra.benchmarks.speed.training.figures import SpeedComparison, SpeedSection, TrainingReport, WorkRate
from palaestra.benchmarks.speed.training.lockstep import LockstepWorlds
from palaestra.benchmarks.speed.training.machine import machine
from palaestra.benchmarks.speed.training.scale import AsyncScale
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.learner import LearnerConfig
from palaestra.trainers.loops.config import PolicyConfig, WorldConfig
from palaestra.trainers.loops.grpo import GrpoLoop
from palaestra.trainers.loops.imitation_config import SftConfig
from palaestra.trainers.loops.material import demonstrations_of, initial_policy, tasks_of, worlds_of
from palaestra.trainers.loops.rollout_config import GrpoConfig
from palaestra.trainers.loops.saves import SaveConfig
from palaestra.trainers.loops.sft import SftLoop
from palaestra.trainers.loops.stage import run_loop
from palaestra.trainers.monitors import Tracker
from palaestra.trainers.objectives import Metrics, ObjectiveConfig, part
from palaestra.trainers.policy import Policy
from palaestra.trainers.progress import OpenProgressBar, silent
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.pool import PoolConfig
from palaestra.trainers.rollouts.staleness import Staleness
from palaestra.trainers.rollouts.world import RolloutWorlds
from palaestra.trainers.rollouts.worlds import DelayedWorlds, Latency

ASYNCHRONOUS, INSTANT = "asynchronous", "asynchronous, instant tools"
SYNCHRONOUS, LOCKSTEP = "synchronous", "synchronous, tools called for all at once"
RUNS = (ASYNCHRONOUS, SYNCHRONOUS, LOCKSTEP, INSTANT)
TIMES_AIM = 2.7
"""Target: trajectories trained on per second by the asynchronous loop, relative to the synchronous loops."""
BUSY_AIM = 90.0
"""Target: engine utilisation with slow tools, in per cent of its utilisation with instant tools."""
_WARM = 2
"""Number of first steps that do not count."""
_WORLD = WorldConfig()
_CONTEXT = 768
"""Maximum tokens of an episode."""


def bench_async(*, scale: AsyncScale, bar: OpenProgressBar = silent) -> TrainingReport:
    """Train a fresh policy with slow tools, with and without waiting for all of them.

    Args:
        scale: The size of the run.
        bar: Opens a progress bar.
    """
    found = machine(torch.device("cpu"))
    bench = _Bench(scale)
    runs: dict[str, list[_Run]] = {name: [] for name in RUNS}
    with bar("measuring", len(RUNS) * scale.rounds) as shown:
        for round_ in range(scale.rounds):
            for place in range(len(RUNS)):
                name = RUNS[(round_ + place) % len(RUNS)]
                runs[name].append(bench.run(name))
                shown.step(name)
    section = _section(scale, runs)
    return TrainingReport(command="palaestra bench async", machine=found, setting=asdict(scale), sections=(section,))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The result of one run, over the steps that count."""

    per_second: float
    """Trajectories trained on per second."""
    busy: float
    """The share of the time in which the engine was working."""
    turns: float
    """Mean turns of a trajectory."""


class _Bench:
    def __init__(self, scale: AsyncScale) -> None:
        self._scale = scale
        self._threads = torch.get_num_threads()  # a training loop changes it for later code
        self._tasks = tasks_of(_WORLD)
        self._policy = _warm_up(scale.warm_up)

    def run(self, name: str) -> _Run:
        """Train with one of the methods in `RUNS`."""
        clock = _Clock()
        loop = GrpoLoop(
            self._config(staleness=0 if name in (SYNCHRONOUS, LOCKSTEP) else self._scale.staleness),
            tasks=self._tasks,
            worlds=lambda: self._worlds(name),
            seed=0,
            start=self._policy,
            say=_ignore,
        )
        # Where engine and learner work concurrently, each has half of the cores; more threads would wait for each
        # other.
        threads = self._threads if name in (SYNCHRONOUS, LOCKSTEP) else max(1, self._threads // 2)
        with TemporaryDirectory() as folder:
            run_loop(loop, Path(folder), threads=threads, trackers=(clock.open,), say=_ignore)
        return clock.run(trajectories=self._scale.groups * self._scale.group_size)

    def _worlds(self, name: str) -> RolloutWorlds:
        worlds = worlds_of(_WORLD, self._policy.codec.format.name)
        low, high = self._scale.latency
        latency = Latency(low=low, high=high)
        if name == INSTANT:
            return worlds
        return LockstepWorlds(worlds, latency) if name == LOCKSTEP else DelayedWorlds(worlds, latency)

    def _config(self, *, staleness: int) -> GrpoConfig:
        scale = self._scale
        steps = _WARM + scale.steps
        return GrpoConfig(
            steps=steps,
            group_size=scale.group_size,
            updates=1,
            objective=ObjectiveConfig(parts={"advantage": "every-second"}),
            learner=LearnerConfig(lr=1e-6, layout="shared"),
            limits=Staleness(per_step=scale.groups, staleness=staleness),
            play=PlayConfig(context=_CONTEXT, turn=scale.turn),
            pool=PoolConfig(agents=scale.agents),
            engine=NativeConfig(rows=scale.agents),
            save=SaveConfig(every=steps),
        )


def _warm_up(steps: int) -> Policy:
    """Train a small policy on the oracle's episodes for a few steps."""
    demonstrations = demonstrations_of(_WORLD)
    fresh = initial_policy(PolicyConfig(), demonstrations, seed=0)
    loop = SftLoop(SftConfig(steps=steps, save=SaveConfig(every=steps)), demonstrations, seed=0, start=fresh)
    with TemporaryDirectory() as folder:
        return run_loop(loop, Path(folder), threads=torch.get_num_threads(), say=_ignore).policy


@part("advantage", "every-second", formula="A = 1 for every second trajectory, else -1")
def every_second(batch: TokenBatch) -> Tensor:
    """Advantages that train on every trajectory: even-numbered trajectories have 1, odd-numbered ones -1.

    They do not depend on rewards: early in training most groups earn nothing, and reward-based advantages would be 0.
    """
    return 1.0 - 2.0 * (batch.trajectory_T % 2)


class _Clock(Tracker):
    """Records the time of each step."""

    def __init__(self) -> None:
        self._steps: list[tuple[float, Metrics]] = []

    def open(self, directory: Path, done: int) -> "_Clock":
        """Return the tracker itself, at the start of a run."""
        del directory, done
        return self

    def log(self, step: int, metrics: Metrics) -> None:
        """Record the time of a step."""
        del step
        self._steps.append((perf_counter(), metrics))

    def event(self, step: int, name: str, text: str) -> None:
        """Ignore the event."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def run(self, *, trajectories: int) -> _Run:
        """The result of the run, with `trajectories` trajectories per step."""
        times = [time for time, _ in self._steps[_WARM - 1 :]]
        counted = [metrics for _, metrics in self._steps[_WARM:]]
        seconds = [after - before for before, after in pairwise(times)]
        busy = sum(metrics["speed/busy"] * taken for metrics, taken in zip(counted, seconds, strict=True))
        return _Run(
            per_second=trajectories * len(counted) / sum(seconds),
            busy=busy / sum(seconds),
            turns=sum(metrics["length/turns"] for metrics in counted) / len(counted),
        )


def _ignore(sentence: str) -> None:
    """Ignore alarms: the policy is not meant to learn."""


def _section(scale: AsyncScale, runs: dict[str, list[_Run]]) -> SpeedSection:
    rates = tuple(WorkRate.of(name, [run.per_second for run in done]) for name, done in runs.items())
    by_name = {rate.name: rate.per_second for rate in rates}
    low, high = scale.latency
    turns = median(run.turns for done in runs.values() for run in done)
    return SpeedSection(
        title=f"Training with {scale.agents} agents on tools that take {low:g} to {high:g} s, "
        f"{scale.groups * scale.group_size} trajectories of {turns:.1f} turns a step",
        unit="trajectories",
        rates=rates,
        comparisons=(
            _over(by_name, SYNCHRONOUS, at_least=TIMES_AIM),
            _over(by_name, LOCKSTEP, at_least=TIMES_AIM),
            _over(by_name, INSTANT),
            _busy_share(runs),
            _busy(ASYNCHRONOUS, runs[ASYNCHRONOUS]),
            _busy(SYNCHRONOUS, runs[SYNCHRONOUS]),
            _busy(LOCKSTEP, runs[LOCKSTEP]),
            _busy(INSTANT, runs[INSTANT]),
        ),
        note=f"The rate counts trajectories that were trained on, over {scale.steps} steps after {_WARM} that do not "
        f"count. It is the median of {scale.rounds} runs of each, in an order that rotates. All run the same loop on "
        "the same number of trajectories a step. The synchronous ones begin the trajectories of a step when the step "
        "before is trained, and wait for all of them. The second one also keeps each turn's answers back until the "
        f"slowest tool of all is done. The asynchronous one may use trajectories that are up to {scale.staleness} "
        "steps old. Its engine and its learner work at once, with half of the cores each. Those of the others work in "
        "turn, with all cores. Whether the policy learns as well is another measurement.",
    )


def _over(by_name: Mapping[str, float], rival: str, *, at_least: float | None = None) -> SpeedComparison:
    times = by_name[ASYNCHRONOUS] / by_name[rival]
    return SpeedComparison(name=f"{ASYNCHRONOUS}, over {rival}", value=times, at_least=at_least)


def _busy_share(runs: Mapping[str, Sequence[_Run]]) -> SpeedComparison:
    slow, instant = (median(run.busy for run in runs[name]) for name in (ASYNCHRONOUS, INSTANT))
    name = f"engine at work, {ASYNCHRONOUS}, over {INSTANT}"
    return SpeedComparison(name=name, value=100 * slow / instant, unit="%", at_least=BUSY_AIM)


def _busy(name: str, done: Sequence[_Run]) -> SpeedComparison:
    share = median(run.busy for run in done)
    return SpeedComparison(name=f"engine at work, {name}", value=100 * share, unit="% of the time")
