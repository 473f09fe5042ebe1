"""The manner of a task's user: the switches `wording` and `temper`, which change how users speak, not what they ask."""

from dataclasses import dataclass

from palaestra.envs.user.tempers import TEMPERS
from palaestra.envs.wording import WORDINGS
from palaestra.errors import UnknownNameError


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestVariation:
    """How the user speaks. Both switches are off where they are `None`."""

    wording: str | None = None
    """In which words the request is put: a name of `WORDINGS`."""
    temper: str | None = None
    """The temper of a user who answers, in place of the task's own: a name of `TEMPERS`."""

    @classmethod
    def of(cls, wording: str | None, temper: str | None) -> "RequestVariation | None":
        """The manner that was asked for; `None` where nothing was.

        Raises:
            UnknownNameError: there is no such wording or temper.
        """
        if wording is not None and wording not in WORDINGS:
            raise UnknownNameError.of("wording", str(wording), WORDINGS)
        if temper is not None and temper not in TEMPERS:
            raise UnknownNameError.of("temper", str(temper), TEMPERS)
        return None if wording is None and temper is None else cls(wording=wording, temper=temper)
