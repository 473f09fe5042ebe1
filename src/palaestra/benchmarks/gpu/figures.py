"""What a check says: figures with bounds, or the error that ended it."""

from typing import Any

from palaestra.record import record
from palaestra.records import JsonObject


@record
class ContactFigure:
    """One figure of a check."""

    name: str
    value: float
    unit: str
    at_most: float | None = None
    """The check fails above it."""
    at_least: float | None = None
    """The check fails below it."""

    @property
    def within(self) -> bool:
        """Whether the value is within its bounds; not a number is within none."""
        low = self.at_least is None or self.value >= self.at_least
        high = self.at_most is None or self.value <= self.at_most
        return low and high


@record
class CheckResult:
    """What a check came to."""

    name: str
    seconds: float
    """Wall time, with the start of its process."""
    figures: tuple[ContactFigure, ...] = ()
    error: str = ""
    """The end of the traceback, or how the process ended; nothing where the check came to its end."""

    @property
    def passed(self) -> bool:
        """Whether it came to its end, and every figure is within its bounds."""
        return not self.error and all(figure.within for figure in self.figures)

    def as_json(self) -> JsonObject:
        """All of it."""
        return {
            "name": self.name,
            "passed": self.passed,
            "seconds": round(self.seconds, 1),
            "error": self.error,
            "figures": [
                {
                    "name": one.name,
                    "value": one.value,
                    "unit": one.unit,
                    "at_most": one.at_most,
                    "at_least": one.at_least,
                }
                for one in self.figures
            ],
        }

    @classmethod
    def from_json(cls, found: JsonObject) -> "CheckResult":
        """The result that `as_json` gave."""
        figures: Any = found["figures"]
        return cls(
            name=str(found["name"]),
            seconds=float(str(found["seconds"])),
            error=str(found["error"]),
            figures=tuple(ContactFigure(**one) for one in figures),
        )
