"""A killed run goes on as if it had not been killed: the same tasks, each group once, and no group too old."""

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from torch import Tensor

from crash.loops import (
    ASYNC,
    EXPERT,
    SYNC,
    WARM,
    WORLD,
    Stopped,
    grpo_loop,
    imitating_loop,
    ledger,
    run,
    sft_loop,
    stopped,
)  # fmt: skip
from palaestra.digest import digest
from palaestra.errors import DivergedError, ReplayError, StoppedError
from palaestra.trainers.branching import GrpoBranchingConfig
from palaestra.trainers.choice import ChoiceConfig, TaskChooser
from palaestra.trainers.engines.replicas import ReplicasConfig
from palaestra.trainers.loops import (
    GrpoLoop,
    RecordedRun,
    SaveConfig,
    SelfImitationLoop,
    recorded_batches,
    tasks_of,
)
from palaestra.trainers.loops import rollouts as rollouts_module
from palaestra.trainers.loops.record import RecordedBatch, quarantined_batches
from palaestra.trainers.objectives import Metrics, ObjectiveConfig
from palaestra.trainers.policy import Policy
from palaestra.trainers.rollouts.groups import RolloutGroup
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.play_all import play_all
from palaestra.trainers.rollouts.pool import PoolConfig, RolloutPool, RolloutResult
from palaestra.trainers.rollouts.source import GroupSource
from palaestra.trainers.rollouts.staleness import Staleness
from palaestra.trajectory import Episode, Tokens

BANDIT = ChoiceConfig(rule="bandit", memory=0.5, floor=0.01)
RARELY = SaveConfig(every=100, minutes=None)
DRAIN = replace(SYNC, steps=8, choice=BANDIT, limits=Staleness(per_step=2, staleness=3), in_flight="drain", save=RARELY)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A policy that has seen the oracle, and makes calls, some of them right."""
    return run(sft_loop(steps=WARM), tmp_path_factory.mktemp("warm") / "sft").policy


def diverge(loop: GrpoLoop, at: int) -> GrpoLoop:
    """The loop, whose step number `at` diverges."""
    train = loop._train

    def diverged(
        groups: Sequence[RolloutGroup], branches: Sequence[RolloutGroup], columns: Mapping[str, Tensor], step: int
    ) -> Metrics:
        if step == at:
            raise DivergedError("the loss is nan")
        return train(groups, branches, columns, step)

    loop._train = diverged  # type: ignore[method-assign]
    return loop


def last_batches(directory: Path) -> dict[int, RecordedBatch]:
    """What each step was trained on last."""
    return {batch.step: batch for batch in recorded_batches(directory)}


def drawn(batch: RecordedBatch) -> list[tuple[int, int, str, str]]:
    """The groups of a batch: index, version, task, and a digest of the tokens."""
    return [
        (group.index, group.version, group.task, digest([tokens_of(episode).ids for episode in group.episodes]))
        for group in batch.groups
    ]


def tokens_of(episode: Episode) -> Tokens:
    tokens = episode.segments[0].tokens
    assert tokens is not None
    return tokens


def ages(batch: RecordedBatch) -> set[int]:
    """How many versions older the weights were that drew its tokens."""
    found: set[int] = set()
    for group in batch.groups:
        for episode in group.episodes:
            tokens = tokens_of(episode)
            found |= {batch.step - v for v, own in zip(tokens.versions, tokens.sampled, strict=True) if own}
    return found


def test_a_drained_run_leaves_a_batch_out_and_draws_the_steps_before_it_as_it_did(warm: Policy, tmp_path: Path) -> None:
    with pytest.raises(DivergedError):
        run(diverge(grpo_loop(warm, DRAIN), at=6), tmp_path / "grpo")
    before = last_batches(tmp_path / "grpo")
    [bad] = quarantined_batches(tmp_path / "grpo")
    run(grpo_loop(warm, DRAIN), tmp_path / "grpo")
    after = last_batches(tmp_path / "grpo")
    for step in range(6):
        assert drawn(after[step]) == drawn(before[step])
    assert {step: ages(batch) for step, batch in after.items()} == {step: {min(step, 3)} for step in range(8)}
    trained = {group.index for batch in after.values() for group in batch.groups}
    assert trained.isdisjoint(bad.groups)


@pytest.mark.parametrize("replicas", [None, ReplicasConfig(count=2)])
def test_an_asynchronous_run_whose_tasks_follow_from_results_replays(
    replicas: ReplicasConfig | None, warm: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where groups began later than they might have, for want of room, and no step took them."""
    tasks = tasks_of(WORLD)

    def task(chooser: TaskChooser, index: int, version: int) -> str:
        return tasks[(index + 3 * version) % len(tasks)]

    monkeypatch.setattr(TaskChooser, "task", task)
    config = replace(
        ASYNC,
        choice=BANDIT,
        limits=Staleness(per_step=2, staleness=3, window=2),
        pool=PoolConfig(agents=6),
        replicas=replicas,
    )
    whole = run(grpo_loop(warm, config), tmp_path / "whole")
    again = run(grpo_loop(warm, config, replay=RecordedRun.of(tmp_path / "whole")), tmp_path / "again")
    assert again.policy.digest() == whole.policy.digest()
    assert ledger(tmp_path / "again") == ledger(tmp_path / "whole")


@pytest.mark.parametrize("save", [SYNC.save, RARELY])
def test_a_replay_that_was_killed_is_begun_anew(save: SaveConfig, warm: Policy, tmp_path: Path) -> None:
    """An engine can follow a record from its first step only."""
    config = replace(SYNC, save=save, patience=5.0)
    run(grpo_loop(warm, config), tmp_path / "whole")
    replay = RecordedRun.of(tmp_path / "whole")
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, config, replay=replay), 2), tmp_path / "again")
    with pytest.raises(ReplayError, match=r"again has steps of a replay that was interrupted.*remove the folder"):
        run(grpo_loop(warm, config, replay=replay), tmp_path / "again")


REFILLED = replace(
    SYNC, objective=ObjectiveConfig(parts={"filters": ["mixed"], "refill": 3}), save=RARELY, pool=PoolConfig(agents=32)
)


def test_a_synchronous_run_that_lost_its_last_steps_leaves_the_same_groups_out(warm: Policy, tmp_path: Path) -> None:
    straight = run(grpo_loop(warm, REFILLED), tmp_path / "straight")
    assert straight.progress.history[-1]["rollouts/unwanted"] > 0
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, REFILLED), 3), tmp_path / "broken")
    again = run(grpo_loop(warm, REFILLED), tmp_path / "broken")
    assert ledger(tmp_path / "broken") == ledger(tmp_path / "straight")
    assert again.policy.digest() == straight.policy.digest()
    counts = {name for name in straight.progress.history[-1] if name.startswith("rollouts/")}
    for name in counts - {"rollouts/under_way", "rollouts/ceiling", "rollouts/buffered"}:
        assert again.progress.history[-1][name] == straight.progress.history[-1][name]


def test_batches_that_do_not_say_what_became_of_every_group_are_drawn_anew(warm: Policy, tmp_path: Path) -> None:
    """Earlier versions recorded them so; the steps after such a batch are drawn anew too."""
    config = replace(SYNC, save=RARELY)
    straight = run(grpo_loop(warm, config), tmp_path / "straight")
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, config), 3), tmp_path / "broken")
    file = tmp_path / "broken" / "batches.jsonl"
    first, second, third = map(orjson.loads, file.read_bytes().splitlines())
    del second["position"]
    file.write_bytes(b"".join(orjson.dumps(batch) + b"\n" for batch in (first, second, third)))
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, config), 2), tmp_path / "broken")
    again = run(grpo_loop(warm, config), tmp_path / "broken")
    assert [batch.step for batch in recorded_batches(tmp_path / "broken")] == [0, 1, 2, 1, 2, 3]
    assert again.policy.digest() == straight.policy.digest()


@pytest.mark.parametrize("kind", ["grpo", "expert"])
def test_rollouts_on_record_count_for_the_time_of_a_stage(
    kind: str, warm: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that goes on when a batch is drawn, and not when it is read: the stage ends with the same step."""
    seconds = 0.0
    taken = GroupSource.take

    async def take(
        source: GroupSource, timeout: float | None = None, *, only: Sequence[int] | None = None
    ) -> list[RolloutGroup]:
        nonlocal seconds
        seconds += 10.0
        return await taken(source, timeout, only=only)

    def loop() -> GrpoLoop | SelfImitationLoop:
        if kind == "grpo":
            made: GrpoLoop | SelfImitationLoop = grpo_loop(warm, replace(SYNC, save=RARELY, cpu_seconds=25.0))
        else:
            made = imitating_loop(warm, replace(EXPERT, save=RARELY, cpu_seconds=25.0, updates=1))
        made.meter._clock = lambda: seconds
        return made

    monkeypatch.setattr(GroupSource, "take", take)
    assert run(loop(), tmp_path / "straight").progress.step == 3
    with pytest.raises(Stopped):
        run(stopped(loop(), 2), tmp_path / "broken")
    again = run(loop(), tmp_path / "broken")
    assert (again.progress.step, again.progress.cpu_seconds) == (3, 30.0)


def stop_in_branching(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Have the process get a signal while it waits for continuations for the `at`-th time."""
    count = 0

    async def asked(pool: RolloutPool, jobs: Sequence[RolloutJob], *, patience: float | None) -> list[RolloutResult]:
        nonlocal count
        count += bool(jobs)
        if jobs and count == at:
            os.kill(os.getpid(), signal.SIGTERM)
        return await play_all(pool, jobs, patience=patience)

    monkeypatch.setattr(rollouts_module, "play_all", asked)


FORKING = GrpoBranchingConfig(continuations=2)


def test_a_signal_during_continuations_loses_no_group_of_an_asynchronous_run(
    warm: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(ASYNC, limits=replace(ASYNC.limits, per_step=6), group_size=2, branching=FORKING)
    stop_in_branching(monkeypatch, 2)
    with pytest.raises(StoppedError):
        run(grpo_loop(warm, config), tmp_path / "grpo")
    before = last_batches(tmp_path / "grpo")
    result = run(grpo_loop(warm, config), tmp_path / "grpo")
    after = last_batches(tmp_path / "grpo")
    assert {step: drawn(after[step]) for step in before} == {step: drawn(batch) for step, batch in before.items()}
    trained = [episode.id for batch in after.values() for group in batch.groups for episode in group.episodes]
    assert len(set(trained)) == len(trained) == result.progress.history[-1]["rollouts/handed"]


def test_a_signal_during_continuations_changes_nothing_of_a_drained_run(
    warm: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(DRAIN, steps=4, branching=FORKING)
    run(grpo_loop(warm, config), tmp_path / "straight")
    stop_in_branching(monkeypatch, 2)
    with pytest.raises(StoppedError):
        run(grpo_loop(warm, config), tmp_path / "broken")
    run(grpo_loop(warm, config), tmp_path / "broken")
    straight, broken = last_batches(tmp_path / "straight"), last_batches(tmp_path / "broken")
    assert {step: drawn(batch) for step, batch in broken.items()} == {
        step: drawn(batch) for step, batch in straight.items()
    }
