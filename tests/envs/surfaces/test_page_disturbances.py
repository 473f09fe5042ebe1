"""Disturbances of pages: they hide pages until they are ended, change no row, and are a part of the session."""

import pickle
from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.disturbances import (
    BESIDE,
    DISTURBANCES,
    END,
    KINDS,
    PASSING,
    SLOW_SECONDS,
)
from palaestra.errors import UnknownNameError

STOREFRONT = "palaestra/Storefront-v0"
TASKS = tuple(f"storefront/{name}/5000" for name in ("change-address", "refund-over-limit", "decline-late-return"))


def begin_episode(task: str = TASKS[0], *, variation: int | str | None = None, **disturbances: Any) -> ToolEnv:
    pages = {"variation": variation, "disturbances": disturbances}
    env = gym.make(STOREFRONT, surface="pages", surface_settings=pages)
    assert isinstance(env, ToolEnv)
    env.reset(seed=0, options={"task": task})
    return env


def act(env: ToolEnv, tool: str, **arguments: Any) -> tuple[str, Any]:
    messages, _, _, _, info = env.step({"tool": tool, "arguments": arguments})
    return str(messages[-1]["content"]), info["record"].events


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", [*KINDS, None])
def test_oracles_end_disturbances_and_get_every_point(task: str, kind: str | None) -> None:
    for percent, variation in ((100, None), (30, "wizard")):
        kinds = {} if kind is None else {"kinds": [kind]}
        env, info = begin_episode(task, percent=percent, seed=3, variation=variation, **kinds), dict[str, Any]()
        ended = 0
        for call in env.oracle():
            ended += call.arguments.get("element") == END
            info = env.step({"tool": call.tool, "arguments": dict(call.arguments)})[4]
        assert info["score"].points == info["score"].total
        assert ended > (5 if percent == 100 else 0) or kind in PASSING


@pytest.mark.parametrize("kind", sorted(DISTURBANCES.keys() - BESIDE))
def test_a_covered_page_shows_no_row_and_takes_no_action_until_it_is_ended(kind: str) -> None:
    env = begin_episode(percent=100, kinds=[kind])
    text, events = act(env, "goto", url="/orders")
    assert DISTURBANCES[kind][1] in text
    assert "ORD-" not in text
    assert all(not event.shown for event in events)
    assert act(env, "click", element="filter.find")[1][-1].error == "stale_element"
    text, events = act(env, "click", element=END)
    assert "ORD-" in text
    assert events[-1].shown
    assert not env.changes


def test_a_chat_covers_nothing() -> None:
    text, events = act(begin_episode(percent=100, kinds=["chat"]), "goto", url="/orders")
    assert "ORD-" in text
    assert events[-1].shown


def test_an_old_list_lacks_its_last_row_until_it_is_refreshed() -> None:
    env = begin_episode(percent=100, kinds=["stale"])
    text, events = act(env, "goto", url="/orders")
    old = set(events[-1].shown)
    text, events = act(env, "click", element=END)
    assert text.count("row.ORD-") == len(old) + 1
    assert len({*events[-1].shown} - old) == 1


def test_a_moved_button_stands_before_the_fields_and_a_disabled_one_waits_for_them() -> None:
    text, _ = act(begin_episode(percent=100, kinds=["moved"]), "goto", url="/do/resolve_ticket")
    assert text.index("[send]") < text.index("[field.ticket_id]")
    env = begin_episode(percent=100, kinds=["disabled"])
    text, _ = act(env, "goto", url="/do/resolve_ticket")
    assert "[send]" not in text
    assert "Fill in ticket_id first." in text
    assert act(env, "click", element="send")[1][-1].error == "stale_element"
    assert act(env, "press", element="field.ticket_id")[1][-1].tool == "press"
    text, _ = act(env, "fill", element="field.ticket_id", text="TCK-1")
    assert "[send]" in text


def test_a_slow_answer_takes_time_of_the_virtual_clock() -> None:
    plain, slow = begin_episode(percent=0), begin_episode(percent=100, kinds=["slow"])
    before = slow.episode.clock.elapsed
    for env in (plain, slow):
        act(env, "goto", url="/orders")
    assert slow.episode.clock.elapsed == plain.episode.clock.elapsed + SLOW_SECONDS
    assert before == 0


def test_disturbances_are_in_snapshots_forks_and_digests_and_follow_the_seed() -> None:
    env = begin_episode(percent=50, seed=1)
    act(env, "goto", url="/orders")
    kept, fork = pickle.loads(pickle.dumps(env.snapshot())), env.fork()
    for url in ("/customers", "/products", "/"):
        for one in (env, fork):
            act(one, "goto", url=url)
        assert env.digest() == fork.digest()
    other = begin_episode(percent=50, seed=1)
    other.restore(kept)
    for url in ("/customers", "/products", "/"):
        act(other, "goto", url=url)
    assert other.digest() == env.digest()
    drawn = set[str]()
    for seed in range(12):
        one = begin_episode(percent=50, seed=seed)
        act(one, "goto", url="/orders")
        browser = one.episode.surface
        assert isinstance(browser, PageBrowser)
        drawn.add(browser.session.disturbance.present)
    assert len(drawn) >= 3


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"percent": 101}, ValueError),
        ({"percent": 10, "seed": -1}, ValueError),
        ({"percent": 10, "kinds": []}, ValueError),
        ({"percent": 10, "kinds": ["captcha"]}, UnknownNameError),
        ({"percent": "10"}, TypeError),
        ({"often": 10}, UnknownNameError),
        ({}, ValueError),
    ],
)
def test_wrong_switches_are_refused(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        begin_episode(**given)
