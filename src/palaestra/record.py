"""`record`: frozen, slotted, keyword-only dataclasses that cost no more to make than open ones.

A frozen dataclass sets each field through `object.__setattr__`, by name, which takes three times as long as an
assignment does. A world makes several records at every step, so here an object is open while it is being made: its
class is an open twin of the same layout until the last field is set.
"""

from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field, Field))
def record(cls: type[C]) -> type[C]:
    """`dataclass(frozen=True, slots=True, kw_only=True)` with a quick `__init__`; no field may ask for `init=False`."""
    # Any: what a class decorator makes is known to type checkers through `dataclass_transform` alone.
    frozen: Any = dataclass(frozen=True, slots=True, kw_only=True)(cls)
    body = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    opened = type(f"_Open{cls.__name__}", (frozen,), body)
    frozen.__init__ = _quick_init(frozen, opened)
    made: type[C] = frozen
    return made


def _quick_init(frozen: type[Any], opened: type[Any]) -> Any:
    # No field can be called like these: dataclasses keep such names for themselves.
    known: dict[str, Any] = {"__become": object.__setattr__, "__open": opened, "__frozen": frozen}
    parameters: list[str] = []
    body = ["__become(self, '__class__', __open)"]
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
    lines = "\n    ".join(body)
    source = f"def __init__(self, *, {', '.join(parameters)}):\n    {lines}\n"
    exec(source, known)  # noqa: S102  as `dataclasses` itself does: the source holds names of fields and nothing else
    init = known["__init__"]
    init.__qualname__ = f"{frozen.__qualname__}.__init__"
    return init
