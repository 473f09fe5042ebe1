"""The switch `injection` of `gym.make`: which instruction is planted, or the seed that draws it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from palaestra.errors import UnknownNameError

_FORM = 'give a seed, an id such as "cancel-other-order/plain", or a mapping with any of seed, goal, style and carrier'


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionChoice:
    """Which injection is planted in a task. What is `None` is drawn by the seed and the task's id."""

    seed: int = 0
    """Draws what is left open, and the record that the attack is aimed at."""
    goal: str | None = None
    style: str | None = None
    carrier: str | None = None

    def __post_init__(self) -> None:
        """Hold the values to their types.

        Raises:
            ValueError: the seed is below 0.
            TypeError: the seed is no whole number, or a name is no text.
        """
        if type(self.seed) is not int:
            raise TypeError(f"injection seed={self.seed!r}: a seed is a whole number; {_FORM}")
        if self.seed < 0:
            raise ValueError(f"injection seed={self.seed}: seeds are 0 or above")
        for name in ("goal", "style", "carrier"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"injection {name}={value!r}: a name is text; {_FORM}")

    @classmethod
    def of(cls, given: "int | str | Mapping[str, Any] | InjectionChoice | None") -> "InjectionChoice | None":
        """The choice that was asked for; `None` where none was.

        Raises:
            UnknownNameError: a mapping has another key.
            ValueError: an id has more than three parts or an empty one, or the seed is below 0.
            TypeError: `given` is of another type.
        """
        if given is None or isinstance(given, InjectionChoice):
            return given
        if isinstance(given, str):
            parts = given.split("/")
            if len(parts) > 3 or not all(parts):
                raise ValueError(f"injection={given!r}: an id is goal, goal/style or goal/style/carrier")
            goal, style, carrier = [*parts, None, None][:3]
            return cls(goal=goal, style=style, carrier=carrier)
        if isinstance(given, Mapping):
            known = [field.name for field in fields(cls)]
            for name in given:
                if name not in known:
                    raise UnknownNameError.of("part of an injection", str(name), known)
            return cls(**given)
        if type(given) is int:
            return cls(seed=given)
        raise TypeError(f"injection={given!r}: {_FORM}")
