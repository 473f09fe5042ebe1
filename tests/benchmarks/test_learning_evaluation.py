"""An evaluation counts what was played, leaves out what the world broke, and gives every policy the same luck."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from crash.loops import SYNC, WORLD, grpo_loop, run, sft_loop
from crash.tiny import FAILING_ID
from palaestra.benchmarks.learning.evaluation import (
    EVALUATION,
    Evaluation,
    Measure,
    TaskResult,
    difference,
    evaluate,
)
from palaestra.benchmarks.learning.material import HeldoutGroup, LearningMaterial, evaluate_policy
from palaestra.benchmarks.statistics import Observation, Unit
from palaestra.errors import ConfigError, TaskError
from palaestra.records import EndReason
from palaestra.trainers import (
    PlayConfig,
    Policy,
    PoolConfig,
    RolloutJob,
    RolloutResult,
    WorldConfig,
    play_jobs,
    tasks_of,
    worlds_of,
)
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.progress import silent
from palaestra.trainers.rollouts.world import RolloutWorld, RolloutWorlds
from palaestra.trainers.rollouts.worlds import LocalWorlds
from palaestra.trajectory import Episode
from worlds.registration import LIBRARY_ID

PLAY = SYNC.play
HELDOUT = tasks_of(replace(WORLD, split="heldout"))
LENT, RENEWED = "library/lend-book/7000", "library/renew-loan/7000"


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Policy, Policy]:
    """Before GRPO and after."""
    directory = tmp_path_factory.mktemp("policies")
    warm = run(sft_loop(), directory / "warm-up").policy
    return warm, run(grpo_loop(warm, SYNC), directory / "grpo").policy


@pytest.fixture(scope="module")
def policy(policies: tuple[Policy, Policy]) -> Policy:
    return policies[0]


def result(*points: int, solved: Sequence[bool] | None = None, end: EndReason = EndReason.FINISHED) -> TaskResult:
    return TaskResult(
        points=points,
        solved=tuple(solved or [p == 100 for p in points]),
        harmed=tuple(p < 0 for p in points),
        turns=(3,) * len(points),
        ends=(end,) * len(points),
    )


def harmful(episode: Episode) -> bool:
    """Whether the last verdict on anything forbidden is that it was done."""
    forbidden = [criterion.id for criterion in episode.rubric if criterion.kind != "expect"]
    return any(episode.score.verdicts[criterion].met for criterion in forbidden)


SOME = Evaluation(
    tasks={
        "a": result(100, 50),
        "b": result(0, 0, solved=[False, False]),
        "c": result(-20, 100, end=EndReason.MAX_TURNS),
    },
    faults=0,
)


def test_no_tasks_are_refused(policy: Policy) -> None:
    with pytest.raises(TaskError, match="no task to evaluate on; give a split that lists tasks"):
        evaluate(policy, LIBRARY_ID, {}, play=PLAY)


def test_episodes_longer_than_the_model_reads_are_refused(policy: Policy) -> None:
    long = replace(PLAY, context=policy.model.shape.context + 1)
    with pytest.raises(ConfigError, match="context=513: the policy reads 512 tokens; give no more"):
        evaluate(policy, LIBRARY_ID, dict.fromkeys([LENT], 1), play=long)


def test_an_episode_that_the_world_broke_off_is_counted_told_and_in_no_figure(policy: Policy) -> None:
    said: list[str] = []
    sound, _ = evaluate(policy, LIBRARY_ID, dict.fromkeys([LENT, RENEWED], 4), play=PLAY)
    broken, _ = evaluate(policy, FAILING_ID, dict.fromkeys([LENT, RENEWED], 4), play=PLAY, say=said.append)
    assert (sound.faults, broken.faults) == (0, 2), "of the seeds 0 to 3 two are odd"
    assert len(said) == 2 * 3, "each is tried three times"
    assert all(text.startswith(LENT) and "the disk is gone" in text for text in said)
    assert broken.tasks[RENEWED] == sound.tasks[RENEWED]
    assert broken.tasks[LENT].points == sound.tasks[LENT].points[::2]
    assert broken.tasks[LENT].turns == sound.tasks[LENT].turns[::2]


def test_a_task_whose_first_episode_was_broken_off_shows_its_next(policy: Policy) -> None:
    def from_one(
        policy: Policy, worlds: Callable[[], RolloutWorlds], jobs: Sequence[RolloutJob], *how: Any, **more: Any
    ) -> Any:
        return play_jobs(policy, worlds, [replace(job, seed=job.seed + 1) for job in jobs], *how, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("palaestra.benchmarks.learning.evaluation.play_jobs", from_one)
        found, first = evaluate(
            policy, FAILING_ID, dict.fromkeys([LENT, RENEWED], 2), play=PLAY, say=list[str]().append
        )
    assert [(episode.task.id, episode.seed) for episode in first] == [(LENT, 2), (RENEWED, 1)]
    assert len(found.tasks[LENT].points) == 1


def test_a_task_whose_world_always_failed_is_in_no_figure() -> None:
    left = Evaluation(tasks={"a": result(100)}, faults=3)
    assert [one.value for one in left.observations("points")] == [100.0]


def test_values_are_those_of_the_episodes_by_task(policy: Policy) -> None:
    play = replace(PLAY, name="it")
    found, first = evaluate(policy, LIBRARY_ID, dict.fromkeys(HELDOUT, 3), seed=5, play=play)
    jobs = [
        RolloutJob(trajectory=f"{task} {n}", group="", task=task, seed=n, noise=noise_key("evaluation", 5, task, n))
        for task in HELDOUT
        for n in range(3)
    ]
    played = [one.episode for one in play_jobs(policy, worlds(policy), jobs, play)]
    assert list(found.tasks) == HELDOUT
    for place, task in enumerate(HELDOUT):
        own = [episode for episode in played[3 * place : 3 * place + 3] if episode]
        assert {episode.task.id for episode in own} == {task}
        assert found.tasks[task].points == tuple(episode.score.points for episode in own)
        assert found.tasks[task].solved == tuple(episode.score.passed for episode in own)
        assert found.tasks[task].harmed == tuple(map(harmful, own))
        assert found.tasks[task].turns == tuple(len(list(episode.turns)) for episode in own)
        assert found.tasks[task].ends == tuple(episode.end for episode in own)
    assert [replace(episode, id="", group="") for episode in first] == [
        replace(episode, id="", group="") for episode in played[::3] if episode
    ]
    assert {episode.agent for episode in first} == {"it"}


def worlds(policy: Policy) -> Callable[[], RolloutWorlds]:
    return partial(worlds_of, WorldConfig(env_id=LIBRARY_ID), policy.codec.format.name)


def test_a_task_meets_the_same_luck_whatever_else_is_played(policy: Policy) -> None:
    whole, _ = evaluate(policy, LIBRARY_ID, dict.fromkeys(HELDOUT, 3), play=PLAY)
    turned, _ = evaluate(policy, LIBRARY_ID, dict.fromkeys(HELDOUT[::-1], 3), play=PLAY)
    alone, _ = evaluate(policy, LIBRARY_ID, dict.fromkeys([RENEWED], 2), play=PLAY, pool=PoolConfig(agents=1))
    assert turned == whole
    assert alone.tasks[RENEWED].points == whole.tasks[RENEWED].points[:2]


def test_no_more_worlds_are_open_than_episodes_are_played_at_once(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[RolloutWorld] = []
    plain = LocalWorlds.open

    async def counted(self: LocalWorlds) -> RolloutWorld:
        world = await plain(self)
        opened.append(world)
        return world

    monkeypatch.setattr(LocalWorlds, "open", counted)
    evaluate(policy, LIBRARY_ID, dict.fromkeys(HELDOUT, 4), play=PLAY, pool=PoolConfig(agents=3))
    assert len(opened) == 3


def test_two_policies_meet_the_same_luck(policies: tuple[Policy, Policy], monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[list[tuple[str, int, bytes]]] = []

    def noted(
        policy: Policy, worlds: Callable[[], RolloutWorlds], jobs: Sequence[RolloutJob], play: PlayConfig, **how: Any
    ) -> list[RolloutResult]:
        met.append([(job.task, job.seed, job.noise) for job in jobs])
        return play_jobs(policy, worlds, jobs, play, **how)

    monkeypatch.setattr("palaestra.benchmarks.learning.evaluation.play_jobs", noted)
    before, after = (
        evaluate(policy, LIBRARY_ID, dict.fromkeys([LENT, RENEWED], 4), play=PLAY)[0] for policy in policies
    )
    assert met[0] == met[1]
    assert len(set(met[0])) == 8
    assert before != after


def test_a_policy_does_not_differ_from_itself(policy: Policy) -> None:
    first, second = (
        evaluate(p, LIBRARY_ID, dict.fromkeys([LENT, RENEWED], 4), play=PLAY)[0] for p in (policy, policy.copy())
    )
    assert first == second
    sides = [one.observations("points") for one in (first, second)]
    assert difference(sides[0], sides[1], "points", Unit.TASK).mean == 0


def test_another_seed_is_other_luck(policy: Policy) -> None:
    first, second = (
        evaluate(policy, LIBRARY_ID, dict.fromkeys([LENT, RENEWED], 4), seed=seed, play=PLAY)[1] for seed in (0, 1)
    )
    assert [episode.digest() for episode in first] != [episode.digest() for episode in second]


@pytest.mark.parametrize(
    ("measure", "ab", "c"),
    [
        ("points", [100.0, 50.0, 0.0, 0.0], [-20.0, 100.0]),
        ("solved", [100.0, 0.0, 0.0, 0.0], [0.0, 100.0]),
        ("solved-once", [100.0, 0.0], [100.0]),
        ("harmed", [0.0, 0.0, 0.0, 0.0], [100.0, 0.0]),
        ("unfinished", [0.0, 0.0, 0.0, 0.0], [100.0, 100.0]),
    ],
)
def test_a_measure_is_read_off_every_sample_of_the_tasks_asked_for(
    measure: Measure, ab: list[float], c: list[float]
) -> None:
    for tasks, values in (({"a", "b"}, ab), ({"c"}, c), (None, [*ab, *c]), (set[str](), [])):
        found = SOME.observations(measure, tasks=tasks, seed=5)
        assert [one.value for one in found] == values
        assert {one.training_seed for one in found} <= {5}
    (one,) = Evaluation(tasks={"w/f/0": result(7)}, faults=0).observations("points")
    assert one.family == "f"


@pytest.mark.parametrize("end", [*EndReason, None])
def test_unfinished_is_what_the_world_did_not_end(end: EndReason | None) -> None:
    own = replace(result(7), ends=(end,))
    world = end in {EndReason.FINISHED, EndReason.GAVE_UP, EndReason.USER_LEFT, EndReason.DEADLINE}
    assert own.values("unfinished") == [0.0 if world else 100.0]


def test_tasks_are_played_as_often_as_each_asks_for(policy: Policy) -> None:
    found, _ = evaluate(policy, LIBRARY_ID, {LENT: 3, RENEWED: 1}, play=PLAY)
    assert {task: len(one.solved) for task, one in found.tasks.items()} == {LENT: 3, RENEWED: 1}
    alike, _ = evaluate(policy, LIBRARY_ID, {RENEWED: 1, LENT: 3}, play=PLAY)
    assert alike == found


def test_a_group_never_has_more_samples_than_are_asked_for() -> None:
    groups = [HeldoutGroup(name="a", tasks=("w/a/0",)), HeldoutGroup(name="b", tasks=("w/b/0", "w/b/1"), samples=2)]
    material = LearningMaterial(world=WorldConfig(env_id=LIBRARY_ID), demonstrations=(), heldout=groups)
    assert material.samples(4) == {"w/a/0": 4, "w/b/0": 2, "w/b/1": 2}
    assert set(material.samples(1).values()) == {1}


def test_a_pair_is_solved_where_both_samples_of_a_number_are() -> None:
    played = Evaluation(
        tasks={
            "w/f/0": result(100, 100, 0, 0),
            "w/f-twin/0": result(100, 0, 100, 0),
            "w/g/0": result(100, 100),
            "w/f/1": result(100),
        },
        faults=0,
    )
    twins = {"w/f/0": "w/f-twin/0", "w/g/0": "w/g-twin/0", "w/h/0": "w/f/1"}
    found = played.pairs(twins, seed=3)
    assert [one.value for one in found] == [100.0, 0.0, 0.0, 0.0]
    assert {(one.task, one.family, one.training_seed) for one in found} == {("w/f/0", "f", 3)}


def test_a_difference_is_of_the_tasks_that_both_sides_have() -> None:
    before = [Observation(value=0.0, task="a"), Observation(value=50.0, task="b")]
    after = [Observation(value=100.0, task="a"), Observation(value=0.0, task="c")]
    assert difference(before, after, "solved", Unit.TASK).values == {"a": 100.0}


def test_an_evaluation_is_read_back_as_it_was_written(policy: Policy, tmp_path: Path) -> None:
    found, _ = evaluate(policy, LIBRARY_ID, dict.fromkeys([LENT], 2), play=PLAY)
    (tmp_path / "evaluation.json").write_bytes(orjson.dumps(found))
    assert EVALUATION.validate_json((tmp_path / "evaluation.json").read_bytes()) == found
    assert EVALUATION.validate_json(orjson.dumps(SOME)) == SOME


def test_an_evaluation_under_other_switches_is_done_anew(policy: Policy, tmp_path: Path) -> None:
    said: list[str] = []
    material = LearningMaterial(world=WORLD, demonstrations=(), heldout=[HeldoutGroup(name="one", tasks=(LENT,))])
    short = replace(material, world=replace(WORLD, switches={"max_turns": 1}))
    for own in (material, short, short):
        evaluation, _ = evaluate_policy(
            policy, own, SYNC, tmp_path / "kept", samples=1, name="policy", bar=silent, say=said.append
        )
    assert evaluation.tasks[LENT].turns == (1,)
    assert said == ["evaluation policy: done before"]


def test_progress_is_told_once_an_episode(policy: Policy) -> None:
    told: list[str] = []
    evaluate(policy, LIBRARY_ID, dict.fromkeys([LENT, RENEWED], 3), play=PLAY, progress=told.append)
    assert sorted(told) == [LENT] * 3 + [RENEWED] * 3
