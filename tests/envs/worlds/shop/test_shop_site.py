"""The shop's site: it shows what tools show, leads everywhere, sums up as orders do, and sends what was reviewed."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from shutil import which
from typing import Any, cast

import gymnasium as gym
import pytest

from palaestra.agents import oracle, rollout
from palaestra.benchmarks.pages import HandPlay
from palaestra.envs import ToolEnv
from palaestra.envs.kit import HandbookVariants
from palaestra.envs.state import Overlay
from palaestra.envs.surfaces.pages.addresses import read_address, write_address
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.chromium import Chromium
from palaestra.envs.surfaces.pages.generated import GeneratedSite
from palaestra.envs.surfaces.pages.session import Tab
from palaestra.envs.surfaces.pages.tree import Follow, Page, Submit
from palaestra.envs.surfaces.pages.variation import PageVariation
from palaestra.envs.worlds.shop.population import CUSTOMER_ID, populate
from palaestra.envs.worlds.shop.schema import SCHEMA, BasketLine, Checkout, ShopOrder, Variant
from palaestra.envs.worlds.shop.site import NAVIGATION, REVIEWED, SHOP_SITE
from palaestra.envs.worlds.shop.site.lists import SKIP, SORT
from palaestra.envs.worlds.shop.terms import ShopTerms, read_terms
from palaestra.envs.worlds.shop.tools import TOOLBOX
from palaestra.envs.worlds.shop.world import SHOP
from palaestra.envs.worlds.storefront.schema import Promotion
from palaestra.errors import ToolRefusal
from palaestra.records import ToolCall, ToolEvent

pytestmark = pytest.mark.xdist_group("shop")

SITE = GeneratedSite(SCHEMA, TOOLBOX, "customer", routes=SHOP_SITE, reviewed=REVIEWED, navigation=NAVIGATION)
GENERATED = GeneratedSite(SCHEMA, TOOLBOX, "customer")
TASK = "shop/buy-article/5000"
ROWS = [route.pattern[0] for route in SHOP_SITE if len(route.pattern) == 2 and route.pattern[0] in SCHEMA.tables]
LISTS = [route.pattern[0] for route in SHOP_SITE if len(route.pattern) == 1 and route.pattern[0] in SCHEMA.tables]
CHROMIUM = which("chromium") or "/usr/bin/chromium"
HIDDEN = {"stock", "lead_days"}
"""What stands on an article's own page alone."""


def begin_episode(surface: str = "pages") -> ToolEnv:
    switches: dict[str, Any] = {} if surface == "conventional" else {"surface": surface}
    env = gym.make("palaestra/Shop-v0", max_turns=1_000, **switches).unwrapped
    assert isinstance(env, ToolEnv)
    env.reset(seed=0, options={"task": env.task_set.ids("dev")[0]})
    return env


def act(env: ToolEnv, tool: str, **arguments: Any) -> tuple[str, tuple[ToolEvent, ...]]:
    first = len(env.events)
    messages = env.step({"tool": tool, "arguments": arguments})[0]
    return str(messages[-1]["content"]), tuple(env.events[first:])


def front(env: ToolEnv) -> Page:
    browser = env.episode.surface
    assert isinstance(browser, PageBrowser)
    return browser.page(env.episode.state)


def page_at(url: str, state: Any = None) -> Page:
    return SITE.page(begin_episode().episode.state if state is None else state, Tab().visit(url))


def shown_columns(page: Page, table: str) -> dict[str, set[str]]:
    """By row: the columns that a page shows."""
    found: dict[str, set[str]] = {}
    for element in page.walk():
        for one in element.shows:
            if one.row.table == table:
                found.setdefault(one.row.id, set()).update(one.columns)
    return found


def known_ids(events: tuple[ToolEvent, ...], table: str) -> dict[str, set[str]]:
    """By row: the columns that events count as shown."""
    found: dict[str, set[str]] = {}
    for event in events:
        for part in event.columns:
            if part.table == table:
                for key in part.keys:
                    found.setdefault(key, set()).update(part.columns)
        for name, key in event.shown:
            if name == table:
                found.setdefault(key, set()).update(SCHEMA[table].columns)
    return found


def definitions(page: Page) -> Mapping[str, str]:
    return {one.name: one.value for one in page.walk() if one.role == "definition"}


def articles(env: ToolEnv, number: int) -> list[Variant]:
    """Articles of different products that are there."""
    found = [v for v in env.episode.state.find(Variant) if v.stock >= 5]
    return list({v.product_id: v for v in found}.values())[:number]


def put_into_basket(env: ToolEnv, number: int = 2) -> list[Variant]:
    goods = articles(env, number)
    for one in goods:
        act(env, "goto", url=f"/variants/{one.id}")
        act(env, "click", element="send")
    return goods


# what pages show


@pytest.mark.parametrize("table", ROWS)
def test_a_page_made_by_hand_shows_every_column_of_its_row(table: str) -> None:
    state = begin_episode().episode.state
    for key in list(state.keys(table))[::23]:
        tab = Tab().visit(write_address(table, key))
        own = shown_columns(SITE.page(state, tab), table)[key]
        assert own == set(SCHEMA[table].columns) == shown_columns(GENERATED.page(state, tab), table)[key]


def test_the_first_page_shows_no_row() -> None:
    page = page_at("/")
    assert not any(element.shows for element in page.walk())


@pytest.mark.parametrize("tool", ["search_variants", "search_orders", "search_errands", "search_handbook"])
def test_a_list_lets_know_what_the_searching_tool_lets_know(tool: str) -> None:
    asked: Mapping[str, Mapping[str, Any]] = {
        "search_variants": {"category": "keyboard", "min_rating": 30, "in_stock": True},
        "search_orders": {"customer_id": CUSTOMER_ID, "status": "delivered"},
        "search_errands": {"customer_id": CUSTOMER_ID},
        "search_handbook": {"query": "order"},
    }
    table = {"search_variants": "variants", "search_orders": "orders", "search_errands": "errands"}.get(
        tool, "handbook"
    )
    own, site = begin_episode("conventional"), begin_episode()
    _, by_tool = act(own, tool, **asked[tool])
    first = len(site.events)
    for call in SHOP.surface("pages").translate([ToolCall(tool=tool, arguments=asked[tool])], site.episode.state):
        act(site, call.tool, **call.arguments)
    by_tool_known, by_page_known = known_ids(by_tool, table), known_ids(site.events[first:], table)
    assert by_tool_known.keys() == by_page_known.keys()
    assert len(by_page_known) >= 4
    for key, columns in by_tool_known.items():
        assert columns <= by_page_known[key]
        assert not HIDDEN & by_page_known[key]


def test_stock_and_lead_days_stand_on_an_articles_own_page_alone() -> None:
    env = begin_episode()
    key = env.episode.state.keys("variants")[0]
    product = env.episode.state.get(Variant, key).product_id
    for url in ("/variants", "/variants?sort=rating", f"/products/{product}", "/variants?stock+%3E=0"):
        columns = shown_columns(page_at(url, env.episode.state), "variants")
        assert columns, url
        assert not any(HIDDEN & own for own in columns.values()), url
    assert shown_columns(page_at(f"/variants/{key}", env.episode.state), "variants")[key] >= HIDDEN


def test_a_products_page_lists_its_articles() -> None:
    state = begin_episode().episode.state
    for key in list(state.keys("products"))[::17]:
        own = {v.id for v in state.find(Variant, product_id=key)}
        assert shown_columns(page_at(f"/products/{key}", state), "variants").keys() == own


# where pages lead


def test_every_link_leads_to_a_page_ids_are_unique_and_every_action_is_found() -> None:
    env = begin_episode()
    put_into_basket(env)
    state = env.episode.state
    seen: set[str] = set()
    actions: set[str] = set()
    kinds: Counter[tuple[str, ...]] = Counter()
    ahead = ["/"]
    while ahead:
        url = ahead.pop(0)
        path = read_address(url).path
        kind = path if path[:1] == ("do",) else (*path[:1], str(len(path)))
        if url in seen or kinds[kind] >= 40:
            continue
        seen.add(url)
        kinds[kind] += 1
        page = SITE.page(state, Tab().visit(url))
        ids = [element.id for element in page.walk() if element.id]
        assert len(set(ids)) == len(ids), url
        for element in page.walk():
            if isinstance(element.activation, Follow):
                ahead.append(element.activation.url)
            elif isinstance(element.activation, Submit):
                actions.add(element.activation.action)
                ahead += [element.activation.url] if element.activation.url else []
    # Nothing leads to a voucher but its code.
    assert {kind[0] for kind in kinds if len(kind) == 2} >= {"do", "basket", *ROWS} - {"promotions"}
    surface = SHOP.surface("pages").toolbox.actions
    assert surface is not None
    # The basket's own page stands for the form of `get_basket`; `query` is what opening a list calls.
    assert {tool.name for tool in surface} - actions <= {"get_basket", "query"}


def test_an_unknown_row_is_refused() -> None:
    for table in ROWS:
        with pytest.raises(ToolRefusal, match="has no row 'nobody'"):
            page_at(f"/{table}/nobody")


# lists


@pytest.mark.parametrize("table", LISTS)
def test_opening_a_list_is_the_look_up_that_the_generated_list_makes(table: str) -> None:
    key = begin_episode().episode.state.keys(table)
    for query in ({}, {"id": "X-1"}, {"after": key[0]} if key else {}):
        url = write_address(table, query=query)
        assert SITE.look_up(url) == GENERATED.look_up(url)


def test_another_order_is_the_same_look_up() -> None:
    url = "/variants?category=gpu&price_cents+%3C%3D=50000"
    assert SITE.look_up(f"{url}&sort=price&skip=10") == SITE.look_up(url) == GENERATED.look_up(url)


def follow_pages(url: str, state: Any) -> Iterator[list[str]]:
    """The ids on each page of a list, by its links."""
    ahead: str | None = url
    while ahead:
        page = SITE.page(state, Tab().visit(ahead))
        yield [element.id.removeprefix("row.") for element in page.walk() if element.id.startswith("row.")]
        links = {element.id: element.activation for element in page.walk()}
        following = links.get("list.next")
        ahead = following.url if isinstance(following, Follow) else None


@pytest.mark.parametrize("sort", ["", "price", "rating"])
@pytest.mark.parametrize("asked", [{}, {"category": "memory"}, {"search": "ssd", "rating >=": "30"}])
def test_the_pages_of_a_list_hold_each_row_once_in_the_order_that_was_asked_for(
    sort: str, asked: dict[str, str]
) -> None:
    state = begin_episode().episode.state
    url = write_address("variants", query={**asked, **({SORT: sort} if sort else {})})
    pages = list(follow_pages(url, state))
    keys = [key for page in pages for key in page]
    expected: list[Variant] = [
        v
        for v in state.find(Variant)
        if asked.get("category") in (None, v.category)
        and (not asked.get("search") or "SSD" in v.name)
        and v.rating >= int(asked.get("rating >=", 0))
    ]
    assert len(pages) >= 2
    assert all(len(page) == 10 for page in pages[:-1])
    keyed = {"": [(0, v.id) for v in expected]}
    keyed["price"] = [(v.price_cents, v.id) for v in expected]
    keyed["rating"] = [(-v.rating, v.id) for v in expected]
    assert keys == [key for _, key in sorted(keyed[sort])]


def test_of_a_sorted_list_only_the_rows_on_the_page_are_known() -> None:
    env = begin_episode()
    text, events = act(env, "goto", url="/variants?category=gpu&sort=price")
    assert events[0].tool == "query"
    assert "1 to 10 of " in text
    cheapest = sorted(env.episode.state.find(Variant, category="gpu"), key=lambda v: v.price_cents)[:10]
    assert known_ids(events, "variants").keys() == {v.id for v in cheapest}


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("sort=prise", "unknown order 'prise'; did you mean 'price'"),
        ("sort=price&skip=-1", "skip='-1' is no number of rows"),
        ("price=3", "price"),
        ("rating+%3E%3D=good", "rating"),
    ],
)
def test_an_order_or_a_condition_that_there_is_not_is_refused(query: str, said: str) -> None:
    with pytest.raises(ToolRefusal, match=said):
        page_at(f"/variants?{query}")


def test_skipping_more_rows_than_there_are_shows_none() -> None:
    assert page_at(f"/variants?{SORT}=price&{SKIP}=99999").elements[1].name == "Articles: none"


def test_facets_narrow_a_list_and_keep_what_was_asked_besides() -> None:
    env = begin_episode()
    act(env, "goto", url="/variants?stock+%3E=0&sort=price")
    act(env, "select_option", element="filter.category", option="monitor")
    act(env, "fill", element="filter.to", text="60000")
    _, events = act(env, "click", element="filter.find")
    asked = {"category": "monitor", "price_cents <=": 60000, "stock >": 0}
    assert events[0].arguments == {"table": "variants", "where": asked}
    query = read_address(front(env).url).query
    assert query == {"stock >": "0", "sort": "price", "category": "monitor", "price_cents <=": "60000"}
    rows = [env.episode.state.get(Variant, key) for key in known_ids(events, "variants")]
    assert rows
    assert all(v.category == "monitor" and v.price_cents <= 60_000 and v.stock > 0 for v in rows)
    act(env, "select_option", element="filter.edition", option="swivel stand")
    _, events = act(env, "press", element="filter.edition")
    assert events[0].arguments == {"table": "variants", "where": {**asked, "edition": "swivel stand"}}


def test_editions_and_brands_are_offered_within_a_category() -> None:
    state = begin_episode().episode.state
    page = page_at("/variants?category=keyboard", state)
    options = {element.id: element.options for element in page.walk()}
    assert set(options["filter.edition"][1:]) == {v.edition for v in state.find(Variant, category="keyboard")}
    assert set(options["filter.brand"][1:]) == {v.brand for v in state.find(Variant, category="keyboard")}
    assert "filter.edition" not in {element.id for element in page_at("/variants", state).walk()}


# basket and checkout


def test_each_line_of_the_basket_has_a_form_of_its_own() -> None:
    env = begin_episode()
    goods = put_into_basket(env)
    lines = env.episode.state.find(BasketLine, order_id=None)
    assert [line.variant_id for line in lines] == [one.id for one in goods]
    act(env, "goto", url="/basket")
    for line, number in zip(lines, (3, 4), strict=True):
        act(env, "fill", element=f"{line.id}.quantity", text=str(number))
        _, events = act(env, "click", element=f"{line.id}.change")
        assert events[0].tool == "change_quantity"
        assert events[0].arguments == {"line_id": line.id, "quantity": number}
    assert [line.quantity for line in env.episode.state.find(BasketLine, order_id=None)] == [3, 4]
    act(env, "click", element=f"{lines[0].id}.remove")
    act(env, "click", element="send")
    assert [line.id for line in env.episode.state.find(BasketLine, order_id=None)] == [lines[1].id]


def test_opening_the_basket_is_a_look_up_and_an_empty_one_is_an_answer() -> None:
    env = begin_episode()
    text, events = act(env, "goto", url="/basket")
    assert events[0].arguments == {"table": "order_lines", "where": {"order_id": None}}
    assert events[0].error is None
    assert "The basket is empty." in text
    assert known_ids(events, "order_lines") == {}


@pytest.mark.parametrize("delivery", ["standard", "express"])
@pytest.mark.parametrize("voucher", [False, True])
def test_the_review_sums_up_what_the_tool_says_and_what_the_order_comes_to(delivery: str, voucher: bool) -> None:
    env = begin_episode()
    kinds = {None, *(one.category for one in put_into_basket(env, 3))}
    code = next(one.id for one in env.episode.state.find(Promotion) if one.category in kinds)
    act(env, "goto", url="/basket")
    assert "Total" not in definitions(front(env)), "delivery is not chosen yet"
    act(env, "click", element="basket.checkout")
    act(env, "fill", element="field.street", text="Mill Lane 1")
    act(env, "fill", element="field.city", text="1010 Wien")
    act(env, "click", element="send")
    act(env, "click", element="step.next")
    act(env, "select_option", element="field.delivery", option=delivery)
    act(env, "click", element="send")
    act(env, "click", element="step.next")
    act(env, "select_option", element="field.payment", option="paypal")
    act(env, "click", element="send")
    act(env, "click", element="step.next")
    if voucher:
        act(env, "fill", element="field.code", text=code)
        act(env, "click", element="send")
    act(env, "click", element="step.next")
    said = definitions(front(env))
    text, _ = act(env, "goto", url="/do/get_basket")
    text, _ = act(env, "click", element="send")
    act(env, "goto", url="/do/place_order")
    _, events = act(env, "click", element="send")
    assert [event.tool for event in events] == ["place_order", "click"]
    order = env.episode.state.find(ShopOrder)[-1]
    assert (order.ship_street, order.delivery, order.payment) == ("Mill Lane 1", delivery, "paypal")
    assert (order.discount_cents > 0) == voucher
    for name, column in (
        ("Goods", "subtotal_cents"),
        ("Discount", "discount_cents"),
        ("Delivery", "shipping_cents"),
        ("Total", "total_cents"),
    ):
        cents = getattr(order, column)
        assert f"{column}: {cents}" in text
        assert said[name].endswith(f"({cents} cents)")


def test_an_order_without_choices_is_refused_on_the_page() -> None:
    env = begin_episode()
    put_into_basket(env, 1)
    act(env, "goto", url="/do/place_order")
    text, events = act(env, "click", element="send")
    assert events[0].tool == "place_order"
    assert events[0].error is not None
    assert "alert: incomplete: put something into the basket and choose delivery and payment first" in text


def test_the_steps_begin_with_what_was_chosen() -> None:
    env = begin_episode()
    [checkout] = env.episode.state.find(Checkout)
    act(env, "goto", url="/do/deliver_to")
    holds = {element.name: element.value for element in front(env).walk() if element.role == "textbox"}
    assert holds == {"Street and number": checkout.ship_street, "Postcode and town": checkout.ship_city}


def test_what_was_entered_stays_where_the_tool_refuses() -> None:
    env = begin_episode()
    [one] = articles(env, 1)
    act(env, "goto", url=f"/variants/{one.id}")
    act(env, "fill", element="field.quantity", text="99")
    text, events = act(env, "click", element="send")
    assert events[0].arguments == {"variant_id": one.id, "quantity": 99}
    assert "alert: " in text
    assert '[field.quantity] textbox "Pieces" holds "99"' in text


def test_terms_are_read_back_from_the_handbook_that_states_them() -> None:
    rules = cast("HandbookVariants[ShopTerms]", SHOP.rules)
    stated = [rules.own, *(rules.one_changed(name) for name in rules.changes), *(rules(3_000 + n, 0) for n in range(5))]
    stated += [replace(rules.own, **{name: value}) for name, values in rules.changes.items() for value in values]
    assert len(set(stated)) > 20
    for terms in stated:
        assert read_terms(Overlay(populate(1000, terms))) == terms


# orders


@pytest.mark.parametrize(
    ("status", "offered"),
    [("processing", {"cancel", "redirect"}), ("shipped", set[str]()), ("delivered", {"return"})],
)
def test_an_order_offers_what_its_status_permits(status: str, offered: set[str]) -> None:
    state = begin_episode().episode.state
    order = state.find(ShopOrder, status=status)[0]
    links = [e.activation.url for e in page_at(f"/orders/{order.id}", state).walk() if isinstance(e.activation, Follow)]
    found = {
        name for name in ("cancel", "redirect", "return") if any(f"/do/{name}_" in u or f"_{name}?" in u for u in links)
    }
    assert found == offered


def test_a_return_is_reviewed_can_be_changed_and_is_the_tools_own_event() -> None:
    env = begin_episode()
    order = env.episode.state.find(ShopOrder, status="delivered")[0]
    line = env.episode.state.find(BasketLine, order_id=order.id)[0]
    act(env, "goto", url=f"/orders/{order.id}")
    act(env, "click", element=f"{line.id}.return")
    act(env, "fill", element="field.quantity", text="1")
    text, events = act(env, "click", element="continue")
    assert [event.tool for event in events] == ["click"], "nothing is sent yet"
    assert f"Name: {line.product_name}" in text
    text, _ = act(env, "click", element="review.change")
    assert '[field.quantity] textbox "Pieces" holds "1"' in text
    act(env, "click", element="continue")
    _, events = act(env, "click", element="send")
    assert [event.tool for event in events] == ["start_return", "click"]
    assert events[0].arguments == {"line_id": line.id, "quantity": 1}


def test_what_moves_money_or_goods_is_reviewed() -> None:
    assert set(REVIEWED) == {"cancel_order", "redirect_order", "start_return"}
    assert [page.button for page in SITE.form_pages("cancel_order")] == ["continue", "send"]
    assert [page.button for page in SITE.form_pages("place_order")] == ["send"], "its page is the checkout's review"


def test_a_review_that_lacks_something_is_refused_by_the_tool() -> None:
    env = begin_episode()
    order = env.episode.state.find(ShopOrder, status="processing")[0]
    act(env, "goto", url=f"/do/redirect_order/review?order_id={order.id}")
    text, events = act(env, "click", element="send")
    assert events[0].tool == "redirect_order"
    assert events[0].error is not None
    assert "alert: " in text


def test_the_address_book_changes_the_account() -> None:
    env = begin_episode()
    act(env, "goto", url=f"/customers/{CUSTOMER_ID}")
    act(env, "fill", element="field.street", text="Mill Lane 1")
    act(env, "fill", element="field.city", text="1010 Wien")
    _, events = act(env, "click", element="send")
    assert events[0].arguments == {"customer_id": CUSTOMER_ID, "street": "Mill Lane 1", "city": "1010 Wien"}
    assert definitions(front(env))["Street"] == "Mill Lane 1"


# other looks and renderers


@pytest.mark.parametrize(("variation", "rows"), [("long-lists", 25), ("short-lists", 5), ("wizard", 10)])
def test_lists_are_as_long_as_the_variation_says_and_forms_made_by_hand_stay_whole(variation: str, rows: int) -> None:
    site = GeneratedSite(
        SCHEMA, TOOLBOX, "customer", routes=SHOP_SITE, reviewed=REVIEWED, variation=PageVariation.of(variation)
    )
    state = begin_episode().episode.state
    for url in ("/variants", "/variants?sort=price"):
        assert len(shown_columns(site.page(state, Tab().visit(url)), "variants")) == rows
    assert [page.button for page in site.form_pages("redirect_order")] == ["continue", "send"]


@pytest.mark.parametrize("variation", ["long-lists", "short-lists", "wizard", "reversed", "cards", "german"])
def test_solutions_reach_every_point_under_variation(variation: str) -> None:
    env = gym.make("palaestra/Shop-v0", surface="pages", surface_settings={"variation": variation}).unwrapped
    assert isinstance(env, ToolEnv)
    for task in env.task_set.ids("dev")[::6]:
        env.reset(options={"task": task})
        assert rollout(env, oracle(env.oracle), name="oracle", seed=0, task=task).score.passed, task


def test_a_walk_through_the_shop_is_the_same_in_chromium() -> None:
    env = begin_episode()
    first, second = articles(env, 2)

    def call(tool: str, **arguments: Any) -> ToolCall:
        return ToolCall(tool=tool, arguments=arguments)

    with Chromium(CHROMIUM) as chromium, chromium.open(env) as pages:
        walk = [
            call("click", element="category.gpu"),
            call("click", element="sort.price"),
            call("click", element="stock.some"),
            call("fill", element="filter.category", text=""),
            call("select_option", element="filter.colour", option="black"),
            call("fill", element="filter.to", text="90000"),
            call("click", element="filter.find"),
            call("goto", url=f"/variants/{first.id}"),
            call("fill", element="field.quantity", text="99"),
            call("click", element="send"),
            call("fill", element="field.quantity", text="2"),
            call("click", element="send"),
            call("goto", url=f"/variants/{second.id}"),
            call("click", element="send"),
            call("click", element="dialog.close"),
            call("click", element="nav.basket"),
        ]
        steps = [pages.act(one) for one in walk]
        line = env.episode.state.find(BasketLine, order_id=None)[1]
        steps += [
            pages.act(one)
            for one in (
                call("fill", element=f"{line.id}.quantity", text="3"),
                call("click", element=f"{line.id}.change"),
                call("click", element="basket.checkout"),
                call("click", element="step.next"),
                call("select_option", element="field.delivery", option="express"),
                call("click", element="send"),
                call("click", element="step.choose_payment"),
                call("select_option", element="field.payment", option="card"),
                call("click", element="send"),
                call("click", element="step.place_order"),
                call("click", element="send"),
            )
        ]
        assert pages.denied == []
    assert [step for step in steps if not step.equal] == []
    order = env.episode.state.find(ShopOrder)[-1]
    ordered = {x.variant_id: x.quantity for x in env.episode.state.find(BasketLine, order_id=order.id)}
    assert ordered == {first.id: 2, second.id: 3}


def test_a_person_who_sends_one_of_several_forms_sends_that_one() -> None:
    env = begin_episode()
    hand = HandPlay(env, env.task_set.ids("dev")[0])
    for one in articles(env, 2):
        hand.open(f"/variants/{one.id}")
        hand.send(f"/variants/{one.id}", {"variant_id": one.id, "quantity": "1"})
    hand.open("/basket")
    lines = env.episode.state.find(BasketLine, order_id=None)
    hand.send("/basket", {"line_id": lines[1].id, "quantity": "4"})
    assert [line.quantity for line in env.episode.state.find(BasketLine, order_id=None)] == [1, 4]
    hand.send("/basket", {"line_id": "LIN-1", "quantity": "5"})
    assert [line.quantity for line in env.episode.state.find(BasketLine, order_id=None)] == [1, 4]
