"""Episodes on the pages that Chromium shows: what is read comes from its document, and equals the text in process."""

from collections.abc import Iterator
from shutil import which
from typing import Any

import gymnasium as gym
import pytest

from palaestra.agents import oracle, rollout
from palaestra.agents.rollout import Env
from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.chromium import Chromium
from palaestra.envs.surfaces.pages.chromium_env import ChromiumEnv
from palaestra.errors import CapabilityError
from palaestra.trajectory import Episode

CHROMIUM = which("chromium") or "/usr/bin/chromium"
TASK = "storefront/cancel-order/5000"
COMPACT = {"dialect": "compact", "changes": True}


def make_env(**switches: Any) -> Env:
    return gym.make("palaestra/Storefront-v0", **switches)


def on_pages(**settings: Any) -> Env:
    return make_env(surface="pages", surface_settings={**COMPACT, **settings}, action_format="compact")


@pytest.fixture
def on_chromium() -> Iterator[ChromiumEnv]:
    env = ChromiumEnv(on_pages(), CHROMIUM)
    yield env
    env.close()


def play(env: Env, task: str) -> Episode:
    inside: Any = env.unwrapped
    return rollout(env, oracle(inside.oracle), name="oracle", seed=0, task=task)


@pytest.mark.parametrize(
    "switches", [{}, {"surface": "pages"}, {"surface": "pages", "surface_settings": {"dialect": "browsergym"}}]
)
def test_an_environment_without_pages_or_with_other_actions_is_refused(switches: dict[str, Any]) -> None:
    env = ChromiumEnv(make_env(**switches), "/nowhere")
    with pytest.raises(CapabilityError, match="a dialect of plain, compact, html"):
        env.reset(seed=0, options={"task": TASK})


def test_what_cannot_be_done_is_answered_as_in_process_and_changes_nothing(on_chromium: ChromiumEnv) -> None:
    plain = on_pages()
    turns = [
        "click element=row.ORD-0",
        "goto url=/elsewhere",
        "fill element=nav.orders",
        "dance",
        "> ",
        "goto url=/orders",
        "select_option element=filter.status option=lost",
        "fill element=filter.status text=shipped\npress element=filter.status",
        "press element=filter.status",
        "click element=filter.find",
    ]
    plain.reset(seed=0, options={"task": TASK})
    on_chromium.reset(seed=0, options={"task": TASK})
    for turn in turns:
        here, there = plain.step(turn), on_chromium.step(turn)
        assert [m["content"] for m in here[0]] == [m["content"] for m in there[0]], turn
        assert here[1:4] == there[1:4]


@pytest.mark.parametrize(
    ("family", "variation"), [("fraud-hold", None), ("refund-over-limit", "cards"), ("order-status", "wizard")]
)
def test_an_oracle_reads_in_chromium_what_it_reads_in_process(family: str, variation: str | None) -> None:
    looks = {} if variation is None else {"variation": variation}
    env = ChromiumEnv(on_pages(**looks), CHROMIUM)
    try:
        text, seen = (play(one, f"storefront/{family}/5000") for one in (on_pages(**looks), env))
    finally:
        env.close()
    assert (seen.score, seen.end) == (text.score, text.end)
    assert seen.segments == text.segments


def test_a_second_episode_begins_where_the_first_one_began(on_chromium: ChromiumEnv) -> None:
    assert play(on_chromium, TASK) == play(on_chromium, TASK)


def test_what_is_read_is_what_the_window_shows() -> None:
    env: Any = on_pages().unwrapped
    assert isinstance(env, ToolEnv)
    env.reset(seed=0, options={"task": TASK})
    with Chromium(CHROMIUM) as chromium, chromium.open(env) as pages:
        before = pages.read().page
        pages.window.evaluate("() => { document.querySelector('h1').textContent = 'Another heading' }")
        pages.window.evaluate("() => { document.querySelector('nav').style.display = 'none' }")
        after = pages.read().page
    assert next(e.name for e in before.elements if e.role == "heading") != "Another heading"
    assert next(e.name for e in after.elements if e.role == "heading") == "Another heading"
    assert [e.role for e in before.elements if e.name == "Tables"] == ["navigation"]
    assert [e.role for e in after.elements if e.name == "Tables"] == []


def test_what_the_customer_writes_stands_on_the_ticket_in_front(on_chromium: ChromiumEnv) -> None:
    plain = on_pages()
    for env in (plain, on_chromium):
        messages, _ = env.reset(seed=0, options={"task": "storefront/talk-hold-the-line/0000"})
    ticket = messages[1]["content"].split(",")[0].removeprefix("Ticket ")
    turns = [
        f"goto url=/tickets/{ticket}",
        "> Which <b>order</b> is it?",
        "noop",
        f"goto url=/do/resolve_ticket?ticket_id={ticket}",
        "fill element=field.ticket_id text=TCK-1",
        "> One moment.",
        "noop",
        "back",
    ]
    shown = ""
    for turn in turns:
        here, there = ([m["content"] for m in env.step(turn)[0]] for env in (plain, on_chromium))
        assert here == there, turn
        shown = here[-1]
    assert "You: Which <b>order</b> is it?" in shown
    assert "You: One moment." in shown
