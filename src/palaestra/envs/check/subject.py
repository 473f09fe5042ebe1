"""What is checked: an environment, how to make more like it, and recorded walks through it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import gymnasium as gym
import orjson
from gymnasium.envs.registration import EnvSpec

from palaestra.digest import as_json, digest_bytes
from palaestra.envs.env import ToolEnv
from palaestra.errors import EnvironmentCheckError
from palaestra.protocols import Action
from palaestra.records import ToolCall
from palaestra.seeding import Stream

Operation: TypeAlias = int | Action
"""What is done to an environment: `reset` with this seed, or `step` with this action."""

_ENDERS = frozenset({"finish", "give_up"})
_UNREADABLE = "<tool_call>{"
_PROSE = "One moment, please."


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationResult:
    """What came of one operation."""

    digest: str
    """The environment's digest afterwards."""
    outcome: str
    """A digest of everything that the operation returned."""
    ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Operations, beginning with a reset, and what came of each."""

    operations: tuple[Operation, ...]
    marks: tuple[OperationResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The environment under check."""

    spec: EnvSpec
    walks: tuple[Walk, ...]
    seeds: tuple[int, ...]
    steps: int

    @classmethod
    def of(cls, env: ToolEnv, *, steps: int, seeds: Sequence[int]) -> "Subject":
        """The subject that `env` is one of; its walks are recorded here.

        Raises:
            EnvironmentCheckError: `gymnasium.make` did not make it, so that nobody can make another.
        """
        if env.spec is None:
            raise EnvironmentCheckError(
                f"{type(env).__name__}: it has no spec, and the checks need others made like it; "
                "register it and make it with gymnasium.make(...).unwrapped"
            )
        walks = tuple(_record(make(env.spec), seed, steps) for seed in seeds)
        return cls(spec=env.spec, walks=walks, seeds=tuple(seeds), steps=steps)

    def make(self, **switches: Any) -> ToolEnv:
        """Another environment like the one under check, but for `switches`."""
        return make(self.spec, **switches)

    def fault(self, what: str, rule: str, way_out: str) -> EnvironmentCheckError:
        """The error for a broken rule."""
        return EnvironmentCheckError(f"{self.spec.id}: {what}; {rule}. {way_out}")


def make(spec: EnvSpec | str, **kwargs: Any) -> ToolEnv:
    """The bare environment of a spec or an id."""
    return cast("ToolEnv", gym.make(spec, **kwargs).unwrapped)


def apply(env: ToolEnv, operation: Operation) -> OperationResult:
    """Do one operation."""
    if isinstance(operation, int):
        returned: tuple[Any, ...] = env.reset(seed=operation)
        ended = False
    else:
        returned = env.step(operation)
        ended = bool(returned[2] or returned[3])
    return OperationResult(digest=env.digest(), outcome=fingerprint(returned), ended=ended)


def replay(env: ToolEnv, operations: Sequence[Operation]) -> Iterator[OperationResult]:
    """Do `operations` one by one, as far as the caller asks."""
    return (apply(env, operation) for operation in operations)


def fingerprint(value: object) -> str:
    """A digest of what an operation returned; objects that are not data count by their type."""
    options = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
    return digest_bytes(orjson.dumps(value, option=options, default=_plain))


def _plain(value: object) -> object:
    if isinstance(value, set | frozenset):
        return sorted(cast("set[str]", value))
    try:
        return as_json(value)
    except TypeError:
        return type(value).__qualname__


def describe_operation(operation: Operation) -> str:
    """An operation, as messages name it."""
    if isinstance(operation, int):
        return f"reset(seed={operation})"
    text = repr(operation)
    return f"step({text[:100]}{'...' if len(text) > 100 else ''})"


def as_action(call: ToolCall) -> dict[str, Any]:
    """A call as `step` takes it."""
    return {"tool": call.tool, "arguments": dict(call.arguments)}


def _record(env: ToolEnv, seed: int, steps: int) -> Walk:
    """A walk that mixes the oracle's calls with legal, random, unreadable and spoken ones."""
    stream = Stream.root("check-env", seed)
    env.action_space.seed(seed)
    operations: list[Operation] = [seed]
    marks = [apply(env, seed)]
    oracle = list(env.oracle())
    while len(operations) <= steps:
        operation = stream.below(2**31) if marks[-1].ended else _action(env, oracle, stream)
        operations.append(operation)
        marks.append(apply(env, operation))
        if isinstance(operation, int):
            oracle = list(env.oracle())
    return Walk(operations=tuple(operations), marks=tuple(marks))


def _action(env: ToolEnv, oracle: list[ToolCall], stream: Stream) -> Action:
    kinds = (("oracle", 40), ("legal", 30), ("random", 10), ("turn", 10), ("unreadable", 5), ("prose", 5))
    match stream.weighted_choice(kinds):
        case "oracle" if oracle:
            return as_action(oracle.pop(0))
        case "random":
            return env.action_space.sample()
        case "turn":
            return [_legal(env, stream), _legal(env, stream)]
        case "unreadable":
            return _UNREADABLE
        case "prose":
            return _PROSE
        case _:
            return _legal(env, stream)


def _legal(env: ToolEnv, stream: Stream) -> dict[str, Any]:
    """A legal call; one that ends the episode only seldom, so that walks go somewhere."""
    drawn = [cast("dict[str, Any]", action) for action in env.legal_actions()]
    lasting = [action for action in drawn if action["tool"] not in _ENDERS]
    return stream.choice(drawn if stream.chance(10) or not lasting else lasting)
