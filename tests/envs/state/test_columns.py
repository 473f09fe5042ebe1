from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import pytest

from palaestra.envs.state import Base, Overlay, Schema, SqlProjection
from palaestra.envs.state.query import select, take_measure
from palaestra.errors import DefinitionError, RowError, ToolRefusal
from palaestra.records import Digits, Json, MaxBytes, References, Row, Searchable
from worlds.lab import SCHEMA, Probe, Reading, populate

PROBE = Probe(
    id="PRB-1", offset=0.5, gain=None, price=Decimal("1.5"), settings={"b": 1, "a": [2]}, log=None, seal=b"\x00\xff",
    channels=(1, 2), curve=(0.1,), units=("volt",),
)  # fmt: skip
INFO = SCHEMA["probes"]


def sealed(**values: Any) -> Probe:
    seal = INFO.seal
    assert seal is not None
    row = seal(replace(PROBE, **values))
    assert isinstance(row, Probe)
    return row


def overlay() -> Overlay:
    return Overlay(Base(SCHEMA, [PROBE, replace(PROBE, id="PRB-2", offset=-1.25, price=Decimal("0.10"), gain=2.0)]))


def test_the_types_of_columns_by_name() -> None:
    names = {name: column.type_name for name, column in INFO.columns.items()}
    assert names == {
        "id": "str", "offset": "float", "gain": "float", "price": "decimal", "settings": "json", "log": "json",
        "seal": "bytes", "channels": "list of int", "curve": "list of float", "units": "list of str",
    }  # fmt: skip
    assert INFO.columns["units"].choices == ("volt", "ampere", "ohm")
    assert INFO.columns["seal"].max_bytes == 64
    assert SCHEMA["readings"].columns["probe_id"].references == "probes"


def test_each_value_has_one_form() -> None:
    row = sealed(offset=-0.0, gain=3, price=Decimal("-0.0"), settings={"z": 1.0, "a": -0.0}, curve=[1, -0.0])
    assert row.json() == (
        b'{"id":"PRB-1","offset":0.0,"gain":3.0,"price":"0.00","settings":{"a":0,"z":1},"log":null,"seal":"AP8=",'
        b'"channels":[1,2],"curve":[1.0,0.0],"units":["volt"]}'
    )
    again = sealed(offset=0, gain=3.0, price=0, settings={"a": 0.0, "z": 1}, curve=(1.0, 0))
    assert (row, row.json(), row.hash()) == (again, again.json(), again.hash())


def test_a_row_in_its_one_form_is_taken_as_it_is() -> None:
    row = sealed()
    seal = INFO.seal
    assert seal is not None
    assert seal(row) is row


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"offset": float("nan")}, "probes PRB-1: offset: nan is refused; a float is finite"),
        ({"gain": float("-inf")}, "gain: -inf is refused"),
        ({"offset": True}, "offset: True is no number"),
        ({"offset": "1.5"}, "offset: '1.5' is no number"),
        ({"offset": 10**400}, "too large for a float"),
        ({"offset": None}, "offset: None is no number"),
        ({"price": 1.5}, r"1.5 is no decimal; write Decimal\('...'\)"),
        ({"price": Decimal("1.005")}, "more than 2 places; round it"),
        ({"price": Decimal("1234567.00")}, "more than 8 digits"),
        ({"price": Decimal("NaN")}, "NaN is refused"),
        ({"settings": 3}, "no JSON object|neither a JSON object"),
        ({"settings": {"a": float("nan")}}, "settings: nan is no JSON number"),
        ({"seal": b"x" * 65}, "65 bytes are more than the 64"),
        ({"seal": "text"}, "not bytes"),
        ({"channels": (1, True)}, "the item True is a bool, not int"),
        ({"channels": "12"}, "is a str, not a tuple"),
        ({"curve": (float("inf"),)}, "curve: inf is refused"),
        ({"units": ("volt", "watt")}, "'watt' is none of volt, ampere, ohm"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_at_every_way_in(values: dict[str, Any], says: str) -> None:
    with pytest.raises(RowError, match=says):
        Base(SCHEMA, [replace(PROBE, **values)])
    rows = overlay()
    with pytest.raises(RowError, match=says):
        rows.update(rows.get(Probe, "PRB-1"), **values)
    with pytest.raises(RowError, match=says.replace("PRB-1", "PRB-9")):
        rows.insert(replace(PROBE, id="PRB-9", **values))
    assert rows.changes() == []


def test_a_change_of_form_alone_is_no_write() -> None:
    rows = overlay()
    probe = rows.get(Probe, "PRB-1")
    assert rows.update(probe, price=Decimal("1.50"), offset=0.5, settings={"a": [2.0], "b": 1.0}) == probe
    assert rows.journal == []
    rows.update(probe, settings={"a": [2], "b": True})
    assert [c.key for c in rows.journal] == ["PRB-1"]


def test_json_in_a_row_shares_nothing_with_what_it_was_made_of() -> None:
    given: dict[str, Any] = {"a": [1]}
    rows = overlay()
    probe = rows.update(rows.get(Probe, "PRB-1"), settings=given)
    given["a"].append(2)
    assert probe.settings == {"a": [1]}
    assert rows.find(Probe, settings={"a": [1]}) == [probe] == SqlProjection(rows).find(Probe, settings={"a": [1]})


def test_sql_reads_compares_and_adds_every_type() -> None:
    rows = overlay()
    projection = SqlProjection(rows)
    assert projection.find(Probe) == rows.find(Probe)
    assert [type(p.price) for p in projection.find(Probe)] == [Decimal, Decimal]
    where = "SELECT id FROM probes WHERE price > :low AND price <= :high"
    assert projection.query(where, low=0.1, high=1.5) == [{"id": "PRB-1"}]
    assert projection.query("SELECT settings FROM probes WHERE id = 'PRB-1'") == [{"settings": '{"a":[2],"b":1}'}]


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({"offset <": 0}, ["PRB-2"]),
        ({"offset": 0.5}, ["PRB-1"]),
        ({"gain": None}, ["PRB-1"]),
        ({"price": "1.500"}, ["PRB-1"]),
        ({"price <=": 0.1}, ["PRB-2"]),
        ({"price in": ["0.10", "1.5"]}, ["PRB-1", "PRB-2"]),
    ],
)
def test_conditions_on_numbers(where: dict[str, Any], ids: list[str]) -> None:
    assert [row.id for row in select(overlay(), INFO, where)] == ids


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"offset": "half"}, "offset takes a float number, not 'half'"),
        ({"offset": True}, "takes a float number, not True"),
        ({"price": "NaN"}, "takes a decimal number"),
        ({"price": "1,5"}, "takes a decimal number"),
        ({"settings": "{}"}, "settings holds json; conditions cannot compare"),
        ({"seal": "AP8="}, "seal holds bytes; conditions cannot"),
        ({"seal <": "AP8="}, "seal holds bytes; conditions cannot"),
        ({"curve >": 1.0}, "needs an order"),
    ],
)
def test_conditions_that_fit_no_column_are_refused(where: dict[str, Any], says: str) -> None:
    with pytest.raises(ToolRefusal, match=says):
        select(overlay(), INFO, where)


def test_measures_of_decimals_are_exact_and_of_floats_rounded_once() -> None:
    rows = overlay().find(Probe)
    assert take_measure(rows, INFO, "sum", "price", "") == {"value": "1.60"}
    assert take_measure(rows, INFO, "min", "price", "") == {"value": "0.10"}
    assert take_measure(rows, INFO, "sum", "offset", "") == {"value": -0.75}
    readings = [Reading(id=f"RD-{n}", probe_id="PRB-1", value=0.1) for n in range(10)]
    assert take_measure(readings, SCHEMA["readings"], "sum", "value", "") == {"value": 1.0}
    for column in ("settings", "seal", "curve"):
        with pytest.raises(ToolRefusal, match=f"no max of probes.{column}"):
            take_measure(rows, INFO, "max", column, "")
    with pytest.raises(ToolRefusal, match="no groups by settings, which holds json"):
        take_measure(rows, INFO, "count", "id", "settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Anything(Row):
    table: ClassVar[str] = "anything"
    prefix: ClassVar[str] = ""
    value: Json | None
    days: date


def test_json_may_be_an_array_and_absent() -> None:
    rows = [Anything(id="1", value=[1, {"a": 2}], days=date(2031, 1, 1)), Anything(id="2", value=None, days=date.min)]
    state = Overlay(Base(Schema(Anything), rows))
    assert SqlProjection(state).find(Anything) == state.find(Anything)
    assert state.find(Anything, value=None) == [rows[1]]
    assert state.find(Anything, value=[1.0, {"a": 2}]) == [state.get(Anything, "1")]


def row_class(hint: Any) -> type[Row]:
    body = {"__annotations__": {"value": hint}, "table": "odd", "prefix": ""}
    return dataclass(frozen=True, kw_only=True)(type("Odd", (Row,), body))


@pytest.mark.parametrize(
    ("hint", "says"),
    [
        (Decimal, "declares its? ?Digits|Decimal"),
        (Annotated[int, Digits(8, places=2)], "Digits"),
        (Annotated[Decimal, Digits(20, places=2)], "at most 15"),
        (Annotated[Decimal, Digits(2, places=3)], "places are 0 to total"),
        (Annotated[bytes, MaxBytes(0)], "at least one byte"),
        (tuple[bool, ...], "no column type"),
        (tuple[int, int], "no column type"),
        (dict[str, int], "no column type"),
        (Annotated[tuple[str, ...], References("odd")], "an id is text"),
        (Annotated[float, Searchable()], "only text is searched"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused(hint: Any, says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        Schema(row_class(hint))


def test_the_laboratory_reads_back_equal() -> None:
    state = Overlay(populate(3))
    projection = SqlProjection(state)
    assert projection.find(Probe) == state.find(Probe)
    assert projection.find(Reading) == state.find(Reading)
