"""Reading a turn: which calls an action holds, or why there are none that can be read."""

from dataclasses import dataclass

from palaestra.digest import canonical
from palaestra.envs.spaces import calls_of
from palaestra.protocols import Action
from palaestra.records import Message, ToolCall
from palaestra.tools import ActionFormat

MOST_CALLS = 64
"""The most calls that one turn may hold; a turn with more is not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReader:
    """How an environment reads actions."""

    format: ActionFormat
    prose_tool: str | None
    """The tool that a turn of prose without a call means; `None` where prose means nothing."""

    def read(self, action: Action) -> tuple[tuple[ToolCall, ...], str | None]:
        """The calls of a turn, and why they are not run, where they are not.

        Raises:
            ActionError: `action` is no action. What a model writes never raises.
        """
        if not isinstance(action, str):
            calls = calls_of(action)
            return calls, _why_not(len(calls))
        parsed = self.format.parse(action)
        if parsed.error is None and not parsed.calls:
            return self._spoken(parsed.prose)
        return parsed.calls, parsed.error or _why_not(len(parsed.calls))

    def read_program(self, action: Action) -> str | None:
        """The code that an action is; `None` where it states calls, says something or cannot be read."""
        return self.format.parse(action).program if isinstance(action, str) else None

    def _spoken(self, prose: str) -> tuple[tuple[ToolCall, ...], str | None]:
        if self.prose_tool is None:
            return (), "this world takes calls only; prose without a call means nothing in it"
        return (ToolCall(tool=self.prose_tool, arguments={"message": prose}),), None


def unreadable_message(why: str) -> Message:
    """What an agent reads after a turn that could not be read."""
    return {"role": "tool", "content": canonical({"error": {"code": "unreadable", "message": why}}).decode()}


def _why_not(calls: int) -> str | None:
    if calls == 0:
        return "the turn holds no call"
    return f"the turn holds {calls} calls; {MOST_CALLS} are taken at most" if calls > MOST_CALLS else None
