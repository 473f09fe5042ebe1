"""What built-in fillers give for groups that were really played, and how demonstrations join them.

Axes: T tokens, U turns, R trajectories.
"""

from dataclasses import replace
from functools import cache, partial

import pytest
import torch

from crash.loops import POLICY, WORLD, demonstrations
from palaestra.agents.hosted import HostedEnv, WorldSpec
from palaestra.errors import TaskError
from palaestra.records import EndReason
from palaestra.trainers.data.demonstration import demonstration
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.data.layouts.paths import PathAttention
from palaestra.trainers.data.path import PrefixPath
from palaestra.trainers.fillers import BatchFiller, FillerInput, choose_fillers, needs_of
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.loops import initial_policy, tasks_of, worlds_of
from palaestra.trainers.objectives import BuiltObjective, ObjectiveConfig
from palaestra.trainers.policy import Policy
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.groups import GroupRule, OpenGroup, RolloutGroup, TaskPlan
from palaestra.trainers.rollouts.session import play_jobs
from palaestra.trainers.updates import filter_trajectories, reshape_rewards
from palaestra.trajectory import Episode
from palaestra.transcript import transcript_of
from worlds.registration import LIBRARY_ID

SIZE = 3
PLAY = PlayConfig(context=300, turn=12, turns=3, temperature=1.3)
SOLUTIONS = {episode.task.id: episode for episode in demonstrations()}
CHOSEN = {"adca": {"label_U": "rewards"}, "prof": {"process_R": "rewards"}}
PLAN = TaskPlan(tasks_of(WORLD), size=SIZE, seed=1, comparisons=("greedy", "idle"))


@cache
def policy() -> Policy:
    return initial_policy(POLICY, list(demonstrations()), seed=0)


@cache
def groups() -> tuple[RolloutGroup, ...]:
    """Two groups with every kind of comparison, played by a policy that knows nothing."""
    growing = [OpenGroup(index, 0, PLAN, GroupRule()) for index in range(2)]
    members = [member for group in growing for member in group.members]
    worlds = partial(worlds_of, WORLD, "compact")
    results = play_jobs(policy(), worlds, [member.job for member in members], PLAY)
    for member, result in zip(members, results, strict=True):
        member.episode, member.fate = result.episode, "finished"
    return tuple(group.group() for group in growing)


def made(preset: str, *, solutions: dict[str, Episode] | None = None) -> tuple[BuiltObjective, BatchFiller]:
    config = ObjectiveConfig(preset=preset)
    built = config.build()
    filler = BatchFiller(
        choose_fillers(built, CHOSEN.get(preset, {}), defaults=config.columns()),
        codec=policy().codec,
        demonstrations=SOLUTIONS if solutions is None else solutions,
        tasks=tasks_of(WORLD),
        names=("test", 0),
    )
    return built, filler


def given(preset: str) -> FillerInput:
    """The batch of both groups with its columns."""
    _, filler = made(preset)
    assembled = filler.assemble(groups(), [PLAN.group(index)[0].task for index in range(2)], 0)
    return filler.fill(assembled, filler.ask(assembled))


def ids_of(episode: Episode) -> tuple[int, ...]:
    (segment,) = episode.segments
    assert segment.tokens is not None
    return segment.tokens.ids


# Further rollouts


def test_comparisons_are_no_part_of_their_group() -> None:
    for group in groups():
        assert len(group.episodes) == SIZE == group.batch().trajectories
        assert {*group.comparisons} == {"greedy", "idle"}
        assert group.finished == SIZE + 2
        assert len({episode.id for episode in (*group.episodes, *group.comparisons.values())}) == SIZE + 2


def test_a_greedy_rollout_has_the_likeliest_token_everywhere() -> None:
    """Whatever the temperature of the others."""
    for group in groups():
        (segment,) = group.comparisons["greedy"].segments
        assert segment.tokens is not None
        ids, model = torch.tensor(segment.tokens.ids), policy().model
        attend = PathAttention([PrefixPath(own=len(ids))], ids.device)
        with torch.no_grad():
            likeliest = model.logits(model(ids, torch.arange(len(ids)), attend)).argmax(-1)
        own = torch.tensor(segment.tokens.sampled)
        assert int(own.sum()) > 0
        assert torch.equal(ids[1:][own[1:]], likeliest[:-1][own[1:]])
    assert any(episode.segments != groups()[0].comparisons["greedy"].segments for episode in groups()[0].episodes)


def test_the_greedy_return_is_that_of_the_trajectorys_group() -> None:
    expected = [float(group.comparisons["greedy"].episode_return) for group in groups() for _ in range(SIZE)]
    assert given("remax").batch.column("greedy_R").tolist() == expected


def test_the_idle_score_is_what_the_world_says_of_an_episode_without_turns() -> None:
    found = given("sharp").batch.column("counterfactual_R")
    for index, group in enumerate(groups()):
        assert not list(group.comparisons["idle"].turns)
        job = PLAN.group(index)[0]
        world = HostedEnv(WorldSpec(env_id=LIBRARY_ID, action_format="compact", imports=("worlds.registration",)))
        world.reset(job.task, job.seed)
        world.stop(EndReason.MAX_TURNS)
        assert found[SIZE * index : SIZE * (index + 1)].tolist() == [float(world.episode().score.points)] * SIZE
        world.close()


@pytest.mark.parametrize(("preset", "name"), [("remax", "greedy_R"), ("sharp", "counterfactual_R")])
def test_returns_of_other_rollouts_follow_a_change_of_the_unit(preset: str, name: str) -> None:
    batch = given(preset).batch.with_columns({name: torch.arange(2.0 * SIZE)})
    built = ObjectiveConfig(preset=preset, parts={"rewards": [{"part": "unit", "size": 100}]}).build()
    again = reshape_rewards(batch, built)
    assert torch.equal(again.column(name), batch.column(name) / 100)
    assert torch.equal(again.return_R, batch.return_R / 100)


# Rewards in the place of a judge


def test_labels_and_process_scores_are_what_the_turns_were_paid() -> None:
    episodes = [episode for group in groups() for episode in group.episodes]
    paid = [[turn.reward for turn in episode.turns] for episode in episodes]
    assert given("adca").batch.column("label_U").tolist() == [float(reward > 0) for one in paid for reward in one]
    scores = given("prof").batch.column("process_R").tolist()
    assert scores == pytest.approx([sum(one) / max(1, len(one)) for one in paid])


def test_the_solution_of_a_task_is_paid_for_where_it_should_be() -> None:
    """The library's lend-book pays for looking the book up and for lending it, not for saying that it is done."""
    solution = SOLUTIONS["library/lend-book/0000"]
    (segment,) = solution.segments
    tokens = demonstration(transcript_of(solution), policy().codec)
    batch = flatten([replace(solution, group="g", segments=(replace(segment, tokens=tokens),))])
    read = replace(given("adca"), batch=batch)
    for preset, name, expected in (("adca", "label_U", [1.0, 1.0, 0.0]), ("prof", "process_R", [100 / 3])):
        (chosen,) = choose_fillers(ObjectiveConfig(preset=preset).build(), CHOSEN[preset])
        assert chosen(read)[name].tolist() == pytest.approx(expected)


# Demonstrations


@pytest.mark.parametrize(("preset", "name"), [("spin", "chosen_R"), ("luffy", "expert_T")])
def test_a_demonstration_joins_each_group_and_is_marked(preset: str, name: str) -> None:
    read = given(preset)
    batch = read.batch
    assert batch.trajectories == 2 * SIZE + 2
    assert batch.group_R.tolist() == [0] * SIZE + [1] * SIZE + [0, 1]
    for place, group in enumerate(groups()):
        expert = read.episodes[2 * SIZE + place]
        tokens = demonstration(transcript_of(SOLUTIONS[group.episodes[0].task.id]), policy().codec)
        assert ids_of(expert) == tokens.ids
        assert expert.group == group.episodes[0].group
        own_T = batch.trajectory_T == 2 * SIZE + place
        assert batch.ids_T[own_T].tolist() == list(tokens.ids)
        assert batch.trained_T[own_T].tolist() == list(tokens.sampled)
        assert float(batch.return_R[2 * SIZE + place]) == 100
    is_expert_R = torch.tensor([False] * 2 * SIZE + [True] * 2)
    expected = is_expert_R if name == "chosen_R" else is_expert_R[batch.trajectory_T] & batch.trained_T
    assert torch.equal(batch.column(name) != 0, expected)


def test_without_experts_there_are_no_demonstrations_among_the_trajectories() -> None:
    read = given("igpo")
    assert read.batch.trajectories == 2 * SIZE
    assert not bool(read.is_demonstration_R.any())
    assert [e.task.id for e in read.demonstrations] == [e.task.id for e in read.episodes]


def test_a_task_without_a_demonstration_is_told_before_anything_is_played() -> None:
    kept = dict(list(SOLUTIONS.items())[1:])
    with pytest.raises(TaskError, match=f"expert_T need a demonstration of each task, and 1 of {len(SOLUTIONS)} have"):
        made("luffy", solutions=kept)
    made("remax", solutions={})


# Rephrased solutions


def rephrased() -> list[RolloutGroup]:
    """The groups, each with one of its rollouts in the place of a rephrased solution."""
    return [replace(one, comparisons={**one.comparisons, "rephrase": one.comparisons["greedy"]}) for one in groups()]


def test_a_rephrased_solution_joins_each_group_and_is_marked() -> None:
    built, filler = made("repo")
    assert filler.solutions == {task: transcript_of(episode) for task, episode in SOLUTIONS.items()}
    read = filler.fill(filler.assemble(rephrased(), [PLAN.group(index)[0].task for index in range(2)], 0), {})
    batch = read.batch
    assert batch.group_R.tolist() == [0] * SIZE + [1] * SIZE + [0, 1]
    assert batch.column("rephrased_R").tolist() == [0.0] * 2 * SIZE + [1.0] * 2
    for place, group in enumerate(groups()):
        own_T = batch.trajectory_T == 2 * SIZE + place
        assert batch.ids_T[own_T].tolist() == list(ids_of(group.comparisons["greedy"]))
    assert not bool(read.is_demonstration_R.any())
    assert filter_trajectories(batch, built).group_R.bincount().tolist() == [SIZE, SIZE]
    assert made("grpo")[1].solutions == {}


def test_demonstrations_and_rephrased_solutions_join_together_and_are_told_apart() -> None:
    config = ObjectiveConfig(preset="repo", parts={"trust": "luffy"})
    built = config.build()
    filler = BatchFiller(
        choose_fillers(built, {"expert_T": "demonstrations"}, defaults=config.columns()),
        codec=policy().codec,
        demonstrations=SOLUTIONS,
        tasks=tasks_of(WORLD),
        names=("test", 0),
    )
    read = filler.assemble(rephrased(), [PLAN.group(index)[0].task for index in range(2)], 0)
    assert read.batch.group_R.tolist() == [0] * SIZE + [1] * SIZE + [0, 1, 0, 1]
    assert read.is_demonstration_R.nonzero()[:, 0].tolist() == [2 * SIZE, 2 * SIZE + 1]
    assert read.is_rephrased_R.nonzero()[:, 0].tolist() == [2 * SIZE + 2, 2 * SIZE + 3]
    assert [episode.group for episode in read.episodes[2 * SIZE :]] == [one.episodes[0].group for one in groups()] * 2


# Filters before the policy's passes


def test_what_needs_the_policy_is_filled_in_for_the_trajectories_that_filters_leave() -> None:
    """It is the same for each of them as it is without a filter."""
    built, filler = made("mig")
    assert needs_of(choose_fillers(built, {}, defaults=ObjectiveConfig(preset="mig").columns())) == {
        "policy",
        "demonstrations",
    }
    read = given("mig")
    learner = Learner(policy().model, LearnerConfig(lr=1e-3))
    whole = filler.fill_from_policy(read.batch, read, learner)
    kept = [5, 1, 2]
    some = filler.fill_from_policy(read.batch.select(kept), read, learner)
    torch.testing.assert_close(some.column("gold_R"), whole.select(kept).column("gold_R"))
    torch.testing.assert_close(some.column("gold_U"), whole.select(kept).column("gold_U"))
    assert some.columns.keys() == whole.columns.keys()
    assert "place_R" not in some.columns


def test_a_filter_reads_what_a_filler_gave() -> None:
    """PROF keeps the most consistent of each side; here all failed, so those that were paid least for their turns."""
    config = ObjectiveConfig(preset="prof", parts={"filters": [{"part": "prof", "keep": 2}]})
    read = given("prof")
    kept = filter_trajectories(read.batch, config.build())
    assert kept.trajectories == 4
    assert not bool(read.batch.column("passed_R").any())
    for group in range(2):
        scores = read.batch.column("process_R")[read.batch.group_R == group]
        assert sorted(kept.column("process_R")[kept.group_R == group].tolist()) == scores.sort().values[:2].tolist()
