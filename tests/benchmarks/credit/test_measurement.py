"""A measurement forks what it should, resumes where it was killed, and refuses what is not its own."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from crash.loops import SFT, WORLD, run, sft_loop
from palaestra.benchmarks.credit import (
    METHODS,
    CreditConfig,
    CreditDesign,
    CreditReading,
    CriticBudget,
    credit_document,
    credit_markdown,
    credit_panels,
    credit_picture,
    credit_tables,
    estimator_of,
    measure_credit,
)
from palaestra.benchmarks.credit import run as credit_run
from palaestra.benchmarks.credit.critics import dump_critic, explained_share, new_critic, restore_critic
from palaestra.benchmarks.credit.drawing import EpisodeSource, draw_sample
from palaestra.benchmarks.credit.forks import fork_at, own_tokens_of, return_behind, task_job, whole_trajectory
from palaestra.benchmarks.credit.sample import TaskSample
from palaestra.benchmarks.credit.store import read_sample, write_sample
from palaestra.errors import CheckpointError, ConfigError, InfrastructureError
from palaestra.trainers import Policy, RolloutJob, tasks_of
from palaestra.trainers.progress import silent
from palaestra.trajectory import Episode

CONFIG = CreditConfig(
    world=WORLD,
    tasks=2,
    design=CreditDesign(group_size=3, groups=2, continuations=3),
    critic=CriticBudget(tasks=2, passes=2, groups=1),
    play=replace(CreditConfig().play, context=400, turn=24),
)


def ignored(text: str) -> None:
    del text


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return run(sft_loop(steps=SFT.steps), tmp_path_factory.mktemp("sft")).policy


@pytest.fixture(scope="module")
def source(policy: Policy) -> EpisodeSource:
    return EpisodeSource(
        policy=policy, world=WORLD, play=CONFIG.play, pool=CONFIG.pool, engine=CONFIG.engine, say=ignored
    )


@pytest.fixture(scope="module")
def drawn(source: EpisodeSource) -> TaskSample:
    return draw_sample(source, tasks_of(WORLD)[0], CONFIG.design, seed=0)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("credit") / "tiny"


def measure(policy: Policy, directory: Path, config: CreditConfig = CONFIG) -> CreditReading:
    return measure_credit(policy, config, directory, name="tiny", bar=silent, say=ignored)


@pytest.fixture(scope="module")
def reading(policy: Policy, directory: Path) -> CreditReading:
    return measure(policy, directory)


def test_a_sample_holds_companions_the_reference_and_its_members(drawn: TaskSample) -> None:
    design = CONFIG.design
    assert drawn.batch.trajectories == drawn.trajectories(design)
    assert drawn.turns >= 2
    assert not drawn.batch.group_R.any()
    reference = _tokens(drawn, design.companions)
    for turn in range(drawn.turns - 1):
        for continuation in range(design.groups):
            place = drawn.member(turn, continuation, design)
            shared = [one for one in reference if one[0] <= turn]
            assert _tokens(drawn, place)[: len(shared)] == shared
    assert drawn.member(drawn.turns - 1, 1, design) == design.companions


def _tokens(sample: TaskSample, trajectory: int) -> list[tuple[int, int, float]]:
    """The turn, id and log-probability of each trained token of a trajectory."""
    batch = sample.batch
    own_T = batch.trained_T & (batch.trajectory_T == trajectory)
    first = int((batch.trajectory_U < trajectory).sum())
    return list(
        zip(
            (batch.turn_T[own_T] - first).tolist(), batch.ids_T[own_T].tolist(), batch.logprob_T[own_T].tolist(),
            strict=True,
        )
    )  # fmt: skip


def test_members_of_different_continuations_go_on_differently(drawn: TaskSample) -> None:
    first, second = (_tokens(drawn, drawn.member(0, continuation, CONFIG.design)) for continuation in (0, 1))
    assert first != second


def test_the_advantages_of_a_reference_add_up_to_its_return_less_the_value_of_the_start(drawn: TaskSample) -> None:
    paid = float(drawn.batch.return_R[CONFIG.design.companions])
    assert sum(drawn.exact.advantages) == pytest.approx(paid - drawn.exact.values[0])


def test_a_whole_trajectory_is_paid_for_the_shared_turns_too(source: EpisodeSource) -> None:
    task = tasks_of(WORLD)[0]
    (reference,) = source.episodes([task_job(task, 0, "reference", 0, world_seed=1)])
    fork = fork_at(reference, 1)
    (went_on,) = source.episodes([task_job(task, 0, "value", 1, 0, world_seed=1, prefix=fork)])
    whole = whole_trajectory(went_on, reference)
    tokens = own_tokens_of(whole)
    assert tokens.shared_turns == 0
    assert tokens.ids == own_tokens_of(went_on).ids
    first = next(span for span in tokens.spans if span.kind == "turn")
    assert all(tokens.sampled[first.start : first.end])
    assert tokens.logprobs[first.start : first.end] == own_tokens_of(reference).logprobs[first.start : first.end]
    assert return_behind(whole, 0) == pytest.approx(return_behind(whole, 1) + next(iter(whole.turns)).reward)


def test_the_group_baseline_is_read_as_its_formula_says(drawn: TaskSample) -> None:
    """The second implementation: (R - mean) / (std + epsilon), by hand."""
    design = CONFIG.design
    batch = drawn.batch.select([drawn.member(0, 0, design), *drawn.companions(0, design)])
    returns = batch.return_R.numpy()
    expected = (returns - returns.mean()) / (returns.std(ddof=1) + 1e-6)
    found = estimator_of(METHODS["grpo"].build())(batch)
    for trajectory in range(design.group_size):
        own_T = batch.trained_T & (batch.trajectory_T == trajectory)
        assert np.allclose(found[own_T].numpy(), expected[trajectory], atol=1e-5)


def test_seeupo_normalises_the_turns_of_each_place_by_themselves(drawn: TaskSample) -> None:
    """The second implementation, by hand: (R - mean of the group), then a z-score over those that have the turn."""
    batch = drawn.batch.select(list(range(CONFIG.design.companions + 1)))
    batch = replace(batch, return_R=torch.arange(batch.trajectories).square().float())
    count = torch.bincount(batch.trajectory_U).tolist()
    off = (batch.return_R - batch.return_R.mean()).numpy()
    found = estimator_of(METHODS["seeupo"].build())(batch)
    first = np.cumsum([0, *count[:-1]]).tolist()
    assert len(set(count)) > 1
    for place in range(max(count)):
        active = [one for one, turns in enumerate(count) if turns > place]
        std = off[active].std(ddof=1) if len(active) > 1 else 0.0
        expected = (off[active] - off[active].mean()) / (std if std > 1e-6 else 1.0)
        for one, value in zip(active, expected.clip(-3, 3), strict=True):
            own_T = batch.trained_T & (batch.turn_T == first[one] + place)
            assert np.allclose(found[own_T].numpy(), value, atol=1e-5)


def test_a_prompt_that_leaves_no_token_for_a_turn_is_refused(source: EpisodeSource) -> None:
    with pytest.raises(ConfigError, match=r"context=20: the prompt of .* leave none for a turn"):
        draw_sample(replace(source, play=replace(source.play, context=20)), tasks_of(WORLD)[0], CONFIG.design, seed=0)


def test_every_method_is_scored_on_every_turn(reading: CreditReading) -> None:
    assert list(reading.methods) == list(METHODS)
    assert set(reading.critics) == {"hiper", "agent_prm"}
    assert (reading.tasks, reading.turns >= 4) == (2, True)
    assert all(one.steps == 4 and one.episodes == 6 for one in reading.critics.values())
    assert all(np.isfinite(one.figures.bias) for one in reading.methods.values())


def test_started_again_it_plays_nothing(
    reading: CreditReading, policy: Policy, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: EpisodeSource, jobs: Sequence[RolloutJob]) -> list[Episode]:
        raise AssertionError(f"{len(jobs)} jobs are played again")

    monkeypatch.setattr(EpisodeSource, "episodes", refuse)
    assert repr(measure(policy, directory)) == repr(reading)


def test_killed_in_a_task_it_goes_on_behind_the_last_one(
    reading: CreditReading, policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(Exception):
        pass

    tasks: list[str] = []

    def draw(source: EpisodeSource, task: str, design: CreditDesign, *, seed: int) -> TaskSample:
        tasks.append(task)
        if len(tasks) == 2:
            raise KilledError
        return draw_sample(source, task, design, seed=seed)

    monkeypatch.setattr(credit_run, "draw_sample", draw)
    with pytest.raises(KilledError):
        measure(policy, tmp_path)
    assert repr(measure(policy, tmp_path)) == repr(reading)
    assert tasks == [tasks[0], tasks[1], tasks[1]]


def test_a_folder_of_other_settings_is_refused(reading: CreditReading, policy: Policy, directory: Path) -> None:
    del reading
    with pytest.raises(CheckpointError, match="other settings or another policy"):
        measure(policy, directory, replace(CONFIG, seed=1))


def test_a_folder_with_unreadable_settings_is_refused(policy: Policy, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{")
    with pytest.raises(CheckpointError, match="cannot be read"):
        measure(policy, tmp_path)


def test_a_context_beyond_the_policys_is_refused(policy: Policy, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="context=9999"):
        measure(policy, tmp_path, replace(CONFIG, play=replace(CONFIG.play, context=9999)))


def test_critics_need_tasks_that_are_not_scored(policy: Policy, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="critics learn from others"):
        measure(policy, tmp_path, replace(CONFIG, tasks=10_000))


def test_a_sample_is_read_as_it_was_written(drawn: TaskSample, tmp_path: Path) -> None:
    write_sample(tmp_path / "0.npz", drawn)
    again = read_sample(tmp_path / "0.npz")
    assert (again.task, again.family, again.exact) == (drawn.task, drawn.family, drawn.exact)
    assert again.batch.equals(drawn.batch)


@pytest.mark.parametrize("keep", [0, 100, -20])
def test_a_damaged_sample_is_refused(drawn: TaskSample, tmp_path: Path, keep: int) -> None:
    file = tmp_path / "0.npz"
    write_sample(file, drawn)
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(CheckpointError, match="delete it to play the task again"):
        read_sample(file)


def test_a_critic_is_restored_bit_for_bit(policy: Policy, drawn: TaskSample) -> None:
    built = METHODS["hiper"].build()
    first, second = (new_critic(policy, built, CONFIG.critic) for _ in range(2))
    weights = first.state()["weights"]
    first.restore({**first.state(), "weights": {name: one + 0.01 for name, one in weights.items()}})
    restore_critic(second, dump_critic(first))
    assert torch.equal(first.values(drawn.batch), second.values(drawn.batch))
    with pytest.raises(CheckpointError, match="cannot be read"):
        restore_critic(second, b"nothing")


def test_values_explain_all_none_or_less() -> None:
    assert explained_share([1.0, 2.0], [1.0, 2.0]) == 1
    assert explained_share([1.5, 1.5], [1.0, 2.0]) == 0
    assert explained_share([9.0, 9.0], [1.0, 2.0]) < 0
    assert np.isnan(explained_share([1.0], [1.0]))


def test_a_world_that_fails_is_reported(source: EpisodeSource, monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        episode = None

    def fail(*_: object, **__: object) -> list[Nothing]:
        return [Nothing()]

    monkeypatch.setattr("palaestra.benchmarks.credit.drawing.play_jobs", fail)
    with pytest.raises(InfrastructureError, match="failed in 1 of 1 episodes"):
        source.episodes([task_job("library/x/0", 0, "reference", 0, world_seed=0)])


def test_tables_picture_and_document_have_every_method(reading: CreditReading) -> None:
    scores, played, critics = credit_tables([reading], CONFIG)
    assert {row[0] for row in scores.rows} == set(METHODS)
    known = [reading.methods[row[0]].figures.correlation for row in scores.rows]
    assert all(not a < b for a, b in pairwise(known))
    assert "Fewer than 8 tasks give no intervals." in scores.note
    assert played.rows[0][:4] == ("tiny", "2", str(reading.families), str(reading.turns))
    assert [row[1] for row in critics.rows] == ["hiper", "agent_prm"]
    assert credit_markdown([reading], CONFIG).count("### ") == 3
    assert set(credit_document([reading], CONFIG)["policies"][0]["methods"]) == set(METHODS)
    assert all(panel.sideways for panel in credit_panels([reading]))
    assert credit_picture([reading], kind="png").startswith(b"\x89PNG")
    assert b"<svg" in credit_picture([reading], kind="svg")
