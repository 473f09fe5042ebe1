"""Nothing reaches an environment but its own calls, and a refused call reaches no row."""

from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any, cast

from palaestra.envs.check.determinism import difference
from palaestra.envs.check.subject import Subject, apply
from palaestra.envs.env import ToolEnv
from palaestra.protocols import Action
from palaestra.steps import StepRecord


def check_interleaving(subject: Subject) -> None:
    """Two environments, played in turns, come out as if each had been alone."""
    for first, second in zip(subject.walks, [*subject.walks[1:], subject.walks[0]], strict=True):
        pair = ((subject.make(), first), (subject.make(), second))
        for number in range(len(first.operations)):
            for env, walk in pair:
                got = apply(env, walk.operations[number])
                if got != walk.marks[number]:
                    where = "while another environment is being played"
                    raise difference(subject, walk, number, walk.marks[number], got, where)


def check_ownership(subject: Subject) -> None:
    """What an environment returns belongs to the caller, who may change it."""
    env = subject.make()
    for operation in subject.walks[0].operations:
        returned: tuple[Any, ...] = env.reset(seed=operation) if isinstance(operation, int) else env.step(operation)
        digest = env.digest()
        _scribble(returned[0])
        _scribble(returned[-1])
        if env.digest() != digest:
            raise subject.fault(
                "a caller that changed what it was given changed the environment",
                "what reset and step return belongs to the caller",
                "Return copies of messages and dictionaries",
            )


def _scribble(value: object) -> None:
    """Spoil every dictionary and list within `value`."""
    if isinstance(value, dict):
        fields = cast("dict[object, object]", value)
        for part in list(fields.values()):
            _scribble(part)
        fields["scribbled"] = "over"
        if "content" in fields:
            fields["content"] = "scribbled over"
    elif isinstance(value, list | tuple):
        for part in cast("list[object] | tuple[object, ...]", value):
            _scribble(part)
        if isinstance(value, list):
            cast("list[object]", value).append("scribbled over")


def check_refusals(subject: Subject) -> None:
    """A refused call leaves the rows untouched, while clock and log go on."""
    env = subject.make()
    for seed in subject.seeds:
        env.reset(seed=seed)
        for action in islice(_probes(env), 6 * subject.steps):
            rows, before = env.state_hash(), env.snapshot()
            record: StepRecord = env.step(action)[4]["record"]
            after = env.snapshot()
            if all(event.error is not None for event in record.events):
                if env.state_hash() != rows:
                    raise subject.fault(
                        f"the refused call {action!r:.200} changed rows",
                        "a refused call leaves the rows as they were",
                        "Write through the state that the toolbox rolls back, and refuse with ToolRefusal",
                    )
                if len(after.events) != len(before.events) + 1 or after.elapsed <= before.elapsed:
                    raise subject.fault(
                        f"the refused call {action!r:.200} left no event, or took no time",
                        "clock and log go on when a call is refused",
                        "Append one ToolEvent for every call and advance the clock by its latency",
                    )
            if record.end is not None:
                env.reset(seed=seed)


def _probes(env: ToolEnv) -> Iterator[Action]:
    """Calls of an unknown tool, with a wrong argument, with ids of nothing, and legal ones, without end."""
    for kind in cycle(("unknown", "argument", "ids", "legal", "legal", "legal")):
        legal = cast("dict[str, Any]", env.legal_actions(1)[0])
        arguments: dict[str, Any] = legal["arguments"]
        if kind == "unknown":
            yield {"tool": "no_such_tool", "arguments": arguments}
        elif kind == "argument":
            yield {"tool": legal["tool"], "arguments": {**arguments, "no_such_argument": 1}}
        elif kind == "ids":
            named = next(tool for tool in env.offered_tools if tool.name == legal["tool"]).references
            yield {
                "tool": legal["tool"],
                "arguments": {n: _astray(v) if n in named else v for n, v in arguments.items()},
            }
        else:
            yield legal


def _astray(value: object) -> object:
    return ["NO-SUCH-ID" for _ in cast("list[str]", value)] if isinstance(value, list) else "NO-SUCH-ID"
