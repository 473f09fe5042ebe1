"""Columns of every type on the generic surface: shown as they are, and compared where that means something."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.envs.state import Overlay, Schema
from palaestra.envs.state.query import OPERATORS
from palaestra.envs.surfaces import generic_surface
from palaestra.records import ToolCall
from palaestra.tools import Toolbox
from worlds import lab, library
from worlds.play import Play

WORLDS: Mapping[str, tuple[Schema, Toolbox, Overlay]] = {
    "lab": (lab.SCHEMA, lab.LAB.toolbox, Overlay(lab.populate(1))),
    "library": (library.SCHEMA, library.TOOLBOX, Overlay(library.populate(1))),
}
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8), st.sampled_from(["PRB-1", "1.50", "2031-03-03", "2031-03-03T09:00", "2031-03-03T09:00+02:00"]),
)  # fmt: skip


def play(world: str) -> Play:
    schema, toolbox, state = WORLDS[world]
    return Play(schema, generic_surface(schema, toolbox, role="technician").toolbox, state)


def asked(where: Mapping[str, Any], table: str = "probes") -> Any:
    answer = play("lab").call("query", {"table": table, "where": where})
    return answer["error"] if "error" in answer else [row["id"] for row in answer["rows"]]


def test_numbers_with_fractions_are_compared() -> None:
    probes = WORLDS["lab"][2].find(lab.Probe)
    middle = sorted(probes, key=lambda p: p.offset)[3]
    below = [p.id for p in probes if p.offset < middle.offset]
    assert asked({"offset <": middle.offset}) == below
    assert asked({"price": str(middle.price)}) == asked({"price": float(middle.price)}) == [middle.id]
    assert asked({"price in": [float(middle.price), 1]}) == [middle.id]


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"settings": "{}"}, "settings holds json"),
        ({"seal": "00"}, "seal holds bytes"),
        ({"offset": "much"}, "offset takes a float number"),
        ({"price": "NaN"}, "price takes a decimal number"),
        ({"price": True}, "price takes a decimal number"),
        ({"channels >": 1}, "needs an order"),
        ({"channels": 1}, "channels takes"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_reason(where: Mapping[str, Any], says: str) -> None:
    refused = asked(where)
    assert refused["code"] == "bad_query"
    assert says in refused["message"]


def test_a_moment_with_a_time_zone_is_refused() -> None:
    when = "2031-03-03T09:00:00"
    for operator in ("", " <", " >="):
        where = {f"lent_at{operator}": f"{when}+00:00"}
        refused = play("library").call("query", {"table": "loans", "where": where})
        assert refused["error"]["code"] == "bad_query"
        assert "rows" in play("library").call("query", {"table": "loans", "where": {f"lent_at{operator}": when}})


def test_a_chosen_column_reads_as_in_the_whole_row() -> None:
    columns = list(lab.SCHEMA["probes"].columns)
    whole = play("lab").call("query", {"table": "probes"})["rows"]
    for name in columns:
        some = play("lab").call("query", {"table": "probes", "columns": [name]})["rows"]
        assert some == [{"id": row["id"], name: row[name]} for row in whole]


def test_a_description_names_every_columns_type() -> None:
    described = play("lab").call("describe", {"name": "probes"})["columns"]
    assert {name: column["type"] for name, column in described.items()} == {
        "id": "str", "offset": "float", "gain": "float", "price": "decimal", "settings": "json", "log": "json",
        "seal": "bytes", "channels": "list of int", "curve": "list of float", "units": "list of str",
    }  # fmt: skip
    assert described["units"]["values"] == ["volt", "ampere", "ohm"]


@pytest.mark.parametrize("column", lab.SCHEMA["probes"].columns)
def test_rows_are_grouped_by_what_can_be_compared(column: str) -> None:
    answer = play("lab").call("aggregate", {"table": "probes", "measure": "count", "group_by": column})
    if column in ("settings", "log", "seal"):
        assert answer["error"]["code"] == "bad_query"
        return
    assert sum(group["value"] for group in answer["groups"]) == 6


def test_tools_that_talk_and_end_stay_as_the_world_has_them() -> None:
    toolbox = generic_surface(lab.SCHEMA, lab.LAB.toolbox, role="technician").toolbox
    for name in ("reply", "finish", "give_up"):
        assert toolbox[name] is lab.LAB.toolbox[name]


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.data())
def test_no_condition_crashes_a_query_or_a_measure(data: st.DataObject) -> None:
    world = data.draw(st.sampled_from(sorted(WORLDS)))
    info = data.draw(st.sampled_from(list(WORLDS[world][0])))
    column = data.draw(st.sampled_from([*info.columns, "colour"]))
    operator = data.draw(st.sampled_from(["", *OPERATORS, "like"]))
    value = data.draw(st.lists(VALUES, max_size=3) if operator == "in" else VALUES)
    at = play(world)
    where = {f"{column} {operator}".strip(): value}
    at.call("query", {"table": info.name, "where": where})
    measure = data.draw(st.sampled_from(["count", "sum", "min", "max"]))
    asked = {
        "table": info.name,
        "measure": measure,
        "column": column,
        "group_by": data.draw(st.sampled_from(["", column])),
    }
    at.call("aggregate", {**asked, "where": where})
    at.call("aggregate", asked)
    allowed = {None, "bad_query", "invalid_arguments", "too_many"}
    assert {event.error for event in at.events} <= allowed
    assert all(event.written == 0 for event in at.events)


def test_reading_tools_of_wide_rows_are_translated() -> None:
    surface = generic_surface(lab.SCHEMA, lab.LAB.toolbox, role="technician")
    schema, toolbox, state = WORLDS["lab"]
    own, generic = Play(schema, toolbox, state), Play(schema, surface.toolbox, state)
    for name in ("get_probe", "list_readings"):
        call = ToolCall(tool=name, arguments={"probe_id": "PRB-2"})
        own.call(name, call.arguments)
        assert generic.shown(surface.translate([call], state)) == set(own.events[-1].shown)
