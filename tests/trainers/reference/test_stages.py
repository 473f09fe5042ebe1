"""The reference trainer: equal seeds give equal policies, other seeds others, and each stage does what it says."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from crash.tiny import FAILING_ID, GRPO, WARM_UP, Stopped, TinyGrpo, TinyWarmUp, demonstrations, history, world
from palaestra.errors import InfrastructureError, TaskError
from palaestra.trainers.reference import (
    ControlStage,
    GrpoStage,
    ReferenceJob,
    ReferencePolicy,
    ReferenceStageResult,
    RolloutConfig,
    WarmUpStage,
    load_policy,
    run_stage,
)
from palaestra.trainers.reference.learner import ReferenceLearner
from palaestra.trainers.reference.play import play
from palaestra.trainers.reference.stage import StageMetrics
from palaestra.trajectory import Episode
from worlds.registration import LIBRARY_ID


def ignored(text: str) -> None:
    del text


def both(
    directory: Path, *, warm_seed: int = 0, grpo_seed: int = 0
) -> tuple[ReferenceStageResult, ReferenceStageResult]:
    """Warm-up and GRPO."""
    warm = run_stage(TinyWarmUp(save_every=10, seed=warm_seed), directory / "warm-up", say=ignored)
    return warm, run_stage(TinyGrpo(warm.policy, seed=grpo_seed), directory / "grpo", say=ignored)


def weights(result: ReferenceStageResult) -> str:
    return sha256((result.directory / "model.safetensors").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReferenceStageResult, ReferenceStageResult]:
    return both(tmp_path_factory.mktemp("trained"))


@pytest.fixture(scope="module")
def warm(trained: tuple[ReferenceStageResult, ReferenceStageResult]) -> ReferencePolicy:
    """The policy at the end of the warm-up."""
    return trained[0].policy


def test_a_warm_up_without_demonstrations_is_refused() -> None:
    with pytest.raises(TaskError, match="no demonstrations; give a split that lists tasks"):
        WarmUpStage(WARM_UP, [], seed=0)


def test_grpo_without_tasks_is_refused(warm: ReferencePolicy) -> None:
    with pytest.raises(TaskError, match="no task to learn from; give a split that lists tasks"):
        GrpoStage(GRPO, env_id=LIBRARY_ID, tasks=[], seed=0, start=warm)


# the same and not the same


def test_the_same_seed_gives_the_same_policy_and_the_same_file(
    tmp_path: Path, trained: tuple[ReferenceStageResult, ReferenceStageResult]
) -> None:
    again = both(tmp_path)
    for first, second in zip(trained, again, strict=True):
        assert first.policy.digest() == second.policy.digest() == load_policy(second.directory).digest()
        assert weights(first) == weights(second)
        assert history(first.progress) == history(second.progress)


def test_another_seed_gives_another_policy(
    tmp_path: Path, trained: tuple[ReferenceStageResult, ReferenceStageResult]
) -> None:
    other_warm, _ = both(tmp_path / "1", warm_seed=1)
    same_warm, other_grpo = both(tmp_path / "2", grpo_seed=1)
    assert same_warm.policy.digest() == trained[0].policy.digest() != other_warm.policy.digest()
    assert other_grpo.policy.digest() != trained[1].policy.digest()
    assert len({weights(result) for result in (*trained, other_warm, other_grpo)}) == 4


def test_the_order_of_the_tasks_does_not_matter(
    tmp_path: Path, warm: ReferencePolicy, trained: tuple[ReferenceStageResult, ReferenceStageResult]
) -> None:
    tasks = world().task_set.ids("train")[::-1]
    turned = run_stage(GrpoStage(GRPO, env_id=LIBRARY_ID, tasks=tasks, seed=0, start=warm), tmp_path / "grpo")
    assert turned.policy.digest() == trained[1].policy.digest()


def test_a_stage_leaves_the_policy_that_it_begins_with_as_it_is(warm: ReferencePolicy, tmp_path: Path) -> None:
    before = warm.digest()
    for stage in (TinyGrpo(warm), control(warm, seconds=0.01)):
        assert stage.start().digest() == before
        assert run_stage(stage, tmp_path / stage.name).policy.digest() != before
        assert warm.digest() == before


# the warm-up


def test_the_warm_up_learns_what_the_demonstrations_wrote(
    trained: tuple[ReferenceStageResult, ReferenceStageResult],
) -> None:
    losses = [row["loss"] for row in trained[0].progress.history]
    assert losses[-1] < losses[0] / 4


class Rates(TinyWarmUp):
    """Notes the learning rate of each step."""

    def __init__(self) -> None:
        super().__init__(save_every=100)
        self.rates: list[float] = []

    def step(self, learner: ReferenceLearner, step: int, done: float) -> StageMetrics:
        metrics = super().step(learner, step, done)
        self.rates.append(learner.optimiser.param_groups[0]["lr"])
        return metrics


def test_the_learning_rate_rises_and_then_falls_in_equal_steps_to_a_tenth(tmp_path: Path) -> None:
    stage = Rates()
    run_stage(stage, tmp_path / "warm-up")
    highest, steps = WARM_UP.optimiser.lr, WARM_UP.steps
    assert WARM_UP.rise == 2
    assert stage.rates[0] == highest / 2
    assert stage.rates[1] == max(stage.rates)
    falls = [one - next_one for one, next_one in zip(stage.rates[1:], stage.rates[2:], strict=False)]
    assert falls == pytest.approx([0.9 * highest / steps] * (steps - 2))
    assert stage.rates[-1] - falls[-1] == pytest.approx(highest / 10)


# the control


class TinyControl(ControlStage):
    """Saved after every step; interrupted before step number `stop`."""

    save_every = 1
    stop: int | None = None

    def step(self, learner: ReferenceLearner, step: int, done: float) -> StageMetrics:
        if step == self.stop:
            raise Stopped
        return super().step(learner, step, done)


def control(start: ReferencePolicy, *, seconds: float, stop: int | None = None) -> ControlStage:
    made = TinyControl(WARM_UP, demonstrations(), seed=0, start=start, seconds=seconds)
    made.stop = stop
    return made


@pytest.fixture
def a_second_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock of its own for each test: every look at it takes a second, and a step looks twice."""
    ticks = count()
    monkeypatch.setattr(
        "palaestra.trainers.reference.stage.time", SimpleNamespace(monotonic=lambda: float(next(ticks)))
    )


@pytest.mark.usefixtures("a_second_a_step")
def test_the_control_ends_when_its_time_is_up(warm: ReferencePolicy, tmp_path: Path) -> None:
    result = run_stage(control(warm, seconds=4.5), tmp_path / "control")
    assert (result.progress.step, result.progress.seconds) == (5, 5.0)


@pytest.mark.usefixtures("a_second_a_step")
def test_an_interrupted_control_has_the_rest_of_its_time(warm: ReferencePolicy, tmp_path: Path) -> None:
    whole = run_stage(control(warm, seconds=4), tmp_path / "whole")
    with pytest.raises(Stopped):
        run_stage(control(warm, seconds=4, stop=2), tmp_path / "control")
    said: list[str] = []
    result = run_stage(control(warm, seconds=4), tmp_path / "control", say=said.append)
    assert said == ["control: goes on from step 2"]
    assert result.policy.digest() == whole.policy.digest()
    assert result.progress == whole.progress


@pytest.mark.usefixtures("a_second_a_step")
def test_a_control_that_is_given_more_time_goes_on(warm: ReferencePolicy, tmp_path: Path) -> None:
    run_stage(control(warm, seconds=2), tmp_path / "control")
    assert run_stage(control(warm, seconds=3), tmp_path / "control", say=ignored).progress.step == 3


# GRPO


def test_rewards_that_differ_are_learnt_from(trained: tuple[ReferenceStageResult, ReferenceStageResult]) -> None:
    warm, taught = trained
    rows = taught.progress.history
    assert any(row["compared"] > 0 for row in rows)
    assert all(("loss" in row) == (row["compared"] > 0) for row in rows)
    assert all(row["faults"] == 0 for row in rows)
    assert taught.policy.digest() != warm.policy.digest()


def test_rewards_that_are_all_equal_change_nothing(warm: ReferencePolicy, tmp_path: Path) -> None:
    alone = replace(GRPO, steps=2, group_size=1)  # nobody to be compared with
    result = run_stage(TinyGrpo(warm, config=alone), tmp_path / "grpo")
    assert result.policy.digest() == warm.digest()
    assert [row["compared"] for row in result.progress.history] == [0, 0]


def test_each_task_is_played_by_a_group_and_none_again_before_all(
    warm: ReferencePolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[list[ReferenceJob]] = []
    versions: list[int] = []
    noises: list[tuple[bytes, int]] = []

    def noted(
        policy: ReferencePolicy, env_id: str, jobs: Sequence[ReferenceJob], config: RolloutConfig, **how: Any
    ) -> list[Episode]:
        batches.append(list(jobs))
        versions.append(how["version"])
        noises.extend(job.noise.save() for job in jobs)
        return play(policy, env_id, jobs, config, **how)

    monkeypatch.setattr("palaestra.trainers.reference.stages.play", noted)
    run_stage(TinyGrpo(warm), tmp_path / "grpo")
    size = GRPO.group_size
    groups = [batch[at : at + size] for batch in batches for at in range(0, len(batch), size)]
    assert [len(batch) for batch in batches] == [GRPO.groups * GRPO.group_size] * GRPO.steps
    assert all(len({(job.task, job.seed) for job in group}) == 1 for group in groups)
    assert sorted(group[0].task for group in groups) == sorted(world().task_set.ids("train"))
    assert len(set(noises)) == len(noises), "no two episodes share their luck"
    assert versions == list(range(GRPO.steps))


def failing(start: ReferencePolicy, *families: str) -> GrpoStage:
    """GRPO in the library that fails on `lend-book` in every second step, on a task of each family."""
    tasks = [f"library/{family}/0000" for family in families]
    config = replace(GRPO, steps=2, groups=len(tasks))
    return GrpoStage(config, env_id=FAILING_ID, tasks=tasks, seed=0, start=start)


def test_an_episode_that_the_world_broke_off_is_left_out(warm: ReferencePolicy, tmp_path: Path) -> None:
    result = run_stage(failing(warm, "lend-book", "renew-loan"), tmp_path / "both")
    sound, broken = result.progress.history
    assert (sound["faults"], broken["faults"]) == (0, GRPO.group_size)
    assert broken["turns"] >= 1, "an episode that failed at once is in no mean"


def test_a_batch_in_which_every_world_failed_stops_the_training(warm: ReferencePolicy, tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError):
        run_stage(failing(warm, "lend-book"), tmp_path / "grpo")
    said: list[str] = []
    with pytest.raises(InfrastructureError):
        run_stage(failing(warm, "lend-book"), tmp_path / "grpo", say=said.append)
    assert said == ["grpo: goes on from step 1"], "what came before the fault is kept"
