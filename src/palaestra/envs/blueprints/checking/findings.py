"""Collects what is wrong with a blueprint."""

from collections.abc import Callable, Collection
from typing import TypeVar

from palaestra.envs.blueprints.problems import BlueprintProblem, Path, Places
from palaestra.errors import BlueprintError, PalaestraError, UnknownNameError

T = TypeVar("T")


class BlueprintFindings:
    """The problems that were found, in the order of the checks.

    Args:
        places: Where the parts of the blueprint stand.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self.problems: list[BlueprintProblem] = []

    def add(self, path: Path, text: str) -> None:
        """Report a problem of a part."""
        self.problems.append(BlueprintProblem(self._places.at(path), text))

    def expect(self, holds: bool, path: Path, text: str) -> None:  # noqa: FBT001  it reads like an assertion
        """Report a problem where something does not hold."""
        if not holds:
            self.add(path, text)

    def expect_name(self, name: str, kind: str, known: Collection[str], path: Path) -> bool:
        """Report a name that is not known; whether it is."""
        if name in known:
            return True
        self.add(path, str(UnknownNameError.of(kind, name, known)))
        return False

    def read(self, path: Path, make: Callable[[], T]) -> T | None:
        """What `make` gives; `None`, and a problem, where a part cannot be read."""
        try:
            return make()
        except BlueprintError as error:
            self.add(path, str(error))
        except PalaestraError as error:
            self.add(path, f"{type(error).__name__}: {error}")
        return None
