"""`record` makes what `dataclass(frozen=True, slots=True, kw_only=True)` makes, quicker."""

import pickle
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.record import constructor, record


@record
class Base:
    """A record to build on."""

    id: str


@record
class Quick(Base):
    """As `record` makes it; the names are those that its `__init__` must not trip over."""

    self_: int
    opened: bool = False
    frozen: str | None = None
    parts: list[int] = field(default_factory=list[int])


new_quick = constructor(Quick)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """The same fields, as `dataclass` makes them."""

    id: str
    self_: int
    opened: bool = False
    frozen: str | None = None
    parts: list[int] = field(default_factory=list[int])


values = st.fixed_dictionaries(
    {"id": st.text(), "self_": st.integers()},
    optional={"opened": st.booleans(), "frozen": st.none() | st.text(), "parts": st.lists(st.integers(), max_size=3)},
)


@given(values)
def test_it_holds_compares_shows_and_copies_as_a_dataclass_does(given: dict[str, object]) -> None:
    quick, slow = Quick(**given), Slow(**given)  # type: ignore[arg-type]
    assert [(f.name, getattr(quick, f.name)) for f in fields(Quick)] == [
        (f.name, getattr(slow, f.name)) for f in fields(Slow)
    ]
    assert repr(quick).removeprefix("Quick") == repr(slow).removeprefix("Slow")
    made = new_quick(**given)  # type: ignore[arg-type]
    for same in (made, pickle.loads(pickle.dumps(quick)), copy(quick), deepcopy(quick), replace(quick)):
        assert same == quick
        assert type(same) is Quick
    assert replace(quick, self_=quick.self_ + 1) != quick


def test_it_cannot_be_changed_once_it_is_made() -> None:
    made = new_quick(id="a", self_=1)
    with pytest.raises(FrozenInstanceError):
        made.self_ = 2  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError):
        del made.self_  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises((AttributeError, TypeError)):
        made.other = 2  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("make", [Quick, new_quick])
def test_defaults_are_made_anew_for_each(make: Callable[..., Quick]) -> None:
    first, second = make(id="a", self_=1), make(id="a", self_=1)
    first.parts.append(1)
    assert second.parts == []


@record
class Checked:
    """Holds itself to a rule."""

    number: int = 1

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError(f"number={self.number}")


def test_it_is_held_to_its_own_rules_and_is_frozen_by_then() -> None:
    assert Checked().number == replace(Checked(), number=1).number == 1
    for make in (Checked, constructor(Checked), partial(replace, Checked())):
        with pytest.raises(ValueError, match="number=-2"):
            make(number=-2)


@pytest.mark.parametrize("wrong", [{}, {"id": "a"}, {"id": "a", "self_": 1, "other": 2}])
def test_a_missing_or_unknown_field_is_a_type_error(wrong: dict[str, object]) -> None:
    for make in (Quick, new_quick):
        with pytest.raises(TypeError):
            make(**wrong)  # type: ignore[arg-type]


def test_a_record_with_hashable_fields_hashes_by_value() -> None:
    assert hash(Base(id="a")) == hash(Base(id="a"))
    assert len({Base(id="a"), Base(id="a"), Base(id="b")}) == 2
