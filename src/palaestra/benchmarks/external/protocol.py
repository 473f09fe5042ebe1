"""The protocol between Palaestra and a benchmark with its own interpreter: plain JSON.

Both sides import this file, so it uses only the standard library and runs on Python 3.11 and newer. Each benchmark
implements `Bench` and `Session` in its module `served`, with its own package.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypedDict


class WireCall(TypedDict):
    """One call of a turn."""

    tool: str
    arguments: dict[str, Any]
    """Any: JSON."""


class WireTurn(TypedDict):
    """One turn of an agent: calls, or words if there are no calls."""

    calls: list[WireCall]
    prose: str


class WireMessage(TypedDict):
    """A chat message."""

    role: str
    """"system", "user" or "tool"."""
    content: str


class WireTask(TypedDict):
    """The public description of a task, known before it is played."""

    id: str
    """`category/name`, unique within the benchmark; safe in a file name except for the slash."""
    category: str
    split: str
    """The benchmark's own split; "test" if it has none."""
    max_turns: int
    gold_calls: int
    """The number of calls of the benchmark's own solution; 0 if it has none."""
    prompt: str
    """The user's request, by which the task is recognised in a training set. It is only a label if the request is known
    only once the task has begun; the benchmark's facts say so (`opening_tells`)."""


class WireCriterion(TypedDict):
    """One sub-score."""

    id: str
    text: str
    kind: str
    """"expect" or "forbid"."""
    points: int
    """Points; all expectations together have 100."""


class WireOpening(TypedDict):
    """The beginning of an episode."""

    messages: list[WireMessage]
    tools: list[dict[str, Any]]
    """The tools in OpenAI's function-calling form. Any: JSON Schema."""
    criteria: list[WireCriterion]
    prose: bool
    """Whether words without a call have a meaning, such as a message to the user or an answer."""


class WireResult(TypedDict):
    """The result of one call."""

    content: str
    error: str | None
    """A short stable word if the benchmark refused the call, such as "invalid_arguments" or "failed"."""


class WireReply(TypedDict):
    """The reply to a turn."""

    results: list[WireResult]
    """One result for each call, in order, up to the one that ends the benchmark; later calls do not run."""
    messages: list[WireMessage]
    """Further messages, such as the user's next one."""
    tools: list[dict[str, Any]] | None
    """The tools from now on, if they have changed."""
    points: int
    """The points so far, out of 100; after the last turn, `WireVerdict.points` counts."""
    end: str | None
    """The end reason if the benchmark is over: "finished", "user_left" or "deadline"."""


class WireCheck(TypedDict):
    """Whether one criterion counts: met for an expectation, violated for a prohibition."""

    met: bool
    reason: str


class WireVerdict(TypedDict):
    """The benchmark's own judgement."""

    points: int
    """Points out of 100."""
    passed: bool
    """Whether the benchmark itself counts the task as solved."""
    criteria: dict[str, WireCheck]


class Session(Protocol):
    """One episode."""

    def opening(self) -> WireOpening:
        """The opening for the agent."""
        ...

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Take one turn. Every request of an agent gets an answer; an exception is a fault of the benchmark."""
        ...

    def verdict(self, end: str) -> WireVerdict:
        """The score, if the episode ends here for the reason `end`."""
        ...

    def gold(self) -> list[WireTurn] | None:
        """The benchmark's own solution, from the beginning; `None` if it has none."""
        ...

    def legal(self, draw: int) -> WireTurn | None:
        """A turn that makes sense now, chosen by the number `draw`; `None` to draw from the tools' schemas."""
        ...

    def state(self) -> str:
        """Everything that decides how the episode continues, as text; always "" if the benchmark cannot report it."""
        ...

    def close(self) -> None:
        """Free all resources."""
        ...


class Bench(Protocol):
    """A benchmark, loaded."""

    def version(self) -> str:
        """The version of the installed package or the checkout."""
        ...

    def tasks(self) -> list[WireTask]:
        """Every task, in a fixed order."""
        ...

    def begin(self, task: str, seed: int) -> Session:
        """Begin an episode of a task; raises `KeyError` if there is no such task."""
        ...


def reply(
    results: Sequence[WireResult] = (),
    *,
    messages: Sequence[WireMessage] = (),
    tools: list[dict[str, Any]] | None = None,
    points: int = 0,
    end: str | None = None,
) -> WireReply:
    """A reply with defaults."""
    return {"results": list(results), "messages": list(messages), "tools": tools, "points": points, "end": end}


def run_until(
    over: Callable[[], bool], act: Callable[[WireCall], WireResult], calls: Iterable[WireCall]
) -> list[WireResult]:
    """Make calls one by one until the benchmark is over; later calls do not run. Return the results."""
    results: list[WireResult] = []
    for call in calls:
        results.append(act(call))
        if over():
            break
    return results


def answer_result(content: str) -> WireResult:
    """The result of a successful call."""
    return {"content": content, "error": None}


def refusal_result(content: str, error: str = "failed") -> WireResult:
    """The result of a refused call."""
    return {"content": content, "error": error}


def tool(
    name: str, description: str, properties: Mapping[str, Any], required: Sequence[str] | None = None
) -> dict[str, Any]:
    """A tool's schema in OpenAI's form; by default every argument is required. Any: JSON Schema."""
    needed = list(properties if required is None else required)
    parameters = {"type": "object", "properties": dict(properties), "required": needed}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def single(*, points: int, passed: bool, reason: str, criterion: str = "solved") -> WireVerdict:
    """The verdict of a benchmark with one score."""
    return {"points": points, "passed": passed, "criteria": {criterion: {"met": passed, "reason": reason}}}
