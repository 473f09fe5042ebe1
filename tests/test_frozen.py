import copy
import pickle
from typing import Any

import orjson
import pytest

from palaestra.digest import canonical
from palaestra.frozen import MAX_DEPTH, FrozenArray, FrozenObject, freeze


def test_frozen_json_has_sorted_keys_and_one_form_for_each_number() -> None:
    frozen = freeze({"b": 1.0, "a": [-0.0, 2.5, True, None, {"z": 1, "y": "é"}]})
    assert orjson.dumps(frozen) == '{"a":[0,2.5,true,null,{"y":"é","z":1}],"b":1}'.encode() == canonical(frozen)
    assert freeze(frozen) is frozen


def test_true_is_not_1_however_deep() -> None:
    assert freeze({"a": [True]}) != freeze({"a": [1]})
    assert freeze({"a": [1.0]}) == {"a": [1]}
    assert freeze([1, "x"]) == [1, "x"]
    assert freeze([]) != {}
    assert freeze([1]) != [float("nan")]


def test_equal_frozen_json_hashes_alike() -> None:
    assert hash(freeze({"a": 1, "b": [2.0]})) == hash(freeze({"b": [2], "a": 1.0}))


CHANGES: list[tuple[str, str, tuple[Any, ...]]] = [
        ("whole", "__setitem__", ("a", 2)), ("whole", "update", ({"a": 2},)), ("whole", "pop", ("a",)),
        ("whole", "popitem", ()), ("whole", "clear", ()), ("whole", "setdefault", ("c", 1)),
        ("whole", "__delitem__", ("a",)), ("whole", "__ior__", ({},)), ("b", "append", (3,)), ("b", "sort", ()),
        ("b", "__iadd__", ([1],)), ("b", "__imul__", (2,)), ("b", "__setitem__", (0, 1)), ("b", "__delitem__", (0,)),
        ("b", "extend", ([1],)), ("b", "insert", (0, 1)), ("b", "pop", ()), ("b", "remove", (2,)), ("b", "reverse", ()),
        ("b", "clear", ()),
    ]  # fmt: skip


@pytest.mark.parametrize(("where", "method", "arguments"), CHANGES)
def test_nothing_changes_it(where: str, method: str, arguments: tuple[object, ...]) -> None:
    frozen = freeze({"a": 1, "b": [2, 1]})
    with pytest.raises(TypeError, match="never changes"):
        getattr(frozen if where == "whole" else frozen[where], method)(*arguments)
    assert frozen == {"a": 1, "b": [2, 1]}


def test_it_pickles_and_copies_as_what_it_is() -> None:
    frozen = freeze({"a": [{"b": 1}]})
    assert copy.deepcopy(frozen) is frozen
    again = pickle.loads(pickle.dumps(frozen))
    assert again == frozen
    assert isinstance(again, FrozenObject)
    assert isinstance(again["a"], FrozenArray)


def nested(depth: int) -> Any:
    return [] if depth == 0 else [nested(depth - 1)]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([float("nan")], "nan is no JSON number"),
        ({"a": float("inf")}, "inf is no JSON number"),
        ([2**64], "at most 64 bits"),
        ({0: 1}, "the key 0 of a JSON object is a int"),
        ([object()], "a object is no JSON"),
        ([b"x"], "a bytes is no JSON"),
        (nested(MAX_DEPTH + 2), "nested at most"),
    ],
)
def test_what_json_does_not_carry_is_refused(value: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        freeze(value)
