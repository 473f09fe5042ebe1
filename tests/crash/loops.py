"""Runs of the training loops that take seconds, and are training: in the library, synchronous and asynchronous."""

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

from palaestra.records import Json
from palaestra.trainers.branching import BranchingConfig, GrpoBranchingConfig
from palaestra.trainers.choice import ChoiceConfig, TaskChooser, group_families
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.learner import LearnerConfig
from palaestra.trainers.loops.config import ModelConfig, PolicyConfig, WorldConfig
from palaestra.trainers.loops.grpo import GrpoLoop
from palaestra.trainers.loops.imitation_config import ExpertConfig, RejectionConfig, SftConfig
from palaestra.trainers.loops.loop import Loop
from palaestra.trainers.loops.material import demonstrations_of, initial_policy, tasks_of, worlds_of
from palaestra.trainers.loops.record import RecordedRun, recorded_batches
from palaestra.trainers.loops.rollout_config import GrpoConfig
from palaestra.trainers.loops.saves import SaveConfig
from palaestra.trainers.loops.self_imitation import SelfImitationLoop
from palaestra.trainers.loops.sft import SftLoop
from palaestra.trainers.loops.stage import StageResult, run_loop
from palaestra.trainers.objectives import Metrics
from palaestra.trainers.policy import Policy
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.pool import PoolConfig
from palaestra.trainers.rollouts.staleness import Staleness
from palaestra.trajectory import Episode
from worlds.registration import LIBRARY_ID

WORLD = WorldConfig(env_id=LIBRARY_ID, imports=("worlds.registration", "crash.moody"))
POLICY = PolicyConfig(
    model=ModelConfig(hidden=32, layers=1, heads=1, kv_heads=1, head_dim=32, mlp=64, context=512, vocabulary=600)
)
SFT = SftConfig(
    steps=30, batch=4, warmup_steps=2, learner=LearnerConfig(lr=0.02), save=SaveConfig(every=5, background=False)
)
WARM = 60
"""Steps of a warm start after which groups of the library have unequal returns: what policy gradient learns from."""
SYNC = GrpoConfig(
    steps=4,
    group_size=4,
    limits=Staleness(per_step=2),
    play=PlayConfig(context=400, turn=24),
    pool=PoolConfig(agents=8),
    engine=NativeConfig(),
    learner=LearnerConfig(lr=2e-3),
    patience=60.0,
)
ASYNC = replace(SYNC, steps=5, limits=Staleness(per_step=2, staleness=2, window=2), pool=PoolConfig(agents=16))
CONFIGS = {"sync": SYNC, "async": ASYNC}
FORKING = {
    f"{kind}-branching": replace(config, branching=GrpoBranchingConfig(continuations=2))
    for kind, config in CONFIGS.items()
}
EXPERT = ExpertConfig(
    steps=3,
    updates=4,
    batch=6,
    group_size=3,
    limits=Staleness(per_step=4),
    play=PlayConfig(context=400, turn=24),
    pool=PoolConfig(agents=12),
    learner=LearnerConfig(lr=5e-3),
    patience=60.0,
)
REJECTION = RejectionConfig(
    rounds=2,
    steps=6,
    batch=6,
    group_size=3,
    limits=Staleness(per_step=4),
    play=PlayConfig(context=400, turn=24),
    pool=PoolConfig(agents=12),
    learner=LearnerConfig(lr=5e-3),
    save=SaveConfig(every=2),
    patience=60.0,
)
BRANCHING = replace(EXPERT, branching=BranchingConfig(continuations=2))
IMITATING: dict[str, ExpertConfig | RejectionConfig] = {
    "expert": EXPERT,
    "rejection": REJECTION,
    "branching": BRANCHING,
}
Told: TypeAlias = list[str]


@cache
def demonstrations() -> tuple[Episode, ...]:
    """The oracle's."""
    return tuple(demonstrations_of(WORLD))


def sft_loop(*, steps: int = SFT.steps, name: str = "sft") -> SftLoop:
    """Supervised learning from the oracle."""
    seen = list(demonstrations())
    return SftLoop(replace(SFT, steps=steps), seen, seed=0, start=initial_policy(POLICY, seen, seed=0), name=name)


def make_chooser(choice: ChoiceConfig, *, seed: int) -> TaskChooser | None:
    """The chooser of the library's tasks; `None` if they are dealt."""
    if choice.rule == "deal":
        return None
    return TaskChooser(choice, group_families(tasks_of(WORLD), (), {}), names=(choice.rule, seed))


def grpo_loop(
    start: Policy,
    config: GrpoConfig,
    *,
    world: WorldConfig = WORLD,
    seed: int = 0,
    replay: RecordedRun | None = None,
    said: Told | None = None,
) -> GrpoLoop:
    """GRPO in the library."""
    return GrpoLoop(
        config,
        tasks=tasks_of(WORLD),
        worlds=partial(worlds_of, world, start.codec.format.name),
        seed=seed,
        start=start,
        chooser=make_chooser(config.choice, seed=seed),
        say=(said if said is not None else Told()).append,
        replay=replay,
        demonstrations={episode.task.id: episode for episode in demonstrations()},
    )


def imitating_loop(
    start: Policy,
    config: ExpertConfig | RejectionConfig,
    *,
    seed: int = 0,
    replay: RecordedRun | None = None,
    said: Told | None = None,
) -> SelfImitationLoop:
    """Expert iteration or rejection sampling in the library."""
    return SelfImitationLoop(
        config,
        tasks=tasks_of(WORLD),
        worlds=partial(worlds_of, WORLD, start.codec.format.name),
        seed=seed,
        start=start,
        demonstrations=demonstrations()[:4],
        chooser=make_chooser(config.choice, seed=seed),
        say=(said if said is not None else Told()).append,
        replay=replay,
    )


def rollout_loop(start: Policy, kind: str, *, said: Told | None = None) -> Loop:
    """A stage with rollouts, by a name of `CONFIGS`, `FORKING` or `IMITATING`."""
    if kind in IMITATING:
        return imitating_loop(start, IMITATING[kind], said=said)
    return grpo_loop(start, {**CONFIGS, **FORKING}[kind], said=said)


def figures(result: StageResult) -> list[Metrics]:
    """Every figure of a stage but those of time and of what happened to be under way."""
    timed = ("seconds", "speed/", "rollouts/")
    return [{k: v for k, v in row.items() if not k.startswith(timed)} for row in result.progress.history]


class Stopped(Exception):  # noqa: N818  it is what a person does, not a fault
    """Somebody interrupted the training."""


def stopped(loop: Loop, at: int) -> Loop:
    """The loop, interrupted before step number `at`."""
    taken = loop.step

    async def step(thread: object, step: int, done: float) -> Metrics:
        if step == at:
            raise Stopped
        return await taken(thread, step, done)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    loop.step = step  # type: ignore[method-assign]
    return loop


def run(loop: Loop, directory: Path, *, said: Told | None = None) -> StageResult:
    """Run it on one thread."""
    return run_loop(loop, directory, threads=1, say=(said if said is not None else Told()).append)


def ledger(directory: Path) -> Json:
    """What a run trained on: for each step its groups and the trajectories in them."""
    return [
        [batch.step, [[group.index, [episode.id for episode in group.episodes]] for group in batch.groups]]
        for batch in recorded_batches(directory)
    ]


def branch_ledger(directory: Path) -> Json:
    """The continuations that a run played: for each step those of each fork."""
    return [
        [batch.step, [[episode.id for episode in branch.episodes] for branch in batch.branches or ()]]
        for batch in recorded_batches(directory)
    ]
