"""What passes between Palaestra and a benchmark that runs under an interpreter of its own: plain JSON.

This file is read by both sides, so it imports the standard library alone, and runs on Python 3.11 and newer. Each
benchmark implements `Bench` and `Session` in its module `served`, in terms of its own package.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypedDict


class WireCall(TypedDict):
    """One call of a turn."""

    tool: str
    arguments: dict[str, Any]
    """Any: JSON."""


class WireTurn(TypedDict):
    """What an agent does in one turn: calls, or words where there are none."""

    calls: list[WireCall]
    prose: str


class WireMessage(TypedDict):
    """A chat message."""

    role: str
    """"system", "user" or "tool"."""
    content: str


class WireTask(TypedDict):
    """What may be known of a task before it is played."""

    id: str
    """`category/name`, unique within the benchmark; safe in a file's name but for the slash."""
    category: str
    split: str
    """By the benchmark's own division, "test" where it has none."""
    max_turns: int
    gold_calls: int
    """Calls of the benchmark's own solution; 0 where it has none."""
    prompt: str
    """The words by which the task is known in a training set: what its user asks for. A label of the task where they
    are known only once it has begun; the benchmark's facts say so (`opening_tells`)."""


class WireCriterion(TypedDict):
    """One sub-score."""

    id: str
    text: str
    kind: str
    """"expect" or "forbid"."""
    points: int
    """Of 100 for all that are expected together."""


class WireOpening(TypedDict):
    """How an episode begins."""

    messages: list[WireMessage]
    tools: list[dict[str, Any]]
    """In OpenAI's function-calling form. Any: JSON Schema."""
    criteria: list[WireCriterion]
    prose: bool
    """Whether words without a call mean something, such as a message to the user or an answer."""


class WireResult(TypedDict):
    """What came of one call."""

    content: str
    error: str | None
    """A short stable word where the benchmark refused the call, such as "invalid_arguments" or "failed"."""


class WireReply(TypedDict):
    """What came of a turn."""

    results: list[WireResult]
    """One for each call, in order, up to the one that ends the benchmark: those behind it do not run."""
    messages: list[WireMessage]
    """What else there is to read, such as what the user says next."""
    tools: list[dict[str, Any]] | None
    """The tools from now on, where they have changed."""
    points: int
    """Of 100, as the episode stands; those of the last turn are `WireVerdict.points`."""
    end: str | None
    """An end reason: "finished", "user_left" or "deadline" where the benchmark is over."""


class WireCheck(TypedDict):
    """How one criterion stands: whether it is met, or violated where it forbids."""

    met: bool
    reason: str


class WireVerdict(TypedDict):
    """The benchmark's own judgement."""

    points: int
    """Of 100."""
    passed: bool
    """What the benchmark itself counts as solved."""
    criteria: dict[str, WireCheck]


class Session(Protocol):
    """One episode."""

    def opening(self) -> WireOpening:
        """What the agent is given."""
        ...

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Take one turn. Whatever an agent asks for is answered; an exception is a fault of the benchmark."""
        ...

    def verdict(self, end: str) -> WireVerdict:
        """The score, if the episode ends here for the reason `end`."""
        ...

    def gold(self) -> list[WireTurn] | None:
        """The benchmark's own solution, from the beginning; `None` where it has none."""
        ...

    def legal(self, draw: int) -> WireTurn | None:
        """A turn that makes sense here, chosen by the number `draw`; `None`: draw from the tools' schemas."""
        ...

    def state(self) -> str:
        """Everything that decides how it goes on, as text; worlds that cannot tell return "" throughout."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


class Bench(Protocol):
    """A benchmark, loaded."""

    def version(self) -> str:
        """Of the package that is installed, or of the checkout."""
        ...

    def tasks(self) -> list[WireTask]:
        """Every task, in a fixed order."""
        ...

    def begin(self, task: str, seed: int) -> Session:
        """Begin an episode of a task; `KeyError` where there is none."""
        ...


def reply(
    results: Sequence[WireResult] = (),
    *,
    messages: Sequence[WireMessage] = (),
    tools: list[dict[str, Any]] | None = None,
    points: int = 0,
    end: str | None = None,
) -> WireReply:
    """A reply, with what is usual left out."""
    return {"results": list(results), "messages": list(messages), "tools": tools, "points": points, "end": end}


def run_until(
    over: Callable[[], bool], act: Callable[[WireCall], WireResult], calls: Iterable[WireCall]
) -> list[WireResult]:
    """The results of calls, made one by one until the benchmark is over; those behind do not run."""
    results: list[WireResult] = []
    for call in calls:
        results.append(act(call))
        if over():
            break
    return results


def answer_result(content: str) -> WireResult:
    """A call that went through."""
    return {"content": content, "error": None}


def refusal_result(content: str, error: str = "failed") -> WireResult:
    """A call that did not."""
    return {"content": content, "error": error}


def tool(
    name: str, description: str, properties: Mapping[str, Any], required: Sequence[str] | None = None
) -> dict[str, Any]:
    """A tool's schema in OpenAI's form; every argument is required, where it is not said. Any: JSON Schema."""
    needed = list(properties if required is None else required)
    parameters = {"type": "object", "properties": dict(properties), "required": needed}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def single(*, points: int, passed: bool, reason: str, criterion: str = "solved") -> WireVerdict:
    """The verdict of a benchmark with one score."""
    return {"points": points, "passed": passed, "criteria": {criterion: {"met": passed, "reason": reason}}}
