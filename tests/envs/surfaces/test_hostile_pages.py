"""Hostile users of pages, in process: stale ids, double submits, two tabs, expired sessions, huge text and markup."""

import gc
import os
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from palaestra.agents.rollout import EpisodeRecorder
from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.disturbances import END
from palaestra.envs.surfaces.pages.html import render_html
from palaestra.envs.surfaces.pages.tree import FIELDS
from palaestra.errors import EpisodeOverError
from palaestra.records import Json, ToolEvent
from palaestra.seeding import Stream

WORLDS = ("Storefront", "Shop")
PLAIN_FORMS = ("Storefront",)
"""The worlds whose form of cancellations is sent without a review."""
MARKUP = "</textarea></option>\"'><script>document.title='owned'</script><img src=x onerror=alert(1)>&lt;b&gt;"
HUGE = "x" * 1_000_000


def begin_episode(world: str, **switches: Any) -> ToolEnv:
    env = gym.make(f"palaestra/{world}-v0", surface="pages", max_turns=2_000, **switches)
    assert isinstance(env, ToolEnv)
    env.reset(seed=0, options={"task": env.task_set.ids("dev")[0]})
    return env


def browser_of(env: ToolEnv) -> PageBrowser:
    browser = env.episode.surface
    assert isinstance(browser, PageBrowser)
    return browser


def act(env: ToolEnv, tool: str, **arguments: Json) -> tuple[str, tuple[ToolEvent, ...]]:
    """What the page says after an action, and its events."""
    messages, _, _, _, info = env.step({"tool": tool, "arguments": arguments})
    return messages[-1]["content"], info["record"].events


def open_order(env: ToolEnv) -> str:
    """An order that can be cancelled still."""
    return next(row.id for row in env.episode.state.find(env.world.schema["orders"].kind, status="processing"))


# stale ids


@pytest.mark.parametrize("world", WORLDS)
def test_every_id_of_another_page_is_refused_and_changes_nothing(world: str) -> None:
    env = begin_episode(world)
    act(env, "goto", url="/orders")
    old = [element.id for element in browser_of(env).page(env.episode.state).walk() if element.id]
    act(env, "goto", url="/do/cancel_order")
    here = {element.id for element in browser_of(env).page(env.episode.state).walk()}
    stale = [name for name in old if name not in here]
    assert len(stale) >= 5
    before, rows = browser_of(env).session, env.state_hash()
    for name in stale:
        for tool, more in (("click", {}), ("press", {}), ("fill", {"text": "a"}), ("clear", {}), ("check", {})):
            _, events = act(env, tool, element=name, **more)
            assert events[-1].error == "stale_element"
    for number, name in enumerate(("__proto__", "]" * 200, "'; drop table orders", "\0", "send\n", "SEND")):
        _, events = act(env, ("click", "press")[number % 2], element=name)
        assert events[-1].error == "stale_element"
    assert (browser_of(env).session, env.state_hash()) == (before, rows)


# double submits, going back, two tabs


@pytest.mark.parametrize("world", PLAIN_FORMS)
@pytest.mark.parametrize("way", ["typed", "prefilled"])
def test_a_form_that_is_sent_twice_writes_once(world: str, way: str) -> None:
    env = begin_episode(world)
    order = open_order(env)
    if way == "prefilled":
        act(env, "goto", url=f"/do/cancel_order?order_id={order}")
    else:
        act(env, "goto", url="/do/cancel_order")
        act(env, "fill", element="field.order_id", text=order)
    _, first = act(env, "click", element="send")
    assert (first[0].error, first[0].written > 0) == (None, True)
    rows, journal = env.state_hash(), len(env.journal)
    for tool, element in (("click", "send"), ("press", "field.order_id"), ("click", "send")):
        text, events = act(env, tool, element=element)
        assert events[0].error == "invalid_arguments"
        assert "alert: " in text
    assert (env.state_hash(), len(env.journal)) == (rows, journal)


def test_a_review_is_sent_once_and_the_page_says_so() -> None:
    env = begin_episode("Shop")
    order = open_order(env)
    act(env, "goto", url=f"/do/cancel_order?order_id={order}")
    act(env, "click", element="continue")
    text, events = act(env, "click", element="send")
    assert [(event.tool, event.error) for event in events] == [("cancel_order", None), ("click", None)]
    assert "dialog: cancel_order is done" in text
    rows = env.state_hash()
    for tool in ("click", "back", "click", "forward", "click"):
        _, events = act(env, tool, **({"element": "send"} if tool == "click" else {}))
        assert [event.tool for event in events] == [tool]
    assert env.state_hash() == rows


def test_a_review_that_is_sent_twice_writes_once() -> None:
    env = begin_episode("Storefront")
    ticket = env.episode.state.find(env.world.schema["customers"].kind)[0].id
    order = env.episode.state.find(env.world.schema["orders"].kind, customer_id=ticket)[0].id
    query = f"customer_id={ticket}&order_id={order}&amount_cents=100&reason=late_delivery"
    reasons = next(
        e.options
        for e in (act(env, "goto", url="/do/give_credit"), browser_of(env).page(env.episode.state))[1].walk()
        if e.id == "field.reason"
    )
    query = query.replace("late_delivery", reasons[0])
    act(env, "goto", url=f"/do/give_credit/review?{query}")
    _, first = act(env, "click", element="send")
    assert first[0].tool == "give_credit"
    assert first[0].error is None
    rows = env.state_hash()
    _, events = act(env, "click", element="send")
    assert [event.tool for event in events] == ["click"]
    assert events[0].error == "stale_element"
    assert env.state_hash() == rows
    # Back leads to what was open before the review, and the review is gone from the history.
    text, _ = act(env, "back")
    assert "/review" not in text.splitlines()[0]
    text, _ = act(env, "forward")
    assert text.startswith("page /do/give_credit ")
    assert env.state_hash() == rows


@pytest.mark.parametrize("world", PLAIN_FORMS)
def test_going_back_after_sending_sends_nothing_and_sending_again_is_an_action_of_its_own(world: str) -> None:
    env = begin_episode(world)
    order = open_order(env)
    act(env, "goto", url=f"/orders/{order}")
    act(env, "click", element="do.cancel_order")
    act(env, "click", element="send")
    rows = env.state_hash()
    for tool in ("back", "forward", "back", "forward"):
        _, events = act(env, tool)
        assert [event.tool for event in events] == [tool]
    assert browser_of(env).session.tab.url == "/do/cancel_order"
    act(env, "back")
    act(env, "goto", url=f"/do/cancel_order?order_id={order}")
    text, events = act(env, "click", element="send")
    assert events[0].error is not None
    assert "alert: " in text
    assert env.state_hash() == rows


@pytest.mark.parametrize("world", PLAIN_FORMS)
def test_the_same_form_in_two_tabs_is_done_once_and_the_other_tab_says_why(world: str) -> None:
    env = begin_episode(world)
    order = open_order(env)
    for tab in (1, 2):
        if tab == 2:
            act(env, "tab_new")
        act(env, "goto", url="/do/cancel_order")
        act(env, "fill", element="field.order_id", text=order)
    _, events = act(env, "click", element="send")
    assert events[0].error is None
    rows = env.state_hash()
    text, _ = act(env, "tab_focus", number=1)
    assert f'holds "{order}"' in text
    assert "dialog" not in text
    text, events = act(env, "click", element="send")
    assert events[0].error is not None
    assert "alert: " in text
    assert f'holds "{order}"' in text
    assert env.state_hash() == rows
    text, _ = act(env, "tab_focus", number=2)
    assert "dialog: cancel_order is done" in text


# an expired session


@pytest.mark.parametrize("world", PLAIN_FORMS)
def test_an_expired_session_sends_nothing_and_loses_nothing_that_was_entered_elsewhere(world: str) -> None:
    env = begin_episode(world, surface_settings={"disturbances": {"percent": 100, "kinds": ["expired"]}})
    order = open_order(env)
    act(env, "goto", url="/do/cancel_order")
    act(env, "click", element=END)
    act(env, "fill", element="field.order_id", text=order)
    act(env, "tab_new")
    act(env, "goto", url="/orders")
    act(env, "tab_focus", number=1)
    rows = env.state_hash()
    for tool, more in (
        ("click", {"element": "send"}),
        ("press", {"element": "field.order_id"}),
        ("clear", {"element": "field.order_id"}),
    ):
        text, events = act(env, tool, **more)
        assert events[-1].error == "stale_element"
    assert env.state_hash() == rows
    text, _ = act(env, "click", element=END)
    assert f'holds "{order}"' in text
    _, events = act(env, "click", element="send")
    assert (events[0].tool, events[0].error) == ("cancel_order", None)
    assert len({change.key for change in env.changes if change.table == "orders"}) == 1


# huge text, script and markup


def forms(env: ToolEnv) -> list[tuple[str, list[str]]]:
    """The address of every page with fields, and the ids of those that take any text."""
    found: list[tuple[str, list[str]]] = []
    urls = [f"/{info.name}" for info in env.world.schema] + [f"/do/{name}" for name in browser_of(env).site.actions]
    for url in urls:
        act(env, "goto", url=url)
        page = browser_of(env).page(env.episode.state)
        fields = [e.id for e in page.walk() if e.role in FIELDS and not e.options and e.role != "checkbox"]
        found += [(url, fields)] if fields else []
    return found


@pytest.mark.parametrize("world", WORLDS)
def test_a_megabyte_in_any_field_is_refused_whole_and_shortly(world: str) -> None:
    env = begin_episode(world)
    tried = 0
    for url, fields in forms(env):
        act(env, "goto", url=url)
        before = browser_of(env).session
        for name in fields:
            text, events = act(env, "fill", element=name, text=HUGE)
            assert events[-1].error == "invalid_arguments"
            assert len(text) < 2_000
            tried += 1
        assert browser_of(env).session == before
    for url in ("/orders?search=" + HUGE, "/" + HUGE, "/do/cancel_order?order_id=" + HUGE):
        text, events = act(env, "goto", url=url)
        assert events[-1].error == "invalid_arguments"
        assert len(text) < 2_000
    assert tried >= 20


@pytest.mark.parametrize("world", WORLDS)
def test_script_and_markup_in_every_field_are_text_in_both_renderers(world: str) -> None:
    env = begin_episode(world)
    tried = 0
    for url, fields in forms(env):
        act(env, "goto", url=url)
        for name in fields:
            act(env, "fill", element=name, text=MARKUP)
            tried += 1
        page, session = browser_of(env).page(env.episode.state), browser_of(env).session
        assert all(e.value == MARKUP for e in page.walk() if e.id in fields)
        assert "<script" not in render_html(page, session)
        assert "<img" not in render_html(page, session)
        text, _ = act(env, "noop")
        assert "<script>" in "".join(text.split("\n"))
        button = next(e.id for e in page.walk() if e.role == "button")
        act(env, "click", element=button)
        html = render_html(browser_of(env).page(env.episode.state), browser_of(env).session)
        assert "<script" not in html
        assert "<img" not in html
    assert tried >= 20


@pytest.mark.parametrize(
    ("text", "held"), [("a\r\nb\rc", "a\nb\nc"), ("a\0b", "ab"), ("\ud7ff \u202e", "\ud7ff \u202e")]
)
def test_fields_hold_text_as_a_browser_holds_it(text: str, held: str) -> None:
    env = begin_episode("Storefront")
    act(env, "goto", url="/do/send_internal_message")
    act(env, "fill", element="field.body", text=text)
    assert browser_of(env).session.tab.value_of("field.body", "") == held
    act(env, "goto", url="/customers")
    act(env, "fill", element="filter.search", text=text)
    assert browser_of(env).session.tab.value_of("filter.search", "") == held.replace("\n", " ")


@pytest.mark.parametrize(
    ("tool", "element", "arguments", "code"),
    [
        ("check", "filter.search", {"checked": True}, "wrong_field"),
        ("check", "filter.tier", {"checked": True}, "wrong_field"),
        ("select_option", "filter.search", {"option": "any"}, "wrong_field"),
        ("select_option", "filter.tier", {"option": "<b>"}, "no_option"),
        ("select_option", "nav.orders", {"option": "any"}, "no_field"),
    ],
)
def test_a_field_is_changed_only_as_its_kind_is(tool: str, element: str, arguments: dict[str, Json], code: str) -> None:
    env = begin_episode("Storefront")
    act(env, "goto", url="/customers")
    before = browser_of(env).session
    _, events = act(env, tool, element=element, **arguments)
    assert events[-1].error == code
    assert browser_of(env).session == before


# void episodes, and growth


def test_a_void_episode_has_no_score() -> None:
    env = begin_episode("Storefront")
    env.episode.faulted = True
    with pytest.raises(EpisodeOverError, match="void"):
        env.score()
    with pytest.raises(EpisodeOverError, match="fault"):
        act(env, "noop")
    env.reset(seed=0)
    assert env.score().points == 0


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("world", WORLDS)
def test_a_hundred_episodes_do_not_grow_the_process(world: str) -> None:
    env = gym.make(f"palaestra/{world}-v0", surface="pages", max_turns=12)
    assert isinstance(env, ToolEnv)
    tasks = env.task_set.ids("dev")[:4]

    def play(number: int) -> None:
        recorder = EpisodeRecorder(env, agent="random", seed=number, task=tasks[number % len(tasks)])
        stream = Stream.root("growth", number)
        while not recorder.over:
            recorder.step(env.legal_actions(1, seed=stream.below(2**31))[0])

    sizes: list[int] = []
    for number in range(140):
        play(number)
        if number % 20 == 19:
            gc.collect()
            sizes.append(resident())
    assert sizes[-1] - sizes[1] < 8 * 2**20, sizes
