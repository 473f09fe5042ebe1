"""Points without grades: by hand, and of episodes of the storefront. Axes: U turns, R trajectories, L layers."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from graded import graded, reals
from palaestra.agents.rollout import EpisodeRecorder
from palaestra.agents.scripted import as_action
from palaestra.envs import ToolEnv
from palaestra.errors import ConfigError
from palaestra.proof.trial import Trial
from palaestra.records import EndReason, ToolCall
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.columns import rollout_columns
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.objectives.rewards import PayUngraded
from palaestra.trainers.updates import reshape_rewards
from palaestra.trajectory import Episode

# By turn what expectations won: look-ups (selection), parameters, outcomes, messages.
WON: list[list[list[float]]] = [
    [[5, 0, 0, 0], [0, 0, 85, 0], [0, 0, 0, 10]],
    [[2.5, 0, 0, 0], [0, 0, 85, 0], [0, 0, -85, 0]],
    [],
    [[0, 0, 0, 10]],
    [[60, 0, 0, 0], [40, 0, 0, 0]],
    [[0, 30, 70, 0]],
]
SHARES = [[0.05, 0, 0.85, 0.1]] * 4 + [[1, 0, 0, 0], [0, 0.3, 0.7, 0]]
HARM = [0, 0, 0, 0, 100, -80, 60, 0, 120, 0]


def played() -> TokenBatch:
    """All done in order; undone harm; no turn; a reply alone with a falsehood; look-ups alone; none."""
    turns = [turn for own in WON for turn in own]
    assert len(turns) == len(HARM)
    return graded(
        [[1] * len(own) for own in WON],
        rewards=[[-7.0] * len(own) for own in WON],
        columns={
            "won_UL": np.array(turns), "shares_RL": np.array(SHARES), "harm_U": HARM, "total_R": [100] * len(WON),
            "passed_R": [1, 0, 0, 0, 1, 1],
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        (
            PayUngraded(harm=100),
            [20, 85 * 80 / 95, 10 * 80 / 95, 10, 85 * 80 / 95 - 100, -85 * 80 / 95, 10 * 80 / 95 - 100, 60, -160, 100],
        ),
        (PayUngraded(lookups=0.05, harm=20), [5, 85, 10, 2.5, 85 - 100, -85, 10 - 60, 60, 40 - 120, 100]),
        (
            PayUngraded(lookups=0, harm=50),
            [0, 85 / 0.95, 10 / 0.95, 0, 85 / 0.95 - 100, -85 / 0.95, 10 / 0.95 - 100, 60, -110, 100],
        ),
        (PayUngraded(lookups=1, harm=500), [100, 0, 0, 50, -500, 0, -500, 60, -460, 100]),
    ],
    ids=repr,
)
def test_each_turn_is_paid_what_changed_in_it(reward: PayUngraded, expected: list[float]) -> None:
    """Golden numbers by hand, whatever the world paid. A harm that is undone is not given back."""
    assert reward(played()).tolist() == pytest.approx(expected)


def test_what_is_given_stays_as_it_is() -> None:
    batch, same = played(), played()
    PayUngraded()(batch)
    assert batch.equals(same)


def test_it_pays_in_the_objectives_unit_and_leaves_scores() -> None:
    built = ObjectiveConfig(parts={"rewards": ["ungraded"]}).build()
    batch = replace(played(), return_R=reals([0.0] * len(WON)))
    now = reshape_rewards(batch, built)
    assert now.return_R.tolist() == pytest.approx([1, 0.1 - 1, 0, 0.08 / 0.95 - 1, 1 - 2, 1])
    for name in ("passed_R", "total_R"):
        assert torch.equal(now.column(name), batch.column(name))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: PayUngraded(lookups=-0.1), "lookups=-0.1"),
        (lambda: PayUngraded(lookups=1.1), "lookups=1.1"),
        (lambda: PayUngraded(harm=0), "harm=0"),
        (lambda: PayUngraded(harm=float("inf")), "harm=inf"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(make: Callable[[], PayUngraded], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ("solved", "only the last would count"),
        ({"part": "flipped", "share": 0.2}, "which are not paid"),
        ({"part": "harm-scale", "factor": 2}, "each sets the price of harm"),
    ],
)
def test_parts_that_pay_for_the_same_are_refused(other: object, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        ObjectiveConfig(parts={"rewards": ["ungraded", other]})
    with pytest.raises(ConfigError, match="would have no effect"):
        ObjectiveConfig(preset="cm2", parts={"rewards": ["ungraded"]})


# Of the storefront: what the rubric pays, and what this part does


TASK = "storefront/cancel-order/0000"


def episode(env: ToolEnv, calls: Sequence[ToolCall], *, stop: bool = False) -> Episode:
    recording = EpisodeRecorder(env, agent="hand", seed=0, task=TASK)
    for call in calls:
        recording.step(as_action(call))
    if stop:
        recording.stop(EndReason.TOKEN_BUDGET)
    return recording.episode()


def ungraded(one: Episode) -> float:
    """What the part pays an episode, in points."""
    turns = list(one.turns)
    batch = graded([[1] * len(turns)], rewards=[[turn.reward for turn in turns]])
    return float(PayUngraded(harm=100)(batch.with_columns(rollout_columns([one], [len(turns)]))).sum())


def test_episodes_of_the_storefront_are_paid_as_before_harm_and_ends_were_graded() -> None:
    env = ToolEnv("storefront")
    trial = Trial(env, TASK)
    calls = [step.call for step in trial.steps]
    read = [call for call in calls if not trial.tool(call.tool).writes and call.tool not in ("reply", "finish")]
    give_up = ToolCall(tool="give_up", arguments={"reason": "It cannot be done."})
    finish = ToolCall(tool="finish", arguments={})
    invented = [
        replace(
            call, arguments={**call.arguments, "message": f"{call.arguments['message']} We have paid you EUR 77.31."}
        )
        if call.tool == "reply"
        else call
        for call in calls
    ]
    guessed = ToolCall(tool="cancel_order", arguments={"order_id": "ORD-1001"})
    cases = {
        "right": (episode(env, calls), 100, 100),
        "looked up": (episode(env, [*read, finish]), 5, 20),
        "looked up and given up": (episode(env, [*read, give_up]), 5, 20),
        "done and given up": (episode(env, [*calls[:-1], give_up]), 30, 100),
        "done and out of tokens": (episode(env, calls[:-1], stop=True), 30, 100),
        "nothing": (episode(env, [finish]), 0, 0),
        "done, with two falsehoods": (episode(env, invented), -20, -100),
        "a stranger's order": (episode(env, [*read, guessed, finish]), -35, -80),
    }
    for name, (one, points, paid) in cases.items():
        assert one.score.points == points, name
        assert ungraded(one) == pytest.approx(paid), name
