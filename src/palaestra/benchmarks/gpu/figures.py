"""The result of a check: figures with bounds, or the error that ended the check."""

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
    """The upper bound; the check fails above it."""
    at_least: float | None = None
    """The lower bound; the check fails below it."""

    @property
    def within(self) -> bool:
        """Whether the value is within its bounds; NaN is never within a bound."""
        low = self.at_least is None or self.value >= self.at_least
        high = self.at_most is None or self.value <= self.at_most
        return low and high


@record
class CheckResult:
    """The result of a check."""

    name: str
    seconds: float
    """Wall-clock seconds, including the start of the process."""
    figures: tuple[ContactFigure, ...] = ()
    error: str = ""
    """The end of the traceback, or the way in which the process ended; empty where the check finished."""

    @property
    def passed(self) -> bool:
        """Whether the check finished, and every figure is within its bounds."""
        return not self.error and all(figure.within for figure in self.figures)

    def as_json(self) -> JsonObject:
        """The result as plain JSON."""
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
        """Restore a result from the output of `as_json`."""
        figures: Any = found["figures"]
        return cls(
            name=str(found["name"]),
            seconds=float(str(found["seconds"])),
            error=str(found["error"]),
            figures=tuple(ContactFigure(**one) for one in figures),
        )
