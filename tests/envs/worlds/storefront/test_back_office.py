"""The back office: pages made by hand show what generated ones show, lead somewhere, and send what was reviewed."""

from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.addresses import write_address
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.generated import GeneratedSite
from palaestra.envs.surfaces.pages.pieces import write_amount
from palaestra.envs.surfaces.pages.routes import ANY_STEP, Route
from palaestra.envs.surfaces.pages.session import Tab
from palaestra.envs.surfaces.pages.tree import Follow, Page
from palaestra.envs.worlds.storefront.schema import SCHEMA, OrderLine, Ticket
from palaestra.envs.worlds.storefront.site import BACK_OFFICE, REVIEWED
from palaestra.envs.worlds.storefront.tools import TOOLBOX
from palaestra.errors import DefinitionError, ToolRefusal
from palaestra.records import ToolEvent

BY_HAND = GeneratedSite(SCHEMA, TOOLBOX, "agent", routes=BACK_OFFICE, reviewed=REVIEWED)
GENERATED = GeneratedSite(SCHEMA, TOOLBOX, "agent")
TABLES = [route.pattern[0] for route in BACK_OFFICE if route.pattern]


def begin_episode() -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", surface="pages").unwrapped
    assert isinstance(env, ToolEnv)
    env.reset(seed=0, options={"task": "storefront/refund-damaged-item/5000"})
    return env


def act(env: ToolEnv, tool: str, **arguments: Any) -> tuple[str, tuple[ToolEvent, ...]]:
    first = len(env.events)
    messages = env.step({"tool": tool, "arguments": arguments})[0]
    return str(messages[-1]["content"]), tuple(env.events[first:])


def shown_columns(page: Page, table: str, key: str) -> set[str]:
    return {
        column
        for element in page.walk()
        for one in element.shows
        if (one.row.table, one.row.id) == (table, key)
        for column in one.columns
    }


@pytest.mark.parametrize("table", TABLES)
def test_a_page_made_by_hand_shows_every_column_of_its_row(table: str) -> None:
    state = begin_episode().episode.state
    for key in list(state.keys(table))[::40]:
        tab = Tab().visit(write_address(table, key))
        page = BY_HAND.page(state, tab)
        assert (
            shown_columns(page, table, key)
            == set(SCHEMA[table].columns)
            == shown_columns(GENERATED.page(state, tab), table, key)
        )


def test_every_link_leads_to_a_page_and_ids_are_unique() -> None:
    state = begin_episode().episode.state
    seen: set[str] = set()
    ahead = ["/"]
    while ahead and len(seen) < 400:
        url = ahead.pop(0)
        if url in seen:
            continue
        seen.add(url)
        page = BY_HAND.page(state, Tab().visit(url))
        ids = [element.id for element in page.walk() if element.id]
        assert len(set(ids)) == len(ids), url
        ahead += [one.activation.url for one in page.walk() if isinstance(one.activation, Follow)]
    assert len(seen) == 400
    assert {url.split("/")[1].partition("?")[0] for url in seen} >= {"", "do", *TABLES}


def test_an_unknown_tab_is_refused_with_those_that_there_are() -> None:
    state = begin_episode().episode.state
    order = state.keys("orders")[0]
    with pytest.raises(ToolRefusal, match="unknown tab 'payment'; did you mean 'payments'"):
        BY_HAND.page(state, Tab().visit(f"/orders/{order}?tab=payment"))
    for table in TABLES:
        with pytest.raises(ToolRefusal, match="has no row 'nobody'"):
            BY_HAND.page(state, Tab().visit(f"/{table}/nobody"))


@pytest.mark.parametrize("route", [route for route in BACK_OFFICE if len(route.pattern) == 2])
def test_a_tab_that_is_opened_is_the_look_up_of_its_list(route: Route) -> None:
    state = begin_episode().episode.state
    table = route.pattern[0]
    key = state.keys(table)[0]
    page = BY_HAND.page(state, Tab().visit(f"/{table}/{key}"))
    tabs = [one.activation for one in page.walk() if one.role == "tab"]
    assert (len(tabs) == 0) == (table == "handbook")
    for tab in tabs:
        assert isinstance(tab, Follow)
        call = BY_HAND.look_up(tab.url)
        assert call is not None
        where = call.arguments["where"]
        assert isinstance(where, dict)
        (column,) = where
        assert call == GENERATED.look_up(write_address(str(call.arguments["table"]), query={column: key}))
    assert BY_HAND.look_up(f"/{table}/{key}") is None


def test_a_section_is_read_when_its_last_paragraph_was_seen() -> None:
    state = begin_episode().episode.state
    page = BY_HAND.page(state, Tab().visit("/handbook/RET-1"))
    texts = [element for element in page.elements if element.role == "text"]
    assert "\n\n".join(text.value for text in texts) == state.get(SCHEMA["handbook"].kind, "RET-1").body  # type: ignore[attr-defined]
    assert [bool(text.shows) for text in texts] == [False] * (len(texts) - 1) + [True]


def line_to_refund(env: ToolEnv) -> OrderLine:
    return next(line for line in env.episode.state.find(OrderLine) if line.quantity > 1)


def test_a_form_is_reviewed_then_sent_and_is_the_tools_own_event() -> None:
    env = begin_episode()
    line = line_to_refund(env)
    act(env, "goto", url=f"/do/issue_refund?line_id={line.id}")
    for name, text in (("quantity", "1"), ("amount_cents", "100")):
        act(env, "fill", element=f"field.{name}", text=text)
    act(env, "select_option", element="field.reason", option="damaged")
    text, events = act(env, "click", element="continue")
    assert [event.tool for event in events] == ["click"], "nothing is sent yet"
    assert text.startswith("page /do/issue_refund/review?")
    assert f"product_name {line.product_name}" in " ".join(text.split())
    _, events = act(env, "click", element="send")
    assert [event.tool for event in events] == ["issue_refund", "click"]
    assert events[0].arguments == {"line_id": line.id, "quantity": 1, "amount_cents": 100, "reason": "damaged"}


def test_what_was_reviewed_can_be_changed() -> None:
    env = begin_episode()
    line = line_to_refund(env)
    act(env, "goto", url=f"/do/issue_refund/review?line_id={line.id}&quantity=1&amount_cents=100&reason=damaged")
    text, events = act(env, "click", element="review.change")
    assert [event.tool for event in events] == ["click"]
    assert '[field.amount_cents] textbox "amount_cents" holds "100"' in text
    assert '[field.reason] combobox "reason" holds "damaged"' in text


def test_a_review_that_lacks_something_is_refused_by_the_tool() -> None:
    env = begin_episode()
    act(env, "goto", url="/do/give_credit/review?amount_cents=100")
    text, events = act(env, "click", element="send")
    assert events[0].tool == "give_credit"
    assert events[0].error is not None
    assert "alert: " in text


def test_only_reviewed_forms_have_a_review_and_only_forms_are_reviewed() -> None:
    state = begin_episode().episode.state
    with pytest.raises(ToolRefusal, match="no such page; a form is at /do/ACTION"):
        BY_HAND.page(state, Tab().visit("/do/cancel_order/review"))
    with pytest.raises(DefinitionError, match="unknown reviewed action 'refund_all'"):
        GeneratedSite(SCHEMA, TOOLBOX, "agent", reviewed=["refund_all"])
    assert [page.button for page in BY_HAND.form_pages("issue_refund")] == ["continue", "send"]
    assert [page.button for page in BY_HAND.form_pages("cancel_order")] == ["send"]


def test_a_pattern_fits_addresses_of_its_length_alone() -> None:
    route = Route(pattern=("orders", ANY_STEP), draw=lambda _: ("", ()))
    assert route.match(("orders", "ORD-1")) == ("ORD-1",)
    assert route.match(("orders",)) is None
    assert route.match(("tickets", "ORD-1")) is None
    assert route.match(("orders", "ORD-1", "x")) is None


@pytest.mark.parametrize(("cents", "text"), [(0, "EUR 0.00 (0 cents)"), (123456, "EUR 1,234.56 (123456 cents)")])
def test_amounts_are_in_euros_and_in_the_cents_that_forms_take(cents: int, text: str) -> None:
    assert write_amount(cents) == text


def test_the_browser_of_the_world_opens_the_back_office() -> None:
    env = begin_episode()
    browser = env.episode.surface
    assert isinstance(browser, PageBrowser)
    assert browser.page(env.episode.state).title == "Back office"


def test_a_ticket_shows_the_talk_that_its_request_began_and_forks_keep_theirs() -> None:
    env = gym.make("palaestra/Storefront-v0", surface="pages").unwrapped
    assert isinstance(env, ToolEnv)
    messages, _ = env.reset(seed=0, options={"task": "storefront/talk-hold-the-line/0000"})
    ticket = messages[1]["content"].split(",")[0].removeprefix("Ticket ")
    others = next(row.id for row in env.episode.state.find(Ticket) if row.id != ticket)
    request = messages[1]["content"].splitlines()[-1]

    assert request not in act(env, "goto", url=f"/tickets/{others}")[0]
    assert request in act(env, "goto", url=f"/tickets/{ticket}")[0]
    fork = env.fork()
    answer = env.step({"tool": "reply", "arguments": {"message": "Is it ORD-9999?"}})[0][-1]
    assert answer["role"] == "user"
    page, events = act(env, "noop")
    assert [line for line in page.splitlines() if line.startswith(("You: ", "Customer: "))][2:] == [
        "You: Is it ORD-9999?",
        f"Customer: {answer['content'].splitlines()[0]}",
    ]
    assert not any("ORD-9999" in event.mentioned for event in events), "what was written is no record"
    assert "You: " not in act(fork, "noop")[0]
    assert env.episode.digest() != fork.episode.digest()
