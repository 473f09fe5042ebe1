"""The dialect for small policies: nothing that counts as seen is missing, and what pages repeat is left out."""

from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.addresses import plain_address
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.dialects import DIALECTS, count_tokens
from palaestra.envs.surfaces.pages.dialects.dialect import one_line
from palaestra.envs.surfaces.pages.dialects.drawing import observe
from palaestra.envs.surfaces.pages.dialects.session import DialectSession
from palaestra.envs.surfaces.pages.pieces import column_text
from palaestra.envs.surfaces.pages.settings import PageSettings
from palaestra.envs.surfaces.pages.variation import FAMILIES
from palaestra.errors import ToolRefusal, UnknownNameError

TASK = "storefront/cancel-order/5000"
URLS = ("/", "/orders", "/handbook?search=nothing-has-this", "/do/issue_refund", "/handbook", "/products?category=cpu")


def begin_episode(**settings: Any) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", surface="pages", surface_settings={"dialect": "compact", **settings})
    assert isinstance(env, ToolEnv)
    env.reset(seed=0, options={"task": TASK})
    return env


def open_page(env: ToolEnv, url: str) -> str:
    messages, *_ = env.step({"tool": "goto", "arguments": {"url": url}})
    return str(messages[0]["content"])


def addresses(env: ToolEnv) -> list[str]:
    """Pages of every kind, an order, a customer and a ticket among them."""
    first = {table: env.table_ids(table)[0] for table in ("orders", "customers", "tickets")}
    return [*URLS, *(f"/{table}/{key}" for table, key in first.items())]


def test_an_element_that_the_page_lacks_is_refused_with_the_nearest_one() -> None:
    env = begin_episode()
    open_page(env, "/do/cancel_order")
    messages, *_ = env.step({"tool": "fill", "arguments": {"element": "field.order", "text": "ORD-1"}})
    assert "field.order_id" in messages[0]["content"]


def test_an_unknown_dialect_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="compact"):
        PageSettings.of({"dialect": "compakt"})


@pytest.mark.parametrize("url", ["orders", "https://elsewhere.test/orders", "/" + "x" * 3_000])
def test_an_address_of_no_page_has_no_plain_form(url: str) -> None:
    with pytest.raises(ToolRefusal):
        plain_address(url)


def test_conditions_that_ask_for_nothing_are_no_part_of_an_address() -> None:
    assert plain_address("/orders?status=any&search=&customer_id=CUS-1") == "/orders?customer_id=CUS-1"
    assert open_page(begin_episode(), "/orders?search=&status=").startswith("page /orders\n")


@pytest.mark.parametrize("variation", [None, *FAMILIES])
def test_what_counts_as_seen_and_what_can_be_clicked_stands_in_the_text(variation: str | None) -> None:
    env = begin_episode(**({} if variation is None else {"variation": variation}))
    for url in addresses(env):
        open_page(env, url)
        browser = env.episode.surface
        assert isinstance(browser, PageBrowser)
        assert isinstance(browser.session, DialectSession)
        page = browser.page(env.episode.state)
        seen = observe(DIALECTS["compact"], page, browser.session, lines=0)
        words = set(seen.text.replace("=", " ").split())
        repeated = {element.id for element in page.elements[0].walk()}
        if browser.view(env.episode.state).lines <= 60:
            assert {element.id for element in page.walk() if element.id} - repeated <= words, url
        assert (repeated - {""} <= words) == (url == "/"), url
        assert seen.shows or url in ("/", "/do/issue_refund", URLS[2])
        for shown in seen.shows:
            for column in shown.columns:
                value = getattr(shown.row, column)
                amount = f"({value} cents)"  # as the back office writes amounts
                texts = {one_line(column_text(value)), amount}
                assert any(text in seen.text for text in texts), (url, column, value)


def test_a_page_takes_three_quarters_of_the_plain_tokens_at_most() -> None:
    compact, plain = begin_episode(), begin_episode(dialect="plain")
    for url in addresses(compact)[:2] + addresses(compact)[-3:]:
        assert count_tokens(open_page(compact, url)) < 0.75 * count_tokens(open_page(plain, url)), url
