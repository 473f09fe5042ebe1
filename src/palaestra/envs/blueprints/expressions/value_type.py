"""The types of the expression language."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

TypeName: TypeAlias = Literal["integer", "money", "date", "flag", "text", "choice", "row", "rows", "none"]
"""`money` is whole cents; `choice` is one of some texts; `row` is a record of an entity, `rows` several."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of a value."""

    name: TypeName
    entity: str = ""
    """The entity of a row, or of rows."""
    options: tuple[str, ...] = ()
    """The texts that a choice may be."""
    optional: bool = False
    """Whether there may be no value."""

    def __str__(self) -> str:
        """The type as messages show it, such as "a row of loan"."""
        text = {
            "integer": "a whole number",
            "money": "an amount",
            "date": "a date",
            "flag": "a truth value",
            "text": "a text",
            "choice": f"one of {', '.join(self.options)}",
            "row": f"a row of {self.entity}",
            "rows": f"the rows of {self.entity}",
            "none": "None",
        }[self.name]
        return f"{text} that may be missing" if self.optional else text

    @property
    def without_none(self) -> "ValueType":
        """The same type with a value."""
        return replace(self, optional=False)

    @property
    def is_number(self) -> bool:
        """Whether it counts something."""
        return self.name in {"integer", "money"}

    @property
    def is_ordered(self) -> bool:
        """Whether one value can be less than another."""
        return self.name in {"integer", "money", "date"}

    def accepts(self, other: "ValueType") -> bool:
        """Whether a value of the other type can stand where this one is asked for."""
        if other.optional and not self.optional:
            return False
        if other.name == "none":
            return self.optional
        if self.name == "choice":
            return other.name == "choice" and set(other.options) <= set(self.options)
        if self.name == "text":
            return other.name in {"text", "choice"}
        return self.name == other.name and self.entity == other.entity


INTEGER = ValueType("integer")
MONEY = ValueType("money")
DATE = ValueType("date")
FLAG = ValueType("flag")
TEXT = ValueType("text")
NONE = ValueType("none", optional=True)
