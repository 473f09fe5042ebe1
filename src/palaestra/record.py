"""`record`: frozen, slotted, keyword-only dataclasses that cost no more to make than open ones.

A frozen dataclass sets each field through `object.__setattr__`, by name, which takes three times as long as an
assignment does. A world makes several records at every step, so here an object is open while it is being made: its
class is an open twin of the same layout until the last field is set.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ParamSpec, TypeVar, dataclass_transform

C = TypeVar("C")
P = ParamSpec("P")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field, Field))
def record(cls: type[C]) -> type[C]:
    """`dataclass(frozen=True, slots=True, kw_only=True)` with a quick `__init__`; no field may ask for `init=False`."""
    # Any: what a class decorator makes is known to type checkers through `dataclass_transform` alone.
    frozen: Any = dataclass(frozen=True, slots=True, kw_only=True)(cls)
    body = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    opened = type(f"_Open{cls.__name__}", (frozen,), body)
    frozen.__init__ = _compile(frozen, opened, "__init__", "self, ", "__become(self, '__class__', __open)", "")
    made: type[C] = frozen
    return made


def constructor(kind: Callable[P, C]) -> Callable[P, C]:
    """A function that makes records of a class as calling the class does, in half the time.

    Where a class is called, Python packs the keywords into a dictionary and unpacks them again. A call with 16 keywords
    or more does so in any case, so a record made at every step is given at most 15.

    Args:
        kind: A class made by `record`.
    """
    frozen: Any = kind
    opened = next(twin for twin in frozen.__subclasses__() if twin.__name__ == f"_Open{frozen.__name__}")
    function: Callable[P, C] = _compile(frozen, opened, "constructor", "", "self = __new(__open)", "self")
    return function


def _compile(frozen: type[Any], opened: type[Any], name: str, first: str, begin: str, result: str) -> Any:
    """The function that sets every field of an open object and closes it.

    Args:
        frozen: The record class.
        opened: Its open twin.
        name: The function's name.
        first: The parameter before the fields, if there is one.
        begin: The line that provides the open object, `self`.
        result: What the function returns.
    """
    # No field can be called like these: dataclasses keep such names for themselves.
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
