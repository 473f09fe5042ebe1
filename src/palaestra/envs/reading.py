"""Reading a turn: which calls an action holds, or why there are none that can be read."""

from collections.abc import Sequence
from dataclasses import dataclass

from palaestra.digest import canonical
from palaestra.protocols import Action
from palaestra.record import constructor, record
from palaestra.records import Message, ToolCall
from palaestra.tools import ActionFormat, read_action, read_plain_call

MOST_CALLS = 64
"""The most calls that one turn may hold; a turn with more is not run."""


@record
class TurnReading:
    """A turn as an environment runs it."""

    calls: tuple[ToolCall, ...]
    unreadable: str | None = None
    """Why none of the calls is run; `None` where they are."""
    ids: tuple[str, ...] = ()
    """The caller's ids, one a call, "" for a call without one; empty where no call has one."""
    program: str | None = None
    """Code that makes the calls as it runs; `None` where the turn states them."""


_turn = constructor(TurnReading)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReader:
    """How an environment reads actions."""

    format: ActionFormat
    prose_tool: str | None
    """The tool that a turn of prose without a call means; `None` where prose means nothing."""

    def read(self, action: Action) -> TurnReading:
        """What a turn says.

        Raises:
            ActionError: `action` is no action. What a model writes never raises.
        """
        plain = read_plain_call(action)
        if plain is not None:
            return _turn(calls=(plain,))
        if isinstance(action, str):
            return self._read_text(action)
        said = read_action(action)
        if said.error is not None:
            return TurnReading(calls=(), unreadable=_without_surrogates(said.error), ids=said.ids)
        if said.text is not None:
            return self._read_text(said.text)
        return TurnReading(calls=said.calls, unreadable=_why_not(len(said.calls)), ids=said.ids)

    def _read_text(self, text: str) -> TurnReading:
        parsed = self.format.parse(text)
        if parsed.error is not None:
            return TurnReading(calls=(), unreadable=_without_surrogates(parsed.error), ids=parsed.ids)
        if parsed.calls or parsed.program is not None:
            # Whether a program makes a call is found out where it runs.
            why_not = None if parsed.program is not None else _why_not(len(parsed.calls))
            return TurnReading(calls=parsed.calls, unreadable=why_not, ids=parsed.ids, program=parsed.program)
        if self.prose_tool is None:
            return TurnReading(
                calls=(), unreadable="this world takes calls only; prose without a call means nothing in it"
            )
        return TurnReading(calls=(ToolCall(tool=self.prose_tool, arguments={"message": parsed.prose}),))


def echo_ids(messages: Sequence[Message], ids: Sequence[str], *, unreadable: bool = False) -> tuple[Message, ...]:
    """Messages whose answers go under the ids that the caller gave to its calls.

    The environment's own ids stay in its records and digests, so that they do not depend on who calls.

    Args:
        messages: The messages after a turn; answers in the order of the calls.
        ids: The caller's ids, one a call; "" leaves the environment's own.
        unreadable: Whether the turn could not be read; each call with an id is then answered with the reason.
    """
    if unreadable:
        said = [call_id for call_id in ids[:MOST_CALLS] if call_id]
        answers = [{**message, "tool_call_id": call_id} for message in messages for call_id in said]
        return tuple(answers) or tuple(messages)  # type: ignore[arg-type]
    rest = iter(ids)
    echoed: list[Message] = []
    for message in messages:
        call_id = next(rest, "") if message["role"] == "tool" else ""
        echoed.append({**message, "tool_call_id": call_id} if call_id else message)
    return tuple(echoed)


def _without_surrogates(why: str) -> str:
    """A reason that JSON can hold: it may quote what a model wrote, and half a character is none of UTF-8."""
    return why.encode(errors="backslashreplace").decode()


def unreadable_message(why: str) -> Message:
    """What an agent reads after a turn that could not be read."""
    return {"role": "tool", "content": canonical({"error": {"code": "unreadable", "message": why}}).decode()}


def _why_not(calls: int) -> str | None:
    if calls == 0:
        return "the turn holds no call"
    return f"the turn holds {calls} calls; {MOST_CALLS} are taken at most" if calls > MOST_CALLS else None
