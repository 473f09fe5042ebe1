"""`record`: frozen, slotted, keyword-only dataclasses that are as cheap to make as mutable ones.

A frozen dataclass sets each field by name through `object.__setattr__`, which takes three times as long as an
assignment. A world makes several records at every step. So an object here is mutable while it is being made: until the
last field is set, its class is a mutable twin of the same layout.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ParamSpec, TypeVar, dataclass_transform

C = TypeVar("C")
P = ParamSpec("P")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field, Field))
def record(cls: type[C]) -> type[C]:
    """`dataclass(frozen=True, slots=True, kw_only=True)` with a fast `__init__`; no field may have `init=False`."""
    # Any: type checkers know the result of a class decorator only through `dataclass_transform`.
    frozen: Any = dataclass(frozen=True, slots=True, kw_only=True)(cls)
    body = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    opened = type(f"_Open{cls.__name__}", (frozen,), body)
    frozen.__init__ = _compile(frozen, opened, "__init__", "self, ", "__become(self, '__class__', __open)", "")
    made: type[C] = frozen
    return made


def constructor(kind: Callable[P, C]) -> Callable[P, C]:
    """A function that makes records like a call of their class, in half the time.

    When a class is called, Python packs the keywords into a dictionary and unpacks them again. A call with 16 keywords
    or more does so in any case, so a record that is made at every step gets at most 15.

    Args:
        kind: A class made by `record`.
    """
    frozen: Any = kind
    opened = next(twin for twin in frozen.__subclasses__() if twin.__name__ == f"_Open{frozen.__name__}")
    function: Callable[P, C] = _compile(frozen, opened, "constructor", "", "self = __new(__open)", "self")
    return function


def _compile(frozen: type[Any], opened: type[Any], name: str, first: str, begin: str, result: str) -> Any:
    """The function that sets every field of a mutable object and freezes it.

    Args:
        frozen: The record class.
        opened: Its mutable twin.
        name: The function's name.
        first: The parameter before the fields, if any.
        begin: The line that provides the mutable object, `self`.
        result: The expression that the function returns.
    """
    # No field can have these names: dataclasses reserve them.
    known: dict[str, Any] = {
        "__become": object.__setattr__,
        "__new": object.__new__,
        "__open": opened,
        "__frozen": frozen,
    }
    parameters: list[str] = []
    body = [begin]
    for one in fields(frozen):
        value = one.name
        if one.default_factory is not MISSING:
            known |= {f"__make_{value}": one.default_factory, "__missing": MISSING}
            parameters.append(f"{value}=__missing")
            body.append(f"self.{value} = __make_{value}() if {value} is __missing else {value}")
            continue
        if one.default is not MISSING:
            known[f"__default_{value}"] = one.default
            parameters.append(f"{value}=__default_{value}")
        else:
            parameters.append(value)
        body.append(f"self.{value} = {value}")
    body.append("self.__class__ = __frozen")
    if hasattr(frozen, "__post_init__"):
        body.append("self.__post_init__()")
    body.append(f"return {result}")
    lines = "\n    ".join(body)
    source = f"def {name}({first}*, {', '.join(parameters)}):\n    {lines}\n"
    exec(source, known)  # noqa: S102  as `dataclasses` itself does: the source holds names of fields and nothing else
    function = known[name]
    function.__qualname__ = f"{frozen.__qualname__}.{name}"
    return function
