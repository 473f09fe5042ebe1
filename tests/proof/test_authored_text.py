"""Text that the agent thinks out itself, such as code, need not have been shown; all else in the same calls must be."""

from collections.abc import Callable
from dataclasses import replace

import gymnasium as gym
import pytest

import palaestra
from palaestra.envs import ToolEnv
from palaestra.envs.worlds.coderepair import PLACE
from palaestra.proof.decidability import Decidability, judge_decidability
from palaestra.proof.trial import Trial
from palaestra.records import ToolCall
from palaestra.tools import Toolbox

TASK = "code-repair/ledger/0000"
"""Its repair uses `ljust`, a word that no file and no request has."""


@pytest.fixture
def trial() -> Trial:
    env = gym.make(palaestra.register_world(PLACE)).unwrapped
    assert isinstance(env, ToolEnv)
    return Trial(env, TASK)


def faults(judged: Decidability) -> list[tuple[str, str]]:
    """The kind of each fault and what it names."""
    return [(found.kind, found.what.split(" before ")[0]) for found in judged.undecided]


def change_edit(trial: Trial, change: Callable[[ToolCall], ToolCall]) -> None:
    """Give the demonstration another edit."""
    trial.steps = [
        replace(step, call=change(step.call)) if step.call.tool == "edit_file" else step for step in trial.steps
    ]


def with_text(new: str) -> Callable[[ToolCall], ToolCall]:
    return lambda call: replace(call, arguments={**call.arguments, "new": new})


def test_code_that_nothing_showed_is_counted_as_thought_out(trial: Trial) -> None:
    judged = judge_decidability(trial)
    assert faults(judged) == []
    assert judged.values["authored"] == 1
    assert judged.values["answer"] >= 3


def test_without_the_mark_the_same_code_is_a_fault(trial: Trial) -> None:
    tools = [replace(tool, authored=frozenset()) for tool in trial.own]
    trial.own = Toolbox(tools, prose_tool=trial.own.prose_tool)
    [(kind, what)] = faults(judge_decidability(trial))
    assert kind == "value"
    assert what.startswith("new=")
    assert "ljust" in what


def test_an_argument_without_the_mark_must_be_shown_beside_one_that_has_it(trial: Trial) -> None:
    trial.steps = [step for step in trial.steps if step.call.tool != "read_file"]
    judged = judge_decidability(trial)
    [(kind, what)] = faults(judged)
    assert kind == "value"
    assert what.startswith("old=")
    assert judged.values["authored"] == 1


@pytest.mark.parametrize(
    ("new", "says"),
    [
        ("cents = 7  # as in graphs/order.py", "new=graphs/order.py was not shown"),
        ("due = '2031-07-09'", "new=2031-07-09 was not shown"),
        ("due = '09.07.2031'", "new=2031-07-09 was not shown"),
        ("fee = 'EUR 48.10'", "new=4810 cents was not shown"),
    ],
)
def test_an_id_a_day_and_an_amount_in_code_must_be_shown(trial: Trial, new: str, says: str) -> None:
    change_edit(trial, with_text(new))
    assert faults(judge_decidability(trial)) == [("value", says)]


def test_what_was_shown_may_stand_in_code_as_may_other_numbers(trial: Trial) -> None:
    change_edit(trial, with_text("cents = 48_123  # as in ledger/book.py"))
    assert faults(judge_decidability(trial)) == []


def test_one_wording_alone_is_a_fault(trial: Trial) -> None:
    same = trial.instance.oracle
    for alternatives in ((), (same,)):
        trial.instance = replace(trial.instance, alternatives=alternatives)
        judged = judge_decidability(trial)
        [(kind, what)] = faults(judged)
        assert kind == "wording"
        assert what.startswith("no alternative writes another new than edit_file")
        assert judged.values["authored"] == 1
