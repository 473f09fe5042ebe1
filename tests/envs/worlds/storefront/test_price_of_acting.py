"""What doing right, admitting, doing wrong and doing nothing are worth, on a task of every family and of every twin."""

from functools import cache

import pytest

from palaestra.envs import ToolEnv, bundled_tasks
from palaestra.envs.worlds.storefront.tools.casework import wait_days
from palaestra.envs.worlds.storefront.world import STOREFRONT
from palaestra.proof.trial import Trial, TrialOutcome
from palaestra.records import EndReason, ToolCall
from palaestra.rubrics.rubric import ADMITTED, LOOKUPS, TOTAL, UNFINISHED

pytestmark = pytest.mark.unmeasured
FINISH = ToolCall(tool="finish", arguments={})


@cache
def tasks() -> dict[str, str]:
    """By family: its last listed task of "dev", or of "heldout" where it occurs there alone."""
    listed = bundled_tasks(STOREFRONT)
    return {i.rpartition("/")[0]: i for split in ("heldout", "dev") for i in listed.ids(split)}


def lookups(trial: Trial) -> list[ToolCall]:
    """The oracle's calls that find something out: look-ups, questions that the user answers, and waits for events."""
    asks = ("ask", "confirm", "offer")
    return [
        step.call
        for step in trial.steps
        if (step.call.tool == wait_days.name or not trial.tool(step.call.tool).writes)
        and (step.call.tool != "reply" or step.call.arguments.get("act") in asks)
        and step.call.tool != "finish"
    ]


def run(trial: Trial, *calls: ToolCall) -> TrialOutcome:
    return trial.vary([(call,) for call in calls])


def give_up(trial: Trial) -> ToolCall:
    reason = " and ".join(sorted(trial.instance.rubric.refused_by)) or "It cannot be done."
    return ToolCall(tool="give_up", arguments={"reason": reason})


def test_right_beats_admitting_beats_wrong_and_nothing_is_worth_little() -> None:
    env = ToolEnv("storefront")
    tried = {"admissions": 0, "wrong": 0, "work": 0}
    for family, task in sorted(tasks().items()):
        trial = Trial(env, task)
        assert (trial.outcome.score.points, trial.outcome.passed) == (TOTAL, True), task
        read = lookups(trial)
        idle = run(trial, *read, FINISH)
        if any(trial.tool(step.call.tool).writes for step in trial.steps):
            tried["work"] += 1
            assert idle.score.points <= LOOKUPS, task
            late = run(trial, *(step.call for step in trial.steps[:-1]), give_up(trial))
            assert (late.score.points, late.passed) == (UNFINISHED, False), task
            never = run(trial, *(step.call for step in trial.steps[:-1]))
            assert (never.score.points, never.passed) == (UNFINISHED, False), task
        admitted = run(trial, *read, give_up(trial))
        assert not admitted.passed, task
        if trial.instance.rubric.refused_by:
            tried["admissions"] += 1
            assert (admitted.score.points, admitted.end) == (ADMITTED, EndReason.GAVE_UP), task
        else:
            assert admitted.score.points <= idle.score.points, task
        if (twin_of := env.task_set.families[family].twin_of) is not None:
            tried["wrong"] += 1
            number = task.rpartition("/")[2]
            granting = [step.call for step in Trial(env, f"{twin_of}/{number}").steps]
            assert run(Trial(env, task), *granting).score.points < ADMITTED, task
            refusing = [step.call for step in Trial(env, task).steps]
            sibling = Trial(env, f"{twin_of}/{number}")
            admission = run(sibling, *lookups(sibling), give_up(sibling))
            assert run(sibling, *refusing).score.points <= admission.score.points, task
    assert tried["admissions"] >= 30
    assert tried["wrong"] >= 30
    assert tried["work"] >= 70
