"""Pages: the same rows, rules and rubrics through a browser, and what a hasty or hostile user does to it."""

import pickle
import re
from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv, check_env
from palaestra.envs.surfaces.pages.addresses import read_address, write_address
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.forms import form_fields, read_arguments, written_value
from palaestra.envs.surfaces.pages.session import MOST_TABS, BrowserSession, Tab
from palaestra.envs.surfaces.pages.text import SCROLL, VIEWPORT, view_page
from palaestra.envs.surfaces.pages.tree import Page, PageElement, ShownRow
from palaestra.envs.worlds.storefront.tools import TOOLBOX as DESK
from palaestra.errors import EpisodeOverError, ToolRefusal
from palaestra.records import Json, ToolEvent
from palaestra.seeding import Stream
from palaestra.tools import sample_call

STOREFRONT = "palaestra/Storefront-v0"
CANCEL = "storefront/cancel-order/5000"


def make_env(**switches: Any) -> ToolEnv:
    env = gym.make(STOREFRONT, surface="pages", **switches)
    assert isinstance(env, ToolEnv)
    return env


def one_of_each_family() -> list[str]:
    first = {task.rpartition("/")[0]: task for task in reversed(make_env().task_set.ids("dev"))}
    first |= {task.rpartition("/")[0]: task for task in reversed(make_env().task_set.ids("heldout"))} | first
    return sorted(first.values())


def begin_episode(task: str = CANCEL) -> ToolEnv:
    env = make_env()
    env.reset(seed=0, options={"task": task})
    return env


def act(env: ToolEnv, tool: str, **arguments: Json) -> tuple[str, tuple[ToolEvent, ...]]:
    """What the page says after an action, and its events."""
    messages, _, _, _, info = env.step({"tool": tool, "arguments": arguments})
    return messages[-1]["content"], info["record"].events


def browser_of(env: ToolEnv) -> PageBrowser:
    browser = env.episode.surface
    assert isinstance(browser, PageBrowser)
    return browser


# the same work


@pytest.mark.parametrize("task", one_of_each_family())
def test_the_oracle_does_its_work_on_pages(task: str) -> None:
    env = begin_episode(task)
    info: dict[str, Any] = {}
    for call in env.oracle():
        info = env.step({"tool": call.tool, "arguments": dict(call.arguments)})[4]
    assert info["score"].passed
    assert info["score"].points == info["score"].total
    own = gym.make(STOREFRONT)
    assert isinstance(own, ToolEnv)
    own.reset(seed=0, options={"task": task})
    for call in own.oracle():
        own.step({"tool": call.tool, "arguments": dict(call.arguments)})
    assert [(one.table, one.key) for one in env.changes] == [(one.table, one.key) for one in own.changes]


def test_the_contract_of_environments_holds() -> None:
    check_env(make_env(split="dev"), steps=6, seeds=(0,))


def test_every_argument_survives_its_field() -> None:
    tried = 0
    for number in range(400):
        call = sample_call(list(DESK), Stream.root("fields", number))
        fields = form_fields(DESK[call.tool])
        given = {name: value for name, value in call.arguments.items() if value is not None and value != ""}
        typed = {f"field.{name}": written_value(value) for name, value in given.items()}
        assert read_arguments(fields, typed) == given, call
        tried += len(given)
    assert tried > 400


def test_an_address_survives_being_written() -> None:
    for steps, query in (((), {}), (("orders",), {"price_cents <=": "5", "search": "a & b"}), (("t", "A/B ?#"), {})):
        read = read_address(write_address(*steps, query=query))
        assert (read.path, dict(read.query)) == (steps, query)


# evidence


def test_only_what_the_viewport_shows_is_seen() -> None:
    row = begin_episode().episode.state.find(make_env().world.schema["orders"].kind)[0]
    low = PageElement(role="definition", name="id", value=row.id, shows=(ShownRow(row=row, columns=("id",)),))
    page = Page(url="/", title="t", elements=(*(PageElement(role="text", value=str(n)) for n in range(VIEWPORT)), low))
    session = BrowserSession()
    assert view_page(page, session).shows == ()
    scrolled = session.with_tab(Tab(scroll=SCROLL))
    assert view_page(page, scrolled).shows == low.shows
    assert row.id in view_page(page, scrolled).text
    assert row.id not in view_page(page, session).text


def test_a_rows_page_shows_the_row_and_a_list_that_finds_nothing_is_a_look_up() -> None:
    env = begin_episode()
    order = env.episode.state.find(env.world.schema["orders"].kind)[0]
    _, events = act(env, "goto", url=f"/orders/{order.id}")
    assert [event.tool for event in events] == ["goto"]
    assert ("orders", order.id) in events[-1].shown
    text, events = act(env, "click", element="tab.refunds")
    assert [event.tool for event in events] == ["query", "click"]
    assert events[0].arguments == {"table": "refunds", "where": {"order_id": order.id}}
    assert events[0].shown == ()
    assert re.search(r"\[tab\.refunds\] Refunds \(\d\) \(selected\)", " ".join(text.split()))
    build = env.episode.state.find(env.world.schema["builds"].kind)[0]
    act(env, "goto", url=f"/builds/{build.id}")
    text, events = act(env, "click", element="list.orders.build_id")
    assert events[0].arguments == {"table": "orders", "where": {"build_id": build.id}}
    assert "where build_id" in text


def test_a_typed_address_names_its_ids_and_a_followed_link_names_none() -> None:
    env = begin_episode()
    _, events = act(env, "goto", url="/customers/CUS-1099")
    assert events[-1].named == ("CUS-1099",)
    act(env, "goto", url="/customers")
    link = next(e for e in browser_of(env).page(env.episode.state).walk() if e.id.startswith("row."))
    _, events = act(env, "click", element=link.id)
    assert events[-1].named == ()
    assert events[-1].shown


# forms


def open_form(env: ToolEnv) -> str:
    """The form that writes a note, filled in; the id of a colleague."""
    colleague = env.episode.state.find(env.world.schema["employees"].kind)[0].id
    act(env, "goto", url="/do/send_internal_message")
    act(env, "fill", element="field.recipient_id", text=colleague)
    act(env, "fill", element="field.body", text="<script>alert(1)</script>")
    return colleague


def test_a_sent_form_is_the_tools_own_event_and_its_answer_a_dialog() -> None:
    env = begin_episode()
    open_form(env)
    text, events = act(env, "click", element="send")
    assert [event.tool for event in events] == ["send_internal_message", "click"]
    assert events[0].written == 1
    assert "dialog: send_internal_message is done" in text
    assert "<script>alert(1)</script>" in text
    text, _ = act(env, "click", element="dialog.close")
    assert "dialog" not in text


def test_sending_twice_writes_once() -> None:
    env = begin_episode()
    open_form(env)
    act(env, "click", element="send")
    text, events = act(env, "click", element="send")
    assert events[0].error == "invalid_arguments"
    assert "alert: " in text
    assert len(env.changes) == 1


def test_a_refused_form_keeps_what_was_entered() -> None:
    env = begin_episode()
    act(env, "goto", url="/do/send_internal_message")
    act(env, "fill", element="field.recipient_id", text="nobody")
    act(env, "fill", element="field.body", text="hello")
    text, events = act(env, "press", element="field.body")
    assert events[0].error == "not_found"
    assert "alert: " in text
    assert 'holds "hello"' in text
    assert not env.changes


def test_going_back_and_forward_finds_an_empty_form() -> None:
    env = begin_episode()
    open_form(env)
    act(env, "click", element="send")
    act(env, "back")
    text, events = act(env, "forward")
    assert [event.tool for event in events] == ["forward"]
    assert '[field.body] textbox "body" is empty' in text


def test_two_tabs_hold_the_same_form_apart() -> None:
    env = begin_episode()
    open_form(env)
    act(env, "tab_new")
    text, _ = act(env, "goto", url="/do/send_internal_message")
    assert '[field.body] textbox "body" is empty' in text
    text, _ = act(env, "tab_focus", number=1)
    assert 'holds "<script>' in text
    act(env, "tab_close")
    text, _ = act(env, "noop")
    assert '[field.body] textbox "body" is empty' in text


def test_a_filter_narrows_the_list() -> None:
    env = begin_episode()
    act(env, "goto", url="/orders")
    act(env, "select_option", element="filter.status", option="shipped")
    text, events = act(env, "click", element="filter.find")
    assert events[0].arguments == {"table": "orders", "where": {"status": "shipped"}}
    assert "where status shipped" in text
    assert "status delivered |" not in text


# what is wrong is said


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("click", {"element": "nav.ordres"}, "stale_element"),
        ("click", {"element": "dialog.close"}, "stale_element"),
        ("fill", {"element": "nav.orders", "text": "a"}, "no_field"),
        ("goto", {"url": "https://example.com/orders"}, "bad_address"),
        ("goto", {"url": "//example.com"}, "bad_address"),
        ("goto", {"url": "orders"}, "bad_address"),
        ("goto", {"url": "/ordres"}, "not_found"),
        ("goto", {"url": "/do/fly"}, "not_found"),
        ("goto", {"url": "/orders/ORD-0"}, "not_found"),
        ("goto", {"url": "/orders?colour=red"}, "bad_query"),
        ("goto", {"url": "/orders?after=9"}, "bad_cursor"),
        ("goto", {"url": "/" + "a" * 3_000}, "bad_address"),
        ("fill", {"element": "nav.orders", "text": "a" * 1_000_000}, "invalid_arguments"),
        ("back", {}, "no_page"),
        ("forward", {}, "no_page"),
        ("tab_close", {}, "last_tab"),
        ("tab_focus", {"number": 2}, "no_tab"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(tool: str, arguments: dict[str, Json], code: str) -> None:
    env = begin_episode()
    before = browser_of(env).session
    text, events = act(env, tool, **arguments)
    assert events[-1].error == code
    assert browser_of(env).session == before
    assert len(text) < 2_000


def test_a_stale_element_is_refused_with_the_nearest() -> None:
    text, _ = act(begin_episode(), "click", element="nav.ordres")
    assert "nav.orders" in text


def test_tabs_are_bounded() -> None:
    env = begin_episode()
    codes = [act(env, "tab_new")[1][-1].error for _ in range(MOST_TABS)]
    assert codes == [None] * (MOST_TABS - 1) + ["too_many_tabs"]


# random actions


@pytest.mark.parametrize("seed", range(4))
def test_random_actions_break_nothing_and_solve_nothing_and_forks_go_on_alike(seed: int) -> None:
    env = make_env(max_turns=400)
    env.reset(seed=seed)
    stream = Stream.root("actions", seed)
    steps = 0
    try:
        while True:
            fork, kept = env.fork(), pickle.loads(pickle.dumps(env.snapshot()))
            call = browser_of(env).draw_action(env.episode.state, env.table_ids, stream.split(steps))
            turn = {"tool": call.tool, "arguments": dict(call.arguments)}
            env.step(turn)
            if steps % 20 == 0:
                other = make_env(max_turns=400)
                other.restore(kept)
                fork.step(turn)
                other.step(turn)
                assert env.digest() == fork.digest() == other.digest()
            steps += 1
    except EpisodeOverError:
        assert steps == 400
    assert not env.episode.score().passed


def test_random_actions_of_an_agent_are_mostly_the_browsers_and_name_what_is_there() -> None:
    env = begin_episode()
    env.step({"tool": "goto", "arguments": {"url": "/do/cancel_order"}})
    drawn = env.legal_actions(400, seed=5)
    assert drawn == env.legal_actions(400, seed=5)
    ids = {element.id for element in browser_of(env).page(env.episode.state).walk()}
    calls = [dict(action) for action in drawn if isinstance(action, dict)]
    tools = [call["tool"] for call in calls]
    spoken = sum(tool in ("reply", "finish", "give_up") for tool in tools)
    assert 10 < spoken < 80
    named = {call["arguments"].get("element") for call in calls} - {None}
    assert named == ids - {""}
    orders = set(env.episode.state.keys("orders"))
    typed = {call["arguments"]["text"] for call in calls if call["tool"] == "fill"}
    assert typed <= orders


def test_equal_actions_give_equal_digests_in_another_environment() -> None:
    digests: set[str] = set()
    for _ in range(2):
        env = begin_episode()
        for call in env.oracle()[:9]:
            env.step({"tool": call.tool, "arguments": dict(call.arguments)})
        digests.add(env.digest())
    assert len(digests) == 1


def test_the_session_is_a_part_of_the_digest() -> None:
    env = begin_episode()
    fork = env.fork()
    browser_of(fork).session = BrowserSession(tabs=(Tab(scroll=3),))
    assert env.digest() != fork.digest()


def test_a_page_of_a_row_that_is_gone_says_so() -> None:
    env = begin_episode()
    with pytest.raises(ToolRefusal, match="has no row"):
        browser_of(env)._site.page(env.episode.state, Tab().visit("/orders/ORD-0"))
