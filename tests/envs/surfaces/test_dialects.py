"""Dialects of pages: each does and shows the same, and refuses what is malformed, stale, outside or too large."""

import pickle
from typing import Any

import gymnasium as gym
import orjson
import pytest

from palaestra.envs import ToolEnv, check_env
from palaestra.envs.surfaces.pages.dialects import DIALECTS, DialectBrowser, count_tokens
from palaestra.envs.surfaces.pages.dialects.computer import place
from palaestra.envs.surfaces.pages.dialects.session import DialectSession
from palaestra.envs.surfaces.pages.settings import PageSettings
from palaestra.errors import CapabilityError, TaskError, ToolRefusal, UnknownNameError
from palaestra.records import Json, ToolCall, ToolEvent
from palaestra.seeding import Stream

STOREFRONT = "palaestra/Storefront-v0"
CANCEL = "storefront/cancel-order/5000"
FAMILIES = (
    "cancel-order",
    "change-address",
    "refund-over-limit",
    "fix-build",
    "talk-which-order",
    "decline-late-return",
)
NAMES = tuple(DIALECTS)


def begin_episode(task: str = CANCEL, *, seed: int = 0, max_turns: int | None = None, **settings: Any) -> ToolEnv:
    env = gym.make(STOREFRONT, surface="pages", surface_settings=settings or None, max_turns=max_turns)
    assert isinstance(env, ToolEnv)
    env.reset(seed=seed, options={"task": task})
    return env


def browser_of(env: ToolEnv) -> DialectBrowser:
    browser = env.episode.surface
    assert isinstance(browser, DialectBrowser)
    return browser


def act(env: ToolEnv, tool: str, **arguments: Json) -> tuple[str, tuple[ToolEvent, ...]]:
    messages, _, _, _, info = env.step({"tool": tool, "arguments": arguments})
    return messages[0]["content"], info["record"].events


def seen_columns(env: ToolEnv) -> set[tuple[str, str, str]]:
    """Everything seen of rows, whole or in parts."""
    tables = env.world.schema
    whole = {(table, key, name) for table, key in shown_rows(env) for name in tables[table].columns}
    parts = {
        (part.table, key, name)
        for event in env.events
        for part in event.columns
        for key in part.keys
        for name in part.columns
    }
    return whole | parts


def go(env: ToolEnv, url: str) -> str:
    """Open an address in whatever dialect."""
    text = ""
    for call in browser_of(env).write(env.episode.state, ToolCall(tool="goto", arguments={"url": url})):
        text, _ = act(env, call.tool, **call.arguments)
    return text


def shown_rows(env: ToolEnv) -> set[tuple[str, str]]:
    return {key for event in env.events for key in event.shown}


def play_live(env: ToolEnv, plain_calls: tuple[ToolCall, ...]) -> None:
    """Play plain calls, each written for the page in front, with handles in place of ids."""
    for call in plain_calls:
        if call.tool == "goto" or "element" not in call.arguments:
            said = browser_of(env).write(env.episode.state, call)
        else:
            said = written_in_sight(env, call)
        clock = env.episode.clock
        for one in said:
            before = clock.elapsed
            env.step({"tool": one.tool, "arguments": dict(one.arguments)})
            if one is not said[-1]:  # pointing takes time that the plain tools do not need
                clock.set_elapsed(before, waited=clock.days_waited)
        if env.end is not None:
            break


def written_in_sight(env: ToolEnv, call: ToolCall) -> tuple[ToolCall, ...]:
    for _ in range(20):
        try:
            return browser_of(env).write(env.episode.state, call)
        except ToolRefusal:
            elapsed = env.episode.clock.elapsed
            for scroll in browser_of(env).write(env.episode.state, ToolCall(tool="scroll", arguments={})):
                env.step({"tool": scroll.tool, "arguments": dict(scroll.arguments)})
            env.episode.clock.set_elapsed(elapsed, waited=env.episode.clock.days_waited)
    raise AssertionError(call)


# the same work


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dialect", NAMES)
def test_an_oracle_comes_to_the_same_rows_score_and_evidence(dialect: str, family: str) -> None:
    task = f"storefront/{family}/5000"
    plain = begin_episode(task)
    calls = plain.oracle()
    for call in calls:
        plain.step({"tool": call.tool, "arguments": dict(call.arguments)})
    env = begin_episode(task, dialect=dialect, max_turns=10_000)
    play_live(env, calls)
    assert plain.score().passed
    assert env.state_hash() == plain.state_hash()
    assert env.score() == plain.score()
    assert env.end == plain.end
    assert shown_rows(env) == shown_rows(plain)
    spoken = [[e.arguments for e in one.events if e.tool in ("reply", "query")] for one in (plain, env)]
    assert spoken[0] == spoken[1]


@pytest.mark.parametrize("dialect", NAMES)
def test_the_translated_oracle_needs_no_look_at_the_pages(dialect: str) -> None:
    for family in FAMILIES:
        env = begin_episode(f"storefront/{family}/5000", dialect=dialect)
        for call in env.oracle():
            assert call.tool in {tool.name for tool in env.offered_tools}
            env.step({"tool": call.tool, "arguments": dict(call.arguments)})
        assert env.score().passed, family


@pytest.mark.parametrize("dialect", ["playwright-mcp", "computer"])
def test_the_contract_of_environments_holds(dialect: str) -> None:
    env = gym.make(STOREFRONT, surface="pages", surface_settings={"dialect": dialect}, split="dev")
    assert isinstance(env, ToolEnv)
    check_env(env, steps=3, seeds=(0,))


@pytest.mark.parametrize("dialect", NAMES)
def test_random_actions_break_nothing_and_forks_and_snapshots_go_on_alike(dialect: str) -> None:
    env = begin_episode(dialect=dialect, budget=600, max_turns=200)
    stream = Stream.root("dialects", 1)
    for number in range(40):
        call = browser_of(env).draw_action(env.episode.state, env.table_ids, stream.split(number))
        turn = {"tool": call.tool, "arguments": dict(call.arguments)}
        fork, kept = env.fork(), pickle.loads(pickle.dumps(env.snapshot()))
        env.step(turn)
        if number % 15 == 0:
            other = begin_episode(dialect=dialect, budget=600, max_turns=200)
            other.restore(kept)
            fork.step(turn)
            other.step(turn)
            assert env.digest() == fork.digest() == other.digest()
    assert not env.score().passed


# action strings


def test_an_oracle_is_played_in_action_strings_of_browsergym() -> None:
    env = gym.make(
        STOREFRONT, surface="pages", surface_settings={"dialect": "browsergym"}, action_format="browsergym", task=CANCEL
    )
    assert isinstance(env, ToolEnv)
    env.reset(seed=0)
    for call in env.oracle():
        env.step(env._format.render([call]))
    assert env.score().passed


def test_strings_and_calls_are_the_same_actions() -> None:
    env = gym.make(
        STOREFRONT, surface="pages", surface_settings={"dialect": "browsergym"}, action_format="browsergym", task=CANCEL
    )
    assert isinstance(env, ToolEnv)
    env.reset(seed=0)
    env.step("goto('/do/cancel_order')")
    env.step("```\nfill('field.order_id', 'ORD-1')\n```")
    assert [(event.tool, dict(event.arguments)) for event in env.events] == [
        ("goto", {"url": "/do/cancel_order"}),
        ("fill", {"bid": "field.order_id", "value": "ORD-1"}),
    ]


# what is wrong is said


@pytest.mark.parametrize(
    ("dialect", "tool", "arguments", "code"),
    [
        ("browsergym", "click", {"bid": "nav.ordres"}, "stale_element"),
        ("browsergym", "click", {}, "invalid_arguments"),
        ("browsergym", "hover", {"bid": "nav.ordres"}, "stale_element"),
        ("browsergym", "focus", {"bid": "nav.orders"}, "no_field"),
        ("browsergym", "press", {"bid": "nav.orders", "key_comb": "Delete"}, "unknown_key"),
        ("browsergym", "select_option", {"bid": "nav.orders", "options": ["a", "b"]}, "one_option"),
        ("browsergym", "find_text", {"text": "no such words here"}, "no_match"),
        ("browsergym", "tab_focus", {"index": 3}, "no_tab"),
        ("playwright-mcp", "browser_click", {"ref": "e999"}, "unknown_ref"),
        ("playwright-mcp", "browser_click", {"ref": "e0"}, "unknown_ref"),
        ("playwright-mcp", "browser_click", {"ref": "12"}, "stale_element"),
        ("playwright-mcp", "browser_press_key", {"key": "Enter"}, "no_focus"),
        ("playwright-mcp", "browser_press_key", {"key": "F5"}, "unknown_key"),
        ("playwright-mcp", "browser_fill_form", {"fields": []}, "invalid_arguments"),
        ("playwright-mcp", "browser_fill_form", {"fields": [{"ref": "e1", "value": "a"}]}, "no_field"),
        ("playwright-mcp", "browser_fill_form", {"fields": [{"ref": "e1"}]}, "bad_field"),
        ("browser-use", "click", {"index": 999}, "unknown_ref"),
        ("browser-use", "input", {"index": 1, "text": "a"}, "no_field"),
        ("browser-use", "send_keys", {"keys": "Control+Alt+Delete"}, "unknown_key"),
        ("browser-use", "navigate", {"url": "/orders", "new_tab": True}, "new_tab"),
        ("computer", "click", {"start_box": "(5000,10)"}, "outside"),
        ("computer", "click", {"start_box": "(10,90000)"}, "outside"),
        ("computer", "click", {"start_box": "here"}, "bad_point"),
        ("computer", "click", {"start_box": "(-1,5)"}, "bad_point"),
        ("computer", "type", {"content": "a"}, "no_focus"),
        ("computer", "hotkey", {"key": "ctrl alt delete"}, "unknown_key"),
        ("html", "click", {"element": "nav.ordres"}, "stale_element"),
        ("plain", "find", {"text": ""}, "invalid_arguments"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    dialect: str, tool: str, arguments: dict[str, Json], code: str
) -> None:
    env = begin_episode(dialect=dialect)
    before = browser_of(env).session
    text, events = act(env, tool, **arguments)
    assert events[-1].error == code
    assert browser_of(env).session == before
    assert len(text) < 1_000


def test_a_ref_of_a_page_that_was_left_is_stale() -> None:
    env = begin_episode(dialect="playwright-mcp")
    text = go(env, "/do/cancel_order")
    ref = (
        next(line for line in text.splitlines() if "order_id" in line and "[ref=" in line)
        .split("[ref=")[1]
        .split("]")[0]
    )
    go(env, "/orders")
    text, events = act(env, "browser_type", ref=ref, text="ORD-1")
    assert events[-1].error == "stale_ref"
    assert "field.order_id" in text
    go(env, "/do/cancel_order")
    text, events = act(env, "browser_type", ref=ref, text="ORD-1")
    assert events[-1].error is None
    assert f"[ref={ref}]: ORD-1" in text


def test_a_form_filled_in_half_is_not_filled_in_at_all() -> None:
    env = begin_episode(dialect="playwright-mcp")
    go(env, "/do/cancel_order")
    before = browser_of(env).session
    fields: Json = [{"ref": "field.order_id", "value": "ORD-1"}, {"ref": "field.nothing", "value": "a"}]
    _, events = act(env, "browser_fill_form", fields=fields)
    assert events[-1].error == "stale_element"
    assert browser_of(env).session == before


def test_typing_and_submitting_sends_what_was_typed_and_a_refusal_keeps_it() -> None:
    env = begin_episode(dialect="playwright-mcp")
    go(env, "/do/cancel_order")
    text, events = act(env, "browser_type", ref="field.order_id", text="ORD-0", submit=True)
    assert [event.tool for event in events] == ["cancel_order", "browser_type"]
    assert events[0].arguments["order_id"] == "ORD-0"
    assert events[0].error is not None
    assert ": ORD-0" in text


def test_typing_adds_to_what_a_field_holds_unless_it_is_selected() -> None:
    env = begin_episode(dialect="computer")
    go(env, "/do/cancel_order")
    field = ToolCall(tool="click", arguments={"element": "field.order_id"})
    (at,) = browser_of(env).write(env.episode.state, field)
    act(env, at.tool, **at.arguments)
    act(env, "type", content="ORD")
    text, _ = act(env, "type", content="-1")
    assert 'holds "ORD-1"' in text
    act(env, "hotkey", key="ctrl a")
    text, _ = act(env, "type", content="X")
    assert 'holds "X"' in text
    text, _ = act(env, "hotkey", key="backspace")
    assert '"order_id" is empty' in text


def test_a_message_that_is_refused_says_so() -> None:
    env = begin_episode(dialect="browsergym")
    text, events = act(env, "send_msg_to_user", text="hello")
    assert [event.tool for event in events] == ["reply", "send_msg_to_user"]
    assert "RootWebArea" in text
    _, events = act(env, "report_infeasible", reason="no")
    assert env.end == "gave_up"
    assert [event.tool for event in events] == ["give_up"]


@pytest.mark.parametrize("dialect", NAMES)
def test_boxes_of_the_declared_layout_do_not_overlap(dialect: str) -> None:
    env = begin_episode(dialect=dialect)
    for url in ("/", "/orders", "/do/issue_refund"):
        go(env, url)
        placed = [one for one in place(browser_of(env).screen(env.episode.state)) if one.element.id]
        assert placed
        boxes = [one.box for one in placed]
        for number, one in enumerate(boxes):
            for other in boxes[number + 1 :]:
                apart = one.right <= other.left or other.right <= one.left or one.bottom <= other.top
                assert apart or other.bottom <= one.top


# budgets, extents, depth, differences, find


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("budget", [60, 120, 400])
def test_an_observation_keeps_to_its_budget_and_what_is_cut_is_not_seen(dialect: str, budget: int) -> None:
    env = begin_episode(dialect=dialect, budget=budget)
    text = go(env, "/orders")
    assert count_tokens(text) <= budget
    assert "cut (budget" in text
    seen = {key for table, key in env.events[-1].shown if table == "orders"}
    whole = begin_episode(dialect=dialect)
    assert len(seen) < len(shown_in(go(whole, "/orders"), whole))
    assert all(key in text for key in seen)


def shown_in(text: str, env: ToolEnv) -> set[str]:
    return {key for key in env.episode.state.keys("orders") if key in text}


@pytest.mark.parametrize("dialect", NAMES)
def test_scrolling_leads_through_all_that_was_cut(dialect: str) -> None:
    whole = begin_episode(dialect=dialect)
    go(whole, "/orders")
    env = begin_episode(dialect=dialect, budget=300, max_turns=1_000)
    go(env, "/orders")
    for _ in range(30):
        for call in browser_of(env).write(env.episode.state, ToolCall(tool="scroll", arguments={})):
            act(env, call.tool, **call.arguments)
    assert seen_columns(env) >= seen_columns(whole)


@pytest.mark.parametrize("dialect", NAMES)
def test_a_whole_page_shows_what_scrolling_shows(dialect: str) -> None:
    url = "/handbook"
    env = begin_episode(dialect=dialect, max_turns=1_000)
    go(env, url)
    for _ in range(20):
        for call in browser_of(env).write(env.episode.state, ToolCall(tool="scroll", arguments={})):
            act(env, call.tool, **call.arguments)
    whole = begin_episode(dialect=dialect, extent="page")
    go(whole, url)
    assert shown_rows(whole) == shown_rows(env)


@pytest.mark.parametrize("dialect", NAMES)
def test_a_difference_holds_what_changed_alone(dialect: str) -> None:
    env = begin_episode(dialect=dialect, changes=True)
    first = go(env, "/do/cancel_order")
    call = ToolCall(tool="fill", arguments={"element": "field.order_id", "text": "ORD-77"})
    text = ""
    for said in browser_of(env).write(env.episode.state, call):
        text, _ = act(env, said.tool, **said.arguments)
    added = [line for line in text.splitlines() if line.startswith("+ ")]
    assert "lines as before" in text
    assert "ORD-77" in " ".join(added)
    assert len(added) <= 2
    assert count_tokens(text) < count_tokens(first) / (2 if dialect == "compact" else 3)  # its pages are short


def test_a_difference_that_was_cut_goes_on_with_what_is_new() -> None:
    env = begin_episode(dialect="browsergym", changes=True, budget=300, max_turns=500)
    go(env, "/orders")
    whole = begin_episode(dialect="browsergym")
    go(whole, "/orders")
    for _ in range(30):
        act(env, "noop")
    assert seen_columns(env) == seen_columns(whole)


@pytest.mark.parametrize("dialect", NAMES)
def test_a_depth_leaves_out_what_lies_deeper_and_does_not_count_it(dialect: str) -> None:
    env = begin_episode(dialect=dialect, depth=1)
    text = go(env, "/orders")
    assert "lie deeper than depth 1" in text
    assert not shown_rows(env)


@pytest.mark.parametrize("dialect", NAMES)
def test_find_brings_a_line_into_sight(dialect: str) -> None:
    name = {
        "browsergym": "find_text",
        "playwright-mcp": "browser_find",
        "browser-use": "find_text",
    }.get(dialect, "find")
    env = begin_episode(dialect=dialect, budget=250)
    go(env, "/orders")
    last = sorted(env.episode.state.keys("orders"))[9]
    text, events = act(env, name, text=last.lower())
    assert events[-1].error is None
    assert last in text
    assert count_tokens(text) <= 250


def test_new_elements_are_marked() -> None:
    env = begin_episode(dialect="browser-use")
    assert "*[" not in go(env, "/do/send_internal_message")
    colleague = env.episode.state.keys("employees")[0]
    act(env, "input", index="field.recipient_id", text=colleague)
    act(env, "input", index="field.body", text="hello")
    text, _ = act(env, "click", index="send")
    assert [line for line in text.splitlines() if line.lstrip().startswith("*[")] == [
        line for line in text.splitlines() if "*[" in line
    ]
    assert text.count("*[") == 1
    assert "Close" in text.split("*[")[1].split("[")[0]


# settings


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"dialect": "browsergim"}, UnknownNameError, "browsergym"),
        ({"dialetc": "browsergym"}, UnknownNameError, "dialect"),
        ({"extent": "screen"}, UnknownNameError, "viewport"),
        ({"budget": 59}, ValueError, "from 60"),
        ({"budget": True}, ValueError, "whole number"),
        ({"depth": 0}, ValueError, "from 1"),
        ({"changes": "yes"}, ValueError, "True or False"),
        ("browsergym", TypeError, "mapping"),
    ],
)
def test_a_wrong_setting_is_refused(settings: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        gym.make(STOREFRONT, surface="pages", surface_settings=settings)


@pytest.mark.parametrize("surface", [None, "generic"])
def test_settings_are_refused_where_they_have_no_effect(surface: str | None) -> None:
    with pytest.raises(CapabilityError, match="has no settings"):
        gym.make(STOREFRONT, surface=surface, surface_settings={"dialect": "html"})


def test_a_snapshot_fits_the_same_settings_alone() -> None:
    kept = begin_episode(dialect="html").snapshot()
    others: list[dict[str, Any]] = [{}, {"dialect": "plain"}, {"dialect": "html", "budget": 500}]
    for other in others:
        with pytest.raises(TaskError, match="surface_settings"):
            begin_episode(**other).restore(kept)
    begin_episode(dialect="html").restore(kept)


def test_settings_are_a_part_of_the_spec_and_the_digest() -> None:
    env = begin_episode(dialect="html", budget=500)
    assert env.spec is not None
    assert env.spec.kwargs["surface_settings"] == {"dialect": "html", "budget": 500}
    assert isinstance(browser_of(env).session, DialectSession)
    assert env.digest() != begin_episode(dialect="html", budget=501).digest()
    assert orjson.dumps(browser_of(env).settings)


def test_settings_left_out_are_todays_pages() -> None:
    assert PageSettings() == PageSettings.of({})
    plain, same = begin_episode(), begin_episode(dialect="plain")
    assert plain.episode.observation == same.episode.observation
