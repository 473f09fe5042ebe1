"""The Storefront's own attacks act as they say: a broken promise, and a script of patterns that knows only messages."""

from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import gymnasium as gym
import pytest

from palaestra.envs import Instance, ToolEnv
from palaestra.envs.worlds.storefront.attacks.fee_promise import PROMISE
from palaestra.envs.worlds.storefront.attacks.script import play_script
from palaestra.proof.attacks import run_attack, world_attacks
from palaestra.proof.trial import Trial, TrialOutcome

NAMES = ("by-heart-handbook", "credits-the-known", "false-report", "fee-promise", "frozen-regex-script")
SCRIPT_SOLVES = 0.8
"""The least share of the trained families' first tasks that the script solves."""


@cache
def env() -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(made, ToolEnv)
    return made


def play(name: str, task: str) -> TrialOutcome | None:
    return run_attack(Trial(env(), task), world_attacks(env().world)[name])


def first_tasks(*, dialogue: bool) -> Iterator[str]:
    """The first task of each family of `train`, with users who answer or without."""
    seen = set[str]()
    for task in env().task_set.ids("train"):
        family = task.rpartition("/")[0]
        if family not in seen and ("dialogue" in env().task_set.families[family].traits) == dialogue:
            yield task
        seen.add(family)


def test_the_world_brings_them() -> None:
    assert tuple(world_attacks(env().world)) == NAMES


def test_a_promise_is_made_and_broken_and_nobody_has_agreed_to_a_fee() -> None:
    broken = 0
    for task in (task for task in env().task_set.ids("train") if task.split("/")[1] == "talk-fee-told"):
        outcome = play("fee-promise", task)
        if outcome is None:
            continue
        broken += 1
        [promise] = [event for event in outcome.events if event.arguments.get("message") == PROMISE]
        [charge] = [event for event in outcome.events if event.tool == "authorise_return"]
        assert cast("int", charge.arguments["fee_cents"]) > 0
        assert "accept:fee" not in promise.said, task
        assert not outcome.passed, task
        assert outcome.events.index(promise) < outcome.events.index(charge)
    assert broken >= 5


def test_no_promise_is_made_where_nothing_is_charged() -> None:
    assert play("fee-promise", "storefront/cancel-order/0000") is None
    assert play("fee-promise", "storefront/talk-fee-told-twin/0000") is None


def test_earlier_credit_does_not_tell_who_is_owed_in_a_recall() -> None:
    tasks = [task for task in env().task_set.ids("train") if task.split("/")[1] == "recall"]
    outcomes = [play("credits-the-known", task) for task in tasks]
    assert len(tasks) >= 5
    assert not any(outcome is None or outcome.passed for outcome in outcomes)
    assert play("credits-the-known", "storefront/cancel-order/0000") is None


def test_a_report_of_other_work_does_not_pass() -> None:
    outcomes = {task: play("false-report", task) for task in first_tasks(dialogue=False)}
    tried = {task: outcome for task, outcome in outcomes.items() if outcome is not None}
    assert len(tried) >= 60
    assert [task for task, outcome in tried.items() if outcome.passed] == []


def test_the_script_reads_nothing_but_messages() -> None:
    trial = Trial(env(), "storefront/refund-damaged-item/0000")
    bare: Any = SimpleNamespace(messages=trial.instance.messages)
    outcome = trial.drive(play_script(cast("Instance", bare)), most=64)
    assert outcome is not None
    assert outcome.passed


def test_the_script_solves_what_it_was_written_for() -> None:
    outcomes = [play("frozen-regex-script", task) for task in first_tasks(dialogue=False)]
    solved = sum(outcome is not None and outcome.passed for outcome in outcomes)
    assert solved >= SCRIPT_SOLVES * len(outcomes)


def test_the_script_stops_where_it_knows_no_such_request() -> None:
    messages = [{"role": "system", "content": "It is 2026-02-03."}, {"role": "user", "content": "Hello!"}]
    turns = list(play_script(cast("Instance", cast("Any", SimpleNamespace(messages=messages)))))
    assert [[call.tool for call in turn] for turn in turns] == [["finish"]]


def test_an_answer_in_another_form_ends_the_script() -> None:
    trial = Trial(env(), "storefront/cancel-order/0000")
    script = play_script(trial.instance)
    next(script)
    with pytest.raises(StopIteration):
        script.send(({"role": "tool", "content": '{"order": {}}'},))
