"""Code as an action: a program runs, and each of its calls is a call of the episode.

A call inside a program is the same call as one by JSON: the same event, journal, checks and refusals. Between two calls
the program has read the answer, so each call is judged as the one call of a turn of its own. What the program cannot
have from an answer is what its text spells out: an id that stands in the code, and that nothing had shown when the
code was written, is a guess (`ToolEvent.guessed`), also after an earlier call of the same code has shown it.

A program that ignores what it reads is judged as an agent is that ignores what it reads, call by call.
"""

from dataclasses import dataclass, field

import orjson

from palaestra.envs.episode import LiveEpisode
from palaestra.envs.reading import unreadable_message
from palaestra.ids import words
from palaestra.records import CodeCall, Json, Message, ToolCall
from palaestra.tools.sandbox import CallAnswer, CodeResult, Program, Sandbox, function_texts, run_program
from palaestra.tools.schemas import Schemas

NAME = "python"
"""The name of the message that answers a turn of code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOutcome:
    """What came of a turn of code."""

    messages: tuple[Message, ...]
    """What the agent gets: what the code printed and its error, then what people said."""
    unreadable: str | None
    """Why the code did not run."""
    calls: tuple[CodeCall, ...]
    """What it called, and what it was answered, in order."""


def run_code(episode: LiveEpisode, code: str, *, sandbox: Sandbox, tools: Schemas) -> CodeOutcome:
    """Run a program as the turn of an episode that has begun.

    Args:
        episode: Answers its calls.
        code: The program.
        sandbox: Where it runs.
        tools: The schemas of the tools on offer.

    Raises:
        InfrastructureError: the sandbox or the world failed.
        RubricError: a criterion crashed.
    """
    turn = _CodeTurn(episode, frozenset(words.__wrapped__(code)) - episode.evidence.known_ids())
    program = Program(code=code, tools=function_texts(tools), now=episode.clock.now, seed=episode.seed)
    try:
        result = run_program(sandbox, program, turn.answer)
    finally:
        episode.context.spelled = frozenset()
    if result.unreadable is not None:
        why = f"the code does not compile: {result.unreadable}"
        return CodeOutcome(messages=(unreadable_message(why),), unreadable=why, calls=())
    return CodeOutcome(messages=turn.messages(result), unreadable=None, calls=tuple(turn.calls))


@dataclass(slots=True)
class _CodeTurn:
    """The calls of one program, as they come."""

    episode: LiveEpisode
    spelled: frozenset[str]
    """Words of the code, ids perhaps, that nothing had shown when it was written."""
    calls: list[CodeCall] = field(default_factory=list[CodeCall])

    def answer(self, call: ToolCall) -> CallAnswer:
        """Make a call, and give the program what it reads of it."""
        episode = self.episode
        if self.calls:
            episode.begin_reading()
            episode.context.spelled = self.spelled & episode.evidence.known_ids()
        before = len(episode.evidence.events)
        messages = tuple(episode.run((call,), first=len(self.calls)))
        episode.hear(messages)
        events = len(episode.evidence.events) - before
        self.calls.append(CodeCall(call=call, messages=messages, events=events))
        value, refusal = read_answer(messages, plain=episode.surface is not None)
        ends = episode.context.end_reason is not None
        return CallAnswer(value=value, refusal=refusal, now=episode.clock.now, ends=ends)

    def messages(self, result: CodeResult) -> tuple[Message, ...]:
        """What the agent gets for the turn."""
        said = [message for done in self.calls for message in done.messages[1:]]
        images = [url for done in self.calls for url in done.messages[0].get("images", ())]
        answer: Message = {
            "role": "tool",
            "tool_call_id": f"call_{self.episode.turn}",
            "name": NAME,
            "content": _content(result),
        }
        if images:
            answer["images"] = images
        return (answer, *said)


def _content(result: CodeResult) -> str:
    """What the code printed, and its error below."""
    if result.error is None:
        return result.output or "(no output)"
    gap = "" if not result.output or result.output.endswith("\n") else "\n"
    return f"{result.output}{gap}{result.error}"


def read_answer(messages: tuple[Message, ...], *, plain: bool) -> tuple[Json, tuple[str, str] | None]:
    """The value and the refusal in the messages with which a call is answered: the tool's, then those of people.

    Args:
        messages: The answer first.
        plain: Whether answers are text as they stand, as those of pages are, unless they are refusals.
    """
    content = messages[0]["content"]
    value: Json = content
    if not plain or content.startswith('{"error":'):
        value = orjson.loads(content)
    match value:
        case {"error": {"code": str(code), "message": str(message)}}:
            return None, (code, message)
        case dict() if len(messages) > 1:
            return {**value, "answer": "\n".join(message["content"] for message in messages[1:])}, None
        case _:
            return value, None
