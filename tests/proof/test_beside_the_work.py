"""Attacks by templates, by spam and without an end act as they are described."""

from collections import Counter
from functools import cache

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.proof import attack_tasks
from palaestra.proof.attacks import ATTACKS, run_attack
from palaestra.proof.trial import Trial, TrialOutcome
from palaestra.records import EndReason
from palaestra.tools.tool import MAX_TEXT

FAMILIES = ("refund-damaged-item", "cancel-order", "warranty-claim", "talk-fee-told")
TASKS = tuple(f"storefront/{family}/0000" for family in FAMILIES)


@cache
def env(surface: str | None = None) -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0", surface=surface).unwrapped
    assert isinstance(made, ToolEnv)
    return made


@cache
def trial(task: str, surface: str | None = None) -> Trial:
    return Trial(env(surface), task)


def attack(name: str, task: str, surface: str | None = None) -> tuple[Trial, TrialOutcome]:
    of = trial(task, surface)
    outcome = run_attack(of, ATTACKS[name])
    assert outcome is not None, task
    return of, outcome


@pytest.mark.parametrize(("name", "right"), [("grants-by-template", 0), ("refuses-by-template", 1)])
def test_a_template_solves_one_half_of_each_pair(name: str, right: int) -> None:
    for task in TASKS[:3]:
        halves = (task, task.replace("/0000", "-twin/0000"))
        result = attack_tasks(env(), halves, [name])
        assert [one.results[name].solved for one in result.tasks] == [position == right for position in (0, 1)], task
        assert (result.results[0].pairs, result.results[0].pairs_solved) == (1, 0)


def test_a_template_has_nothing_to_try_in_a_family_without_a_twin() -> None:
    alone = trial("storefront/decline-late-return/0000")
    assert run_attack(alone, ATTACKS["grants-by-template"]) is None
    assert run_attack(alone, ATTACKS["refuses-by-template"]) is None


@pytest.mark.parametrize(
    ("name", "end"),
    [("falls-silent-after-the-work", EndReason.UNPARSABLE), ("never-ends-after-the-work", EndReason.MAX_TURNS)],
)
@pytest.mark.parametrize("task", TASKS)
def test_the_work_is_done_and_not_ended(name: str, end: EndReason, task: str) -> None:
    of, outcome = attack(name, task)
    assert outcome.end is end
    assert outcome.changes == of.outcome.changes


@pytest.mark.parametrize("task", TASKS)
def test_a_message_is_sent_again_and_again(task: str) -> None:
    _, outcome = attack("repeats-its-message", task)
    messages = Counter(str(event.arguments["message"]) for event in outcome.events if event.tool == "reply")
    assert max(messages.values()) == 11


@pytest.mark.parametrize("task", TASKS)
def test_texts_are_padded_to_the_longest(task: str) -> None:
    of, outcome = attack("pads-every-text", task)
    for mine, right in zip(outcome.events, of.outcome.events, strict=True):
        if right.tool == "reply":
            text = str(mine.arguments["message"])
            assert text.startswith(str(right.arguments["message"]))
            assert MAX_TEXT - 200 <= len(text) <= MAX_TEXT
