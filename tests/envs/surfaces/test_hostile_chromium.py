"""Hostile users of pages in Chromium: both renderers agree under attack, nothing runs, and a killed browser is void."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import gymnasium as gym
import pytest

from palaestra.browser.driver import child_processes
from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.chromium import Chromium, ChromiumPages, PageStep
from palaestra.envs.surfaces.pages.disturbances import END
from palaestra.envs.surfaces.pages.tree import FIELDS
from palaestra.errors import EpisodeOverError, InfrastructureError
from palaestra.records import Json, ToolCall

CHROMIUM = which("chromium") or "/usr/bin/chromium"
WORLDS = ("Storefront", "Shop")
GROWTH = 200 * 2**20
"""Bytes by which Chromium may grow in a hundred episodes."""
MARKUP = (
    "</textarea></option>\"'><script>document.title='owned'</script>"
    "<img src=https://evil.test/x onerror=\"document.title='owned'\"><svg onload=alert(1)>&lt;b&gt;"
)


@pytest.fixture
def chromium() -> Iterator[Chromium]:
    with Chromium(CHROMIUM) as opened:
        yield opened


def begin_episode(world: str, **switches: Any) -> ToolEnv:
    env = gym.make(f"palaestra/{world}-v0", surface="pages", max_turns=2_000, **switches)
    assert isinstance(env, ToolEnv)
    env.reset(seed=0, options={"task": env.task_set.ids("dev")[0]})
    return env


def browser_of(env: ToolEnv) -> PageBrowser:
    browser = env.episode.surface
    assert isinstance(browser, PageBrowser)
    return browser


def act(pages: ChromiumPages, tool: str, **arguments: Json) -> PageStep:
    step = pages.act(ToolCall(tool=tool, arguments=arguments))
    assert (step.sent, step.shown) == (step.expected, step.drawn), step.call
    return step


def open_order(env: ToolEnv) -> str:
    return next(row.id for row in env.episode.state.find(env.world.schema["orders"].kind, status="processing"))


def test_double_submits_going_back_and_two_tabs_write_once_in_both(chromium: Chromium) -> None:
    env = begin_episode("Storefront")
    order = open_order(env)
    with chromium.open(env) as pages:
        for tab in (1, 2):
            if tab == 2:
                act(pages, "tab_new")
            act(pages, "goto", url=f"/orders/{order}")
            act(pages, "click", element="do.cancel_order")
        step = act(pages, "click", element="send")
        assert step.sent.startswith("POST")
        rows = env.state_hash()
        for tool, more in (
            ("click", {"element": "send"}),
            ("back", {}),
            ("click", {"element": "field.gone"}),
            ("forward", {}),
            ("press", {"element": "field.order_id"}),
            ("tab_focus", {"number": 1}),
            ("click", {"element": "send"}),
            ("tab_focus", {"number": 2}),
        ):
            act(pages, tool, **more)
            assert env.state_hash() == rows
    assert len([one for one in env.changes if one.table == "orders"]) == 1


def test_an_expired_session_sends_nothing_in_both(chromium: Chromium) -> None:
    env = begin_episode("Storefront", surface_settings={"disturbances": {"percent": 100, "kinds": ["expired"]}})
    order, rows = open_order(env), env.state_hash()
    with chromium.open(env) as pages:
        act(pages, "goto", url=f"/do/cancel_order?order_id={order}")
        assert act(pages, "click", element="send").sent == ""
        assert env.state_hash() == rows
        act(pages, "click", element=END)
        assert act(pages, "click", element="send").sent.startswith("POST")
    assert env.state_hash() != rows


@pytest.mark.parametrize("world", WORLDS)
def test_markup_in_every_field_is_text_and_nothing_runs(world: str, chromium: Chromium) -> None:
    env = begin_episode(world)
    urls = [f"/{info.name}" for info in env.world.schema] + [f"/do/{name}" for name in browser_of(env).site.actions]
    tried, dialogs = 0, list[str]()
    with chromium.open(env) as pages:
        pages.on_dialog(dialogs.append)
        for url in urls:
            act(pages, "goto", url=url)
            page = browser_of(env).page(env.episode.state)
            texts = [e.id for e in page.walk() if e.role in FIELDS and not e.options and e.role != "checkbox"]
            for name in texts:
                act(pages, "fill", element=name, text=MARKUP)
                tried += 1
            if texts:
                act(pages, "click", element=next(e.id for e in page.walk() if e.role == "button"))
                assert pages.title() != "owned"
        assert (pages.denied, dialogs) == ([], [])
    assert tried >= 20


def test_a_megabyte_in_a_field_is_refused_in_both(chromium: Chromium) -> None:
    env = begin_episode("Storefront")
    with chromium.open(env) as pages:
        act(pages, "goto", url="/do/send_internal_message")
        act(pages, "fill", element="field.ticket_id", text="kept")
        step = act(pages, "fill", element="field.body", text="x" * 1_000_000)
        held = {one.id: one.value for one in step.shown}
        assert (held["field.body"], held["field.ticket_id"]) == ("", "kept")
        act(pages, "fill", element="field.body", text="a\r\nb\0c\x0b\u2028")
        act(pages, "click", element="send")
        act(pages, "goto", url="/customers")
        act(pages, "fill", element="filter.search", text="a\nb")
        act(pages, "press", element="filter.search")


def kill_part(kind: str) -> None:
    """End the browser of this process, or the processes that draw its pages."""
    for process in child_processes(os.getpid()):
        said = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ")
        drawn = b"--type=renderer" in said
        if b"chromium" in said.split(b" ")[0] and (drawn if kind == "renderer" else b"--type=" not in said):
            os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("kind", ["browser", "renderer"])
@pytest.mark.parametrize("call", [("goto", {"url": "/orders"}), ("click", {"element": "nav.orders"})], ids=str)
def test_a_killed_browser_is_void_and_never_a_score(
    kind: str, call: tuple[str, dict[str, Json]], chromium: Chromium
) -> None:
    env = begin_episode("Storefront")
    with chromium.open(env) as pages:
        act(pages, "goto", url="/customers")
        kill_part(kind)
        with pytest.raises(InfrastructureError, match="void"):
            act(pages, call[0], **call[1])
        with pytest.raises(EpisodeOverError, match="void"):
            env.score()
        with pytest.raises(EpisodeOverError, match="fault"):
            env.step({"tool": "finish", "arguments": {}})
    env.reset(seed=0)
    with chromium.open(env) as pages:
        act(pages, call[0], **call[1])


def test_fifty_episodes_do_not_grow_chromium(chromium: Chromium) -> None:
    env = begin_episode("Storefront")
    sizes: list[int] = []
    with chromium.open(env) as pages:
        for number in range(60):
            env.reset(seed=number % 5)
            pages.begin_again()
            act(pages, "goto", url="/orders")
            if number % 10 == 9:
                pages.window.request_gc()
                sizes.append(chromium.memory())
    # Five contexts that are left behind in these fifty episodes take more than this.
    assert sizes[-1] - sizes[0] < GROWTH, sizes


def test_contexts_that_are_left_behind_are_seen_as_growth(chromium: Chromium) -> None:
    env = begin_episode("Storefront")
    with chromium.open(env):
        before = chromium.memory()
        left = [chromium.open(env) for _ in range(5)]
        after = chromium.memory()
        for pages in left:
            pages.close()
    assert after - before > GROWTH
