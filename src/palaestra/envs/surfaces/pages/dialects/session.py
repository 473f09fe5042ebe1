"""What a browser with a dialect holds beside its tabs: handles, focus, and what the agent saw last."""

from dataclasses import replace

from palaestra.envs.surfaces.pages.session import BrowserSession
from palaestra.record import record


@record
class LastObservation:
    """The last observation, for what the next one is compared with."""

    url: str
    elements: tuple[str, ...]
    """The ids on it."""
    lines: tuple[str, ...] = ()
    """The lines of the page that the agent has seen; kept only where observations hold changes."""
    kept: int = 0
    """How many lines it had."""
    cut: int = 0
    """How many more lines were cut at its end."""


@record
class DialectSession(BrowserSession):
    """A browser session in a dialect. It pickles, and equal ones go on alike."""

    handles: tuple[str, ...] = ()
    """The ids of elements in the order in which they were first shown, from number 1. No number is used again."""
    focus: str = ""
    """The id of the field that keys go to; empty where none has the focus."""
    selected: bool = False
    """Whether all text of the focused field is selected, so that typing replaces it."""
    skip: int = 0
    """How many lines of the observation are left out at its beginning, because they were shown before a cut."""
    found: str = ""
    """What the last action searched for, while nothing else was done."""
    observed: LastObservation | None = None

    def number(self, element: str) -> int | None:
        """The number of an element; `None` where it was never shown."""
        return self.handles.index(element) + 1 if element in self.handles else None

    def at_rest(self) -> "DialectSession":
        """The session without what holds for one page alone."""
        return replace(self, focus="", selected=False, skip=0, found="")
