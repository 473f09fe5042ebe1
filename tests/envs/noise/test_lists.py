"""Lists that end early, and lists that lag."""

import json
from dataclasses import replace
from typing import Any

import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.noise.answer import ToolAnswer
from palaestra.envs.noise.caps import ROWS, cap_answer
from palaestra.envs.noise.lag import Lag
from palaestra.envs.noise.material import Listing
from palaestra.envs.worlds.storefront.schema import Customer, Order, Product
from palaestra.records import ShownColumns
from palaestra.rubrics import Rubric, expect_call, expect_read
from palaestra.seeding import Stream
from worlds.bench import EVENT, Bench
from worlds.library import Book, Member
from worlds.noisy import storefront

TASK = "storefront/price-match/5000"


def begun(noise: dict[str, Any] | None, task: str = TASK, seed: int = 0) -> ToolEnv:
    env = storefront(noise)
    env.reset(seed=seed, options={"task": task})
    return env


def answer_of(env: ToolEnv, tool: str, **arguments: Any) -> tuple[Any, Any]:
    observation, _, _, _, info = env.step({"tool": tool, "arguments": arguments})
    return json.loads(observation[-1]["content"]), info["events"][0]


def test_a_capped_list_does_not_tell_that_there_are_more() -> None:
    full, _ = answer_of(begun(None), "search_products", category="gpu")
    short, event = answer_of(begun({"caps": True}), "search_products", category="gpu")
    assert full["next_cursor"] is not None
    assert short == {"results": full["results"]}
    assert event.mentioned >= {entry["id"] for entry in short["results"]}


def test_rows_beyond_the_cap_are_not_learnt() -> None:
    entries: Any = [{"id": f"R-{n}", "owner": f"O-{n}"} for n in range(ROWS + 3)]
    ids = frozenset(value for entry in entries for value in entry.values())
    answer = ToolAnswer(
        body={"rows": entries, "total": len(entries)},
        shown=tuple(("rows", entry["id"]) for entry in entries),
        mentioned=ids,
    )
    short = cap_answer(answer)
    assert short.body == {"rows": entries[:ROWS]}
    assert short.shown == answer.shown[:ROWS]
    assert short.mentioned == {value for entry in entries[:ROWS] for value in entry.values()}


@pytest.mark.parametrize("body", [{"id": "X-1", "total": 4}, {"rows": [], "next": None}, 7, None, [{"id": "X-1"}]])
def test_what_is_no_long_list_stays(body: Any) -> None:
    answer = ToolAnswer(body=body, shown=(), mentioned=frozenset())
    assert cap_answer(answer) is answer


def test_a_stale_list_tells_earlier_values_and_the_record_tells_the_truth() -> None:
    env = begun({"stale": 100})
    found, event = answer_of(env, "search_products", category="psu")
    wrong = 0
    for entry in found["results"]:
        row = env.state.get(Product, entry["id"])
        assert entry["stock"] > row.stock
        wrong += entry["price_cents"] != row.price_cents
        assert entry["name"] == row.name
        assert entry["id"] in event.mentioned
        shown, _ = answer_of(env, "get_product", product_id=entry["id"])
        assert (shown["stock"], shown["price_cents"]) == (row.stock, row.price_cents)
    assert wrong
    assert env.step([{"tool": "search_handbook", "arguments": {"query": "x"}}])[-1]["noise"]["stale"] == len(
        found["results"]
    )


def test_a_list_can_tell_what_was_before_the_agents_own_work() -> None:
    env = begun({"stale": 100})
    order = env.state.find(Order, status="processing")[0]
    env.step({"tool": "cancel_order", "arguments": {"order_id": order.id}})
    assert env.state.get(Order, order.id).status == "cancelled"
    found, _ = answer_of(env, "search_orders", customer_id=order.customer_id)
    [entry] = [e for e in found["results"] if e["id"] == order.id]
    assert entry["status"] == "processing"


def test_what_was_asked_for_by_its_value_is_not_listed_with_another() -> None:
    env = begun({"stale": 100}, "storefront/order-status/5000")
    for customer in env.state.find(Customer)[:40]:
        found, _ = answer_of(env, "search_orders", customer_id=customer.id, status="delivered")
        assert all(entry["status"] == "delivered" for entry in found["results"])


def test_an_entry_is_stale_by_the_call_and_the_record_alone() -> None:
    few, many = begun({"stale": 50}), begun({"stale": 50, "failures": 0, "latency": 100, "conflicts": 2})
    assert answer_of(few, "search_products", category="psu")[0] == answer_of(many, "search_products", category="psu")[0]


def test_a_row_that_a_list_shows_whole_is_no_longer_shown_where_its_entry_is_old() -> None:

    member = Member(id="MEM-1", name="Ada", tier="basic", blocked=False, sponsor_id=None)
    bench = Bench(expect_read(member))
    books = bench.state.find(Book)[:2]
    body: Any = {"books": [{"id": book.id, "copies": book.copies} for book in books]}
    parts = (ShownColumns(table="books", keys=tuple(b.id for b in books), columns=("copies",)),)
    answer = ToolAnswer(
        body=body,
        shown=tuple((b.table, b.id) for b in books),
        mentioned=frozenset(b.id for b in books),
        columns=parts,
    )
    event = replace(EVENT, columns=parts)
    listing = Listing(kind=Book, earlier={"copies": lambda book, _: book.copies + 1})
    look = {"look": listing}

    lag = Lag(100, Stream.root("t"), look, Rubric([expect_read(member)]))
    old = lag.shape(answer, event, 0, bench.evidence)
    assert (old.shown, old.columns, old.mentioned, lag.count) == ((), (), answer.mentioned, 2)

    # A rubric that takes the list's word for the first book keeps that entry right.
    lag = Lag(100, Stream.root("t"), look, Rubric([expect_read(books[0], fields=["copies"])]))
    kept = lag.shape(answer, event, 0, bench.evidence)
    assert kept.shown == answer.shown[:1]
    assert [part.keys for part in kept.columns] == [(books[0].id,)]
    assert kept.body == {"books": [body["books"][0], {"id": books[1].id, "copies": books[1].copies + 1}]}

    # And one that is met by the call itself keeps all of it.
    lag = Lag(100, Stream.root("t"), look, Rubric([expect_call("look")]))
    assert lag.shape(answer, event, 0, bench.evidence) is answer
