"""Figures of a step's rollouts, against episodes of which they can be worked out on paper."""

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.records import EndReason, Features, Layer, Score, TaskSpec, ToolCall, ToolEvent
from palaestra.trainers.monitors import rollout_metrics
from palaestra.trajectory import Episode, Segment, Tokens, Turn

TASK = TaskSpec(
    id="storefront/lookup/0001",
    family="lookup",
    split="train",
    level=1,
    traits=(),
    unseen=False,
    world_seed=0,
    max_turns=4,
    oracle_calls=1,
    features=Features(hops=0, entities=1, exceptions=0, writes=0, messages=0),
)


def event(*, schema_ok: bool = True, semantic_ok: bool = True) -> ToolEvent:
    return ToolEvent(
        call_id="call-1",
        tool="get_order",
        arguments={},
        schema_ok=schema_ok,
        semantic_ok=semantic_ok,
        executed=schema_ok and semantic_ok,
        result_digest="",
        error=None,
        cost=1,
        latency=1,
        duplicate_of=None,
        named=(),
        written=0,
        shown=(),
        mentioned=frozenset(),
    )


def turn(*events: ToolEvent, reward: float = 0.0) -> Turn:
    """A turn that holds these calls; without any it could not be read."""
    return Turn(
        text="",
        calls=(ToolCall(tool="get_order", arguments={}),) * len(events),
        events=events,
        changes=(),
        observation=(),
        reward=reward,
        components={},
        met=(),
        violated=(),
        state_hash="",
        anchor="",
    )


def episode(
    *,
    group: str = "a",
    reward: float = 0.0,
    sampled: int = 1,
    turns: tuple[Turn, ...] | None = None,
    points: Mapping[Layer, int] | None = None,
    end: EndReason | None = EndReason.FINISHED,
    valid: bool = True,
) -> Episode:
    """One that earned `reward` of 4 points, and whose policy wrote `sampled` tokens behind a prompt of two."""
    components = points or {}
    ids = (1, 2, *range(3, 3 + sampled))
    tokens = Tokens(
        ids=ids,
        sampled=(False, False, *(True,) * sampled),
        logprobs=(0.0,) * len(ids),
        versions=(0,) * len(ids),
    )
    played = (turn(event(), reward=reward),) if turns is None else turns
    return Episode(
        env_id="palaestra/Storefront-v0",
        task=TASK,
        agent="policy",
        seed=0,
        tools=(),
        rubric=(),
        segments=(Segment(prompt=(), turns=played, tokens=tokens),),
        end=end,
        score=Score(
            points=sum(components.values()),
            total=4,
            passed=sum(components.values()) == 4,
            verdicts={},
            components=components,
        ),
        valid_for_baseline=valid,
        group=group,
    )


def test_rewards_are_a_mean_and_the_samples_deviation() -> None:
    metrics = rollout_metrics([episode(reward=0.0), episode(reward=1.0)])
    assert metrics["reward/mean"] == 0.5
    assert metrics["reward/std"] == pytest.approx(sqrt(0.5))


def test_one_episode_has_no_deviation() -> None:
    assert "reward/std" not in rollout_metrics([episode(reward=1.0)])


def test_the_layers_shares_sum_to_the_score() -> None:
    metrics = rollout_metrics(
        [episode(points={"selection": 1, "outcome": 3}), episode(points={"selection": 1, "params": -2})]
    )
    assert metrics["score/selection"] == 0.25
    assert metrics["score/params"] == -0.25
    assert metrics["score/outcome"] == 0.375
    assert metrics["score/task"] == 0
    assert metrics["score/mean"] == 0.375
    assert metrics["solved"] == 0.5


def test_a_world_that_does_not_say_what_a_solved_task_pays_has_no_share_of_points() -> None:
    silent = episode(reward=1.0, points={"outcome": 4})
    silent = replace(silent, score=replace(silent.score, total=0))
    metrics = rollout_metrics([silent])
    assert (metrics["reward/mean"], metrics["solved"]) == (1.0, 1.0)
    assert not any(name.startswith("score/") for name in metrics)
    assert rollout_metrics([silent, episode(points={"outcome": 2})])["score/mean"] == 0.5


def test_lengths_count_turns_what_was_written_and_what_was_read() -> None:
    metrics = rollout_metrics([episode(sampled=3, turns=(turn(), turn())), episode(sampled=6)])
    assert metrics["length/turns"] == 1.5
    assert metrics["length/sampled"] == 4.5
    assert metrics["length/context"] == 6.5
    assert metrics["length/turn"] == 3


def test_episodes_without_tokens_have_turns_and_no_lengths_in_tokens() -> None:
    spoken = episode()
    spoken = replace(spoken, segments=(replace(spoken.segments[0], tokens=None),))
    metrics = rollout_metrics([spoken])
    assert metrics["length/turns"] == 1
    assert not {"length/sampled", "length/context", "length/turn", "length/correlation"} & metrics.keys()


def test_invalid_turns_are_those_that_cannot_be_read_and_those_whose_calls_fit_no_tool() -> None:
    turns = (
        turn(),
        turn(event(), event(schema_ok=False, semantic_ok=False)),
        turn(event(semantic_ok=False)),
        turn(event()),
    )
    metrics = rollout_metrics([episode(turns=turns)])
    assert metrics["actions/unreadable"] == 0.25
    assert metrics["actions/invalid"] == 0.5
    assert metrics["actions/misfit"] == 0.25
    assert metrics["actions/refused"] == 0.25


def test_an_episode_that_ended_before_its_first_turn_has_no_actions() -> None:
    metrics = rollout_metrics([episode(turns=(), end=EndReason.TOKEN_BUDGET)])
    assert metrics["length/turns"] == 0
    assert not [name for name in metrics if name.startswith("actions/")]


def test_ends_are_shares_that_sum_to_one() -> None:
    ends = (EndReason.FINISHED, EndReason.UNPARSABLE, EndReason.UNPARSABLE, None)
    metrics = rollout_metrics([episode(end=end) for end in ends])
    shares = {name: value for name, value in metrics.items() if name.startswith("end/")}
    assert set(shares) == {f"end/{reason}" for reason in [*EndReason, "none"]}
    assert shares["end/finished"] == 0.25
    assert shares["end/unparsable"] == 0.5
    assert shares["end/none"] == 0.25
    assert metrics["unfinished"] == 0.75, "a rollout that stopped is unfinished too"
    assert sum(shares.values()) == 1


def test_faults_are_counted_and_are_in_no_other_figure() -> None:
    fine = [episode(reward=0.0), episode(reward=1.0, sampled=4)]
    fault = episode(reward=0.5, sampled=100, valid=False, end=None)
    assert rollout_metrics([*fine, fault]) == {**rollout_metrics(fine), "faults": 1}


def test_of_faults_alone_nothing_is_known_but_their_number() -> None:
    assert rollout_metrics([episode(valid=False)] * 3) == {"faults": 3}


def test_a_group_is_flat_when_all_its_returns_are_equal_or_when_it_is_of_one() -> None:
    groups = [("equal", 0.5), ("equal", 0.5), ("differ", 0.0), ("differ", 1.0), ("alone", 1.0), ("near", 0.1)]
    episodes = [episode(group=group, reward=reward) for group, reward in [*groups, ("near", 0.1000001)]]
    assert rollout_metrics(episodes)["groups/flat"] == 0.5


def test_episodes_that_name_no_group_are_in_none() -> None:
    assert "groups/flat" not in rollout_metrics([episode(group=""), episode(group="")])


def test_reward_that_grows_with_length_within_a_group_correlates_fully() -> None:
    paid = [episode(reward=0.1 * n, sampled=10 * n) for n in range(1, 6)]
    assert rollout_metrics(paid)["length/correlation"] == pytest.approx(1.0)
    fined = [episode(reward=-0.1 * n, sampled=10 * n) for n in range(1, 6)]
    assert rollout_metrics(fined)["length/correlation"] == pytest.approx(-1.0)


def test_hard_tasks_that_are_long_and_earn_little_are_no_correlation_within_groups() -> None:
    """Over all four episodes the correlation is near -1; within each group there is none."""
    easy = [episode(group="easy", reward=1.0, sampled=n) for n in (1, 3)]
    hard = [episode(group="hard", reward=reward, sampled=100) for reward in (0.0, 0.2)]
    assert rollout_metrics([*easy, *hard])["length/correlation"] == pytest.approx(0.0)


def test_equal_lengths_or_equal_returns_have_no_correlation() -> None:
    assert "length/correlation" not in rollout_metrics([episode(reward=0.0), episode(reward=1.0)])
    assert "length/correlation" not in rollout_metrics([episode(sampled=1), episode(sampled=9)])


@given(
    drawn=st.lists(
        st.tuples(st.sampled_from("abc"), st.floats(-1, 1), st.integers(1, 50)),
        min_size=1,
        max_size=20,
    ),
    order=st.randoms(use_true_random=False),
)
def test_shares_are_shares_and_order_changes_nothing(drawn: list[tuple[str, float, int]], order: Random) -> None:
    episodes = [episode(group=group, reward=reward, sampled=sampled) for group, reward, sampled in drawn]
    metrics = rollout_metrics(episodes)
    assert -1 <= metrics.get("length/correlation", 0) <= 1
    assert 0 <= metrics["groups/flat"] <= 1
    order.shuffle(episodes)
    assert rollout_metrics(episodes) == pytest.approx(metrics, abs=1e-6)
