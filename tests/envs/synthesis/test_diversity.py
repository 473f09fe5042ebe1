"""Distances between worlds: identities, symmetry, names against structure, near-duplicates."""

from collections import Counter
from dataclasses import replace

import pytest

from joined.worlds import joined
from palaestra.envs.blueprints import Blueprint, compile_blueprint
from palaestra.envs.blueprints.blueprint import FieldSpec
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.blueprints.tool_style import PLAIN
from palaestra.envs.synthesis.diversity import (
    NEAREST,
    diversity_tables,
    find_near_duplicate,
    jaccard_distance,
    near_duplicate_requests,
    nearest_neighbours,
    profile_world,
    quantiles,
    request_distance,
    world_distance,
    world_pairs,
)
from palaestra.envs.synthesis.diversity.field_reads import FieldRead, read_fields
from palaestra.envs.synthesis.generator import WorldPlan
from palaestra.envs.synthesis.plan_deck import deal_plans
from palaestra.seeding import Stream


def _with_field(blueprint: Blueprint) -> Blueprint:
    """The same world with one more field."""
    spec = blueprint.entities["invoice"]
    more = replace(spec, fields={**spec.fields, "paper": FieldSpec(type="flag", percent=50)})
    return replace(blueprint, entities={**blueprint.entities, "invoice": more})


@pytest.mark.parametrize("seed", range(4))
def test_a_world_is_at_distance_nought_from_itself(seed: int) -> None:
    distance = world_distance(profile_world(joined("clinic", seed)), profile_world(joined("clinic", seed)))
    assert (distance.whole, distance.structure, distance.surface) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_distances_are_symmetric_and_between_nought_and_one(seed: int) -> None:
    one, other = profile_world(joined("clinic", seed)), profile_world(joined("salon", seed + 10))
    assert world_distance(one, other) == world_distance(other, one)
    assert 0 < world_distance(one, other).whole < 1


def test_other_words_change_the_surface_and_no_structure() -> None:
    distance = world_distance(profile_world(joined("clinic")), profile_world(joined("salon")))
    assert distance.structure == 0
    assert distance.surface > 0.5


def test_one_more_field_changes_the_schema_by_one_edge() -> None:
    blueprint = joined("clinic")
    one, other = profile_world(blueprint), profile_world(_with_field(blueprint))
    assert world_distance(one, other).schema == pytest.approx(1 / (len(one.schema) + 1))
    assert world_distance(one, other).effects == 0


def test_a_jaccard_distance_counts_what_is_common() -> None:
    assert jaccard_distance(frozenset("abc"), frozenset("bcd")) == pytest.approx(1 - 2 / 4)
    assert jaccard_distance(frozenset(), frozenset()) == 0
    assert jaccard_distance(frozenset("a"), frozenset()) == 1


def test_a_world_with_one_more_field_is_a_near_duplicate_and_one_in_other_words_is_none() -> None:
    kept = {3: profile_world(joined("clinic"))}
    found = find_near_duplicate(profile_world(_with_field(joined("clinic"))), kept)
    assert found is not None
    assert found.number == 3
    assert 0 < found.distance.whole < NEAREST
    assert find_near_duplicate(profile_world(joined("salon")), kept) is None


def test_the_nearest_neighbour_is_the_least_of_all_pairs() -> None:
    profiles = {seed: profile_world(joined("clinic" if seed % 2 else "salon", seed)) for seed in range(6)}
    pairs = world_pairs(profiles)
    assert len(pairs) == 15
    for number, neighbour in nearest_neighbours(pairs).items():
        distances = [world_distance(profiles[number], profiles[other]).whole for other in profiles if other != number]
        assert neighbour.distance.whole == min(distances)


def test_the_size_of_a_profile_is_that_of_the_compiled_world() -> None:
    blueprint = joined("clinic")
    size, world = profile_world(blueprint).size, compile_blueprint(blueprint).world
    assert size.tables == len(world.schema.tables)
    assert size.tools == len(list(world.toolbox))
    assert size.hops > 1


def test_a_request_that_stands_twice_is_found_whatever_its_words() -> None:
    blueprint = joined("clinic")
    assert near_duplicate_requests(blueprint) == []
    name, spec = next(iter(blueprint.requests.items()))
    twice = replace(spec, says=("Quite other words about {0}.",), subject=("Something else",))
    planted = replace(blueprint, requests={**blueprint.requests, "once-more": twice})
    found = near_duplicate_requests(planted)
    assert [{pair.one, pair.other} for pair in found] == [{name, "once-more"}]
    assert request_distance(spec, spec) == 0


def test_reads_are_those_of_the_paths_that_an_expression_goes() -> None:
    blueprint = joined("clinic")
    scope = Scopes(blueprint).request(blueprint.requests["move-a-booking"])
    text = 'any(b.status == "booked" for b in appointment.practice_room.appointments) and appointment.moved > 1'
    assert read_fields(text, scope) == {
        FieldRead("appointment", "appointment", "practice_room"),
        FieldRead("appointment.practice_room.appointments", "appointment", "practice_room"),
        FieldRead("appointment.practice_room.appointments", "appointment", "status"),
        FieldRead("appointment", "appointment", "moved"),
    }
    assert read_fields("a text with {braces}", scope) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        'first(b for b in appointment.practice_room.appointments if b.status == "booked").moved > 1',
        'one(b for b in appointment.practice_room.appointments if b.status == "booked").moved > 1',
    ],
)
def test_the_row_that_a_function_gives_is_read_on(text: str) -> None:
    blueprint = joined("clinic")
    scope = Scopes(blueprint).request(blueprint.requests["move-a-booking"])
    assert read_fields(text, scope) == {
        FieldRead("appointment", "appointment", "practice_room"),
        FieldRead("appointment.practice_room.appointments", "appointment", "practice_room"),
        FieldRead("appointment.practice_room.appointments", "appointment", "status"),
        FieldRead("appointment.practice_room.appointments", "appointment", "moved"),
    }


def test_quantiles_are_values_and_need_some() -> None:
    assert quantiles([3, 1, 2, 4], (0, 0.5, 0.95)) == [1, 3, 4]
    with pytest.raises(ValueError, match="no values"):
        quantiles([], (0.5,))


def test_no_plan_is_dealt_twice_and_sets_are_dealt_evenly() -> None:
    sets = {domain: [("a", "b"), ("a", "c"), ("b", "c")] for domain in ("x", "y", "z")}
    dealt = deal_plans(sets, Stream.root("test"))
    assert len({(plan.domain, plan.mechanisms) for plan in dealt}) == len(dealt) == 9
    for first in range(0, 9, 3):
        assert len({plan.mechanisms for plan in dealt[first : first + 3]}) == 3
        assert len({plan.domain for plan in dealt[first : first + 3]}) == 3
    assert Counter(plan.mechanisms for plan in dealt) == dict.fromkeys(sets["x"], 3)
    assert dealt == deal_plans(sets, Stream.root("test"))


def test_tables_name_the_closest_pair_and_count_what_is_refused() -> None:
    plans = {
        number: WorldPlan(number=number, split="train", domain="clinic", mechanisms=("booking", "ledger"), style=PLAIN)
        for number in range(3)
    }
    blueprints = {0: joined("clinic"), 1: joined("salon"), 2: _with_field(joined("clinic"))}
    sizes, distances, closest, near = diversity_tables(plans, {n: profile_world(b) for n, b in blueprints.items()})
    assert sizes.rows[0][-1] == "18.5"
    assert distances.rows[0][:2] == ("nearest neighbour", "distance")
    assert closest.rows[0][:2] == ("synth-0", "synth-2")
    assert near.rows[0] == ("worlds that are kept", "2")
