"""Noise on pages: actions of the world fail, wait and are late, things happen, and every task stays solvable."""

from typing import Any

import pytest

from palaestra.envs import ToolEnv
from palaestra.errors import CapabilityError
from worlds.noisy import SWITCHES, play, scored_again, storefront

ON_PAGES = ("conflicts", "failures", "rate_limit", "latency", "deadline", "events")
ALL = {name: value for switch in ON_PAGES for name, value in SWITCHES[switch].items()} | {
    "failures": 70,
    "deadline": 80_000,
}
TASKS = tuple(f"storefront/{family}/5000" for family in ("cancel-order", "refund-over-limit", "decline-late-return"))


def pages(noise: dict[str, Any], **switches: Any) -> ToolEnv:
    return storefront(noise, surface="pages", split="dev", max_turns=400, **switches)


# Not "computer": an alert moves what stands below it, so a place that is clicked again is another one.
@pytest.mark.parametrize("dialect", [None, "browsergym", "playwright-mcp", "browser-use", "html"])
def test_a_patient_oracle_solves_under_all_noise_of_pages_and_its_log_gives_the_same_score(dialect: str | None) -> None:
    env = pages(ALL, surface_settings=None if dialect is None else {"dialect": dialect})
    refused = 0
    for seed, task in enumerate(TASKS):
        played = play(env, task, seed)
        assert played.score.passed, f"{task}: {played.score.verdicts}"
        assert tuple(scored_again(env, played)) == played.points
        refused += sum(played.infos[-1]["noise"]["refused"].values())
    assert refused > 0


def test_a_failed_action_changes_nothing_keeps_the_form_and_says_so() -> None:
    env = pages({"failures": 100})
    env.reset(seed=0, options={"task": TASKS[0]})
    env.step({"tool": "goto", "arguments": {"url": "/do/cancel_order"}})
    env.step({"tool": "fill", "arguments": {"element": "field.order_id", "text": "ORD-1227"}})
    send = {"tool": "click", "arguments": {"element": "send"}}
    texts = [env.step(send)[0][-1]["content"] for _ in range(3)]
    assert ["alert: unavailable: the service did not answer in time" in text for text in texts] == [True, True, False]
    assert all('holds "ORD-1227"' in text for text in texts[:2])
    assert [e.error for e in env.events if e.tool == "cancel_order"] == ["unavailable", "unavailable", None]
    assert env.changes[0].table == "orders"


def test_forks_under_noise_go_on_alike() -> None:
    env = pages(ALL)
    env.reset(seed=3, options={"task": TASKS[1]})
    calls = [{"tool": call.tool, "arguments": dict(call.arguments)} for call in env.oracle()]
    for call in calls[:9]:
        env.step(call)
    fork = env.fork()
    for call in calls[9:20]:
        assert env.step(call)[0] == fork.step(call)[0]
        assert env.digest() == fork.digest()


@pytest.mark.parametrize("name", sorted(set(SWITCHES) - set(ON_PAGES)))
def test_noise_of_tools_and_their_answers_is_refused(name: str) -> None:
    with pytest.raises(CapabilityError, match=f"noise {name}=.*has the switches conflicts, failures"):
        pages(dict(SWITCHES[name]))
