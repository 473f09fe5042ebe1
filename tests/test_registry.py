import sys

import pytest

from palaestra.errors import UnknownNameError
from palaestra.registry import Registry


def colours() -> Registry[str]:
    registry: Registry[str] = Registry("colour")
    registry.register("red", "value")
    return registry


def test_a_value_is_given_back_and_names_are_listed_in_order() -> None:
    registry: Registry[int] = Registry("number")
    registry.register("two", 2)
    registry.register("one", 1)
    assert registry.get("two") == 2
    assert list(registry) == ["one", "two"]
    assert "one" in registry
    assert "three" not in registry


def test_a_lazy_entry_is_imported_when_it_is_first_asked_for() -> None:
    sys.modules.pop("colorsys", None)
    registry: Registry[object] = Registry("function")
    registry.register("hsv", "colorsys:rgb_to_hsv")
    assert "colorsys" not in sys.modules
    import_result = registry.get("hsv")
    assert import_result is sys.modules["colorsys"].rgb_to_hsv
    assert registry.get("hsv") is import_result


def test_the_same_may_be_registered_again_and_another_may_not() -> None:
    registry: Registry[int] = Registry("number")
    registry.register("one", 1)
    registry.register("one", 1)
    with pytest.raises(ValueError, match="number 'one' is registered already; choose another name"):
        registry.register("one", 2)


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown colour 'rde'; did you mean 'red'"):
        colours().get("rde")


def test_only_a_lazy_entry_has_an_origin() -> None:
    registry: Registry[object] = Registry("thing")
    registry.register("lazy", "palaestra.errors:TaskError")
    registry.register("there", 7)
    assert registry.origin("lazy") == "palaestra.errors:TaskError"
    assert registry.origin("there") is None
    assert registry.origin("nowhere") is None
