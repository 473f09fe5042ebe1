"""The switches of noise: what may disturb an episode, and how much of it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from palaestra.errors import UnknownNameError

MOST: Mapping[str, int] = {
    "distractors": 40,
    "stale": 100,
    "conflicts": 10,
    "failures": 100,
    "rate_limit": 600,
    "latency": 1_000,
    "deadline": 86_400,
    "events": 3_600,
    "injections": 100,
}
"""The largest value of each switch that is a number; the smallest is 0, which is off."""
ON_PAGES = ("conflicts", "failures", "rate_limit", "latency", "deadline", "events")
"""The switches that a surface with a session, such as pages, has too. The others change tools and their answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Which kinds of noise an environment has. All are off by default, and none changes what another one draws.

    Raises:
        ValueError: a switch has a value that it cannot have.
    """

    distractors: int = 0
    """How many tools of other departments are offered beside the world's own, in shuffled order."""
    renames: bool = False
    """Tools and arguments go by other names, but for talking, finishing and giving up."""
    caps: bool = False
    """Lists end after ten rows and do not say that there are more."""
    stale: int = 0
    """Percent of the rows in a list that look as they did earlier. Reading one record always tells the truth."""
    conflicts: int = 0
    """How many notes stand in the records that contradict a record which the task turns on."""
    failures: int = 0
    """Percent of calls that fail for no reason; the same call at most twice in a row."""
    rate_limit: int = 0
    """Calls that are taken within a minute of the virtual clock; one too many waits, and is refused."""
    latency: int = 0
    """By how many percent, at most, a call takes longer on the virtual clock."""
    deadline: int = 0
    """Seconds of the virtual clock after which the episode ends."""
    events: int = 0
    """How many things happen by themselves in an hour of the virtual clock, on average."""
    injections: int = 0
    """Percent of the texts that outsiders wrote in which an instruction hides."""

    def __post_init__(self) -> None:
        for name, value in ((f.name, getattr(self, f.name)) for f in fields(self)):
            if name not in MOST:
                if not isinstance(value, bool):
                    raise ValueError(f"noise {name}={value!r}: it is on or off; give True or False")
            elif type(value) is not int or not 0 <= value <= MOST[name]:
                raise ValueError(f"noise {name}={value!r}: give a whole number from 0, which is off, to {MOST[name]}")

    @property
    def switches(self) -> dict[str, int | bool]:
        """The switches that are on."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name))}

    @classmethod
    def of(cls, given: "Noise | Mapping[str, Any] | None") -> "Noise | None":
        """The noise that was asked for; `None` where every switch is off.

        Raises:
            UnknownNameError: there is no such switch.
            ValueError: a switch cannot have that value, or `given` names no switches.
        """
        if given is None:
            return None
        if not isinstance(given, Noise):
            given = cls(**_check(given))
        return given if given.switches else None


def _check(given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(f'noise={given!r}: give switches, such as {{"failures": 10}}, or a Noise')
    known = [f.name for f in fields(Noise)]
    for name in given:  # pyright: ignore[reportUnknownVariableType]
        if name not in known:
            raise UnknownNameError.of("noise switch", str(name), known)  # pyright: ignore[reportUnknownArgumentType]
    return dict(given)  # pyright: ignore[reportUnknownArgumentType]
