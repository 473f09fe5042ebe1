"""Builds: every way of finding out that parts fit is right, and a search that asks for too little finds out nothing."""

from collections.abc import Sequence

import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.worlds.storefront.policy import build_parts, build_problems
from palaestra.envs.worlds.storefront.schema import Build, Product
from palaestra.envs.worlds.storefront.workbench import SLOTS, relations
from palaestra.proof.trial import Trial
from palaestra.records import Json, ToolCall

INDICES = range(5000, 5003)


def trial(family: str, index: int) -> Trial:
    return Trial(ToolEnv("storefront"), f"storefront/{family}/{index:04d}")


def passes(played: Trial, calls: Sequence[ToolCall]) -> bool:
    return played.vary([(one,) for one in calls]).passed


def call(tool: str, **arguments: Json) -> ToolCall:
    return ToolCall(tool=tool, arguments=arguments)


def check(*parts: Product) -> ToolCall:
    return call("check_compatibility", product_ids=[part.id for part in parts])


def split(played: Trial) -> tuple[list[ToolCall], list[ToolCall], list[ToolCall]]:
    """The solution's look-ups but for its checks, its exchanges, and what closes the case."""
    work = [c for c in played.calls if c.tool == "replace_build_part"]
    first = played.calls.index(work[0])
    looks = [c for c in played.calls[:first] if c.tool != "check_compatibility"]
    return looks, work, list(played.calls[first + len(work) :])


def parts_at_first(played: Trial) -> list[Product]:
    """The parts of the build that the request is about, missing ones left out."""
    key = next(str(c.arguments["build_id"]) for c in played.calls if c.tool == "get_build")
    rows = played.instance.initial_state
    build = rows.get(Build, key)
    return build_parts(rows, [getattr(build, f"{slot}_id") for slot in SLOTS])


@pytest.mark.parametrize("index", INDICES)
def test_a_supply_may_be_chosen_by_what_a_check_says_that_the_build_needs(index: int) -> None:
    played = trial("finish-build", index)
    looks, work, close = split(played)
    rows = played.instance.initial_state
    parts = parts_at_first(played)
    card, supply = (rows.get(Product, str(c.arguments["product_id"])) for c in work)
    weak = check(*parts, card)
    strong = check(*(p for p in parts if p.category != "psu"), card, supply)
    assert any(problem.startswith("power") for problem in build_problems(played.instance.rules, [*parts, card]))
    assert passes(played, [*looks, weak, *work, *close])
    assert passes(played, [*looks, work[0], weak, work[1], *close])
    assert passes(played, [*looks, *work, strong, *close])
    assert not passes(played, [*looks, *work, *close])
    assert not passes(played, [*looks, check(*parts), *work, *close])
    assert not passes(played, [*looks, *work, *close[:-1], strong, close[-1]])


@pytest.mark.parametrize("index", INDICES)
def test_checks_that_together_cover_every_part_are_as_good_as_one(index: int) -> None:
    played = trial("fix-build", index)
    looks, work, close = split(played)
    rows = played.instance.initial_state
    parts = parts_at_first(played)
    [new] = (rows.get(Product, str(c.arguments["product_id"])) for c in work)
    kept = [p for p in parts if p.category != new.category]
    about_new = [r.parts for r in relations([*kept, new]) if new in r.parts]
    covering = [check(*parts), *(check(*pair) for pair in about_new)]
    assert passes(played, [*looks, *covering, *work, *close])
    # What a supply gives stands in its name, and what the build needs in the check of the supply that it has.
    assert passes(played, [*looks, covering[0], *work, *close]) == (new.category == "psu")


@pytest.mark.parametrize(
    ("family", "narrow"),
    [
        ("fix-build-twin", {"in_stock": True, "max_price_cents": 1}),
        ("finish-build-twin", {"in_stock": True, "max_price_cents": 1}),
        ("finish-build-twin", {"in_stock": True, "query": "99 GB"}),
    ],
)
def test_a_search_narrower_than_the_request_shows_nothing_about_the_stock(family: str, narrow: dict[str, Json]) -> None:
    tried = 0
    for index in range(5000, 5008):
        played = trial(family, index)
        [declined] = [c for c in played.calls if c.tool == "decline_request"]
        if declined.arguments["policy_id"] != "BLD-1":
            continue
        tried += 1
        others = [c for c in played.calls if c.tool != "search_products"]
        [category] = {str(c.arguments["category"]) for c in played.calls if c.tool == "search_products"} - {"psu"} or {
            "psu"
        }
        searched = call("search_products", category=category, **narrow)
        assert passes(played, played.calls)
        assert not passes(played, [searched, *others])
    assert tried >= 2
