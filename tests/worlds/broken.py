"""Broken environments, a small library: each breaks one rule of `check_env`, and only that one.

Most wait for the third turn, because an ordinary smoke test would find the rest.
"""

import io
import random
import secrets
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from tempfile import gettempdir
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np

from palaestra.envs.env import Snapshot, ToolEnv
from palaestra.envs.spaces import CallSpace
from palaestra.errors import EpisodeOverError, ToolRefusal
from palaestra.protocols import Action
from palaestra.records import Message, ToolCall
from palaestra.tools import CallResult, JournaledState, Toolbox, ToolContext, tool
from worlds.library import LIBRARY, Book, Member

Observation: TypeAlias = tuple[Message, ...]
Stepped: TypeAlias = tuple[Observation, float, bool, bool, dict[str, Any]]
Reset: TypeAlias = tuple[Observation, dict[str, Any]]

LATE = 3
"""The turn from which most of them are broken."""


class Late(ToolEnv):
    """Breaks what a step returns, from the third turn on."""

    def step(self, action: Action) -> Stepped:
        stepped = super().step(action)
        return self.spoilt(stepped) if self._turn >= LATE else stepped

    def spoilt(self, stepped: Stepped) -> Stepped:
        raise NotImplementedError


# gymnasium, tools, actions


class IntegerEnds(ToolEnv):
    def step(self, action: Action) -> Stepped:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, int(terminated), int(truncated), info  # type: ignore[return-value]


class SpoiltTools(ToolEnv):
    """Exports its tools after something was done to the last one."""

    def __init__(self, env_id: str, *, spoil: str, **kwargs: Any) -> None:
        super().__init__(env_id, **kwargs)
        self._spoil = spoil

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Reset:
        observation, info = super().reset(seed=seed, options=options)
        tools: tuple[dict[str, Any], ...] = info["tools"]
        function, parameters = tools[-1]["function"], tools[-1]["function"]["parameters"]
        match self._spoil:
            case "repeated":
                function["name"] = tools[0]["function"]["name"]
            case "named":
                function["name"] = "give up!"
            case "described":
                function["description"] = ""
            case "argument":
                parameters["properties"]["reason"].pop("description")
            case "required":
                parameters["required"] = ["reason", "mood"]
            case _:
                parameters["properties"]["reason"]["pattern"] = "^a+$"
        return observation, info


class StraySamples(ToolEnv):
    def __init__(self, env_id: str, **kwargs: Any) -> None:
        super().__init__(env_id, **kwargs)
        cast("CallSpace", self.action_space)._by_name.pop("get_member")


class IllegalActions(ToolEnv):
    def legal_actions(self, count: int = 8) -> list[Action]:
        del count
        return [{"tool": "get_member", "arguments": {"member_id": "MEM-404"}}]


# ends


class SleepsBeforeReset(ToolEnv):
    def step(self, action: Action) -> Stepped:
        if self._instance is None:
            return (), 0.0, False, False, {}
        return super().step(action)


class SleepsAfterEnd(ToolEnv):
    def step(self, action: Action) -> Stepped:
        try:
            return super().step(action)
        except EpisodeOverError:
            if self._instance is None:
                raise
            return (), 0.0, True, False, {}


class Endless(ToolEnv):
    """Never tires of empty turns; a walk has few enough of them not to notice."""

    def step(self, action: Action) -> Stepped:
        if action == []:
            self._running()
            return (), 0.0, False, False, {}
        return super().step(action)


# observations


class StrayMessages(Late):
    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, *rest = stepped
        changed: Any = tuple(Message(role="robot", content=m["content"]) for m in observation)
        return changed, *rest  # type: ignore[return-value]


class DatedMessages(Late):
    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, *rest = stepped
        changed: Any = tuple({**m, "at": self._clock.now} for m in observation)
        return changed, *rest  # type: ignore[return-value]


class OpaqueMessages(Late):
    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, *rest = stepped
        changed: Any = tuple({**m, "raw": m["content"].encode()} for m in observation)
        return changed, *rest  # type: ignore[return-value]


# determinism

_serials = iter(range(10**9))


class Numbered(Late):
    """Numbers its turns over all environments of the process."""

    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        return observation, reward, terminated, truncated, {**info, "serial": next(_serials)}


class HashOrdered(Late):
    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        tables = tuple({info.name for info in self.world.schema} | {t.name for t in self.world.toolbox})
        return observation, reward, terminated, truncated, {**info, "names": tables}


class NextAfterEnd(ToolEnv):
    """Draws another task where the episode before was played to its end."""

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Reset:
        self._ended = self._instance is not None and self._evidence.end is not None and not self._evidence.events
        return super().reset(seed=seed, options=options)

    def _drawn(self, seed: int) -> str:
        return super()._drawn(seed + 1 if self._ended else seed)


class LateClock(ToolEnv):
    """Begins later where the episode before ended without a call."""

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Reset:
        idle = self._instance is not None and self._evidence.end is not None and not self._evidence.events
        returned = super().reset(seed=seed, options=options)
        self._clock.advance(60 if idle else 0)
        return returned


# snapshots, forks


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedSnapshot(Snapshot):
    lock: Any = field(default_factory=threading.Lock)


class Unpicklable(ToolEnv):
    def snapshot(self) -> Snapshot:
        plain = super().snapshot()
        return LockedSnapshot(**{name: getattr(plain, name) for name in Snapshot.__dataclass_fields__})


class ForksWhole(ToolEnv):
    """Forks by a whole snapshot, whatever `snapshot` and `restore` do."""

    def fork(self) -> ToolEnv:
        sound = super().fork()
        ToolEnv.restore(sound, ToolEnv.snapshot(self))
        return sound


class ForgetsTurn(ForksWhole):
    def snapshot(self) -> Snapshot:
        return replace(super().snapshot(), turn=0)


class ForgetsMood(Late):
    """Counts turns beside the snapshot and lets the count show."""

    _mood = 0

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Reset:
        self._mood = 0
        return super().reset(seed=seed, options=options)

    def step(self, action: Action) -> Stepped:
        self._mood += 1
        return super().step(action)

    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        return observation, reward, terminated, truncated, {**info, "mood": self._mood}


class CannotGoBack(ForksWhole):
    def restore(self, snapshot: Snapshot) -> None:
        elapsed = self._clock.elapsed if self._instance is not None else 0
        super().restore(snapshot)
        self._clock.set_elapsed(max(elapsed, snapshot.elapsed))


class ForksElsewhere(ToolEnv):
    def fork(self) -> ToolEnv:
        fork = super().fork()
        fork._clock.advance(1)
        return fork


class ForksShareTime(ToolEnv):
    def fork(self) -> ToolEnv:
        fork = super().fork()
        fork._context.clock = self._clock
        return fork


class SiblingsShareTime(ToolEnv):
    _shared: Any = None

    def fork(self) -> ToolEnv:
        fork = super().fork()
        if self._shared is None or self._shared.elapsed != self._clock.elapsed:
            self._shared = fork._clock
        fork._clock = fork._context.clock = self._shared
        return fork


# isolation


class Overheard(ToolEnv):
    """Speaks of the episode that was begun last, in whichever environment."""

    _latest: ClassVar[int] = 0

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Reset:
        returned = super().reset(seed=seed, options=options)
        Overheard._latest = self._seed
        return returned

    def step(self, action: Action) -> Stepped:
        observation, reward, terminated, truncated, info = super().step(action)
        info["overheard"] = Overheard._latest != self._seed and self._turn > 1
        return observation, reward, terminated, truncated, info


class Lends(ToolEnv):
    """Hands out its own messages."""

    def _given(self) -> Observation:
        return self._observation if getattr(self, "_turn", 0) >= LATE else super()._given()


@tool(writes=True)
def spoil(context: ToolContext) -> object:
    """Write, then refuse."""
    book = context.state.find(Book)[0]
    context.state.update(book, copies=book.copies + 1)
    raise ToolRefusal("not_allowed", "no")


class Unforgiving:
    """A state that takes nothing back."""

    def __init__(self, state: JournaledState) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def rollback(self, length: int) -> None:
        del length


class NoRollback(Toolbox):
    def call(self, context: ToolContext, state: JournaledState, call_id: str, call: ToolCall, past: Any) -> CallResult:
        return super().call(context, Unforgiving(state), call_id, call, past)  # type: ignore[arg-type]


class ForgetsRefusals(ToolEnv):
    """Keeps no event of a call of an unknown tool."""

    def _run(self, calls: tuple[ToolCall, ...]) -> list[Message]:
        messages = super()._run(calls)
        self._evidence.events = [e for e in self._evidence.events if e.error != "unknown_tool"]
        return messages


class TimelessRefusals(ToolEnv):
    """A call of an unknown tool takes no time."""

    def _run(self, calls: tuple[ToolCall, ...]) -> list[Message]:
        elapsed = self._clock.elapsed
        messages = super()._run(calls)
        if self._evidence.event.error == "unknown_tool":
            self._clock.set_elapsed(elapsed)
        return messages


UNROLLED = replace(LIBRARY, toolbox=NoRollback((*LIBRARY.toolbox, spoil), prose_tool="reply"), _bases={})


# rewards


class SpoiltReward(Late):
    """Spoils the reward of late turns."""

    def __init__(self, env_id: str, *, spoil: str, **kwargs: Any) -> None:
        super().__init__(env_id, **kwargs)
        self._spoil = spoil

    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        spoils = {
            "none": None,
            "huge": 1e9,
            "nan": float("nan"),
            "numpy": np.float64(reward),
            "bonus": reward + 1,
        }
        return observation, spoils[self._spoil], terminated, truncated, info  # type: ignore[return-value]


class SpoiltComponents(Late):
    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        info["components"]["task"] += 1
        return observation, reward, terminated, truncated, info


class Flattered(ToolEnv):
    """Pays the first criterion for talk, which no log of calls would show a rubric."""

    def _run(self, calls: tuple[ToolCall, ...]) -> list[Message]:
        messages = super()._run(calls)
        if any(call.tool == "reply" for call in calls):
            self._checklist.counts[0] = True
        return messages


class WritesBesides(ToolEnv):
    """Lets time work on the rows, in no call."""

    def _run(self, calls: tuple[ToolCall, ...]) -> list[Message]:
        messages = super()._run(calls)
        if self._turn >= LATE and self._evidence.event.error is None:
            member = self._state.find(Member)[0]
            self._state.update(member, blocked=not member.blocked)
        return messages


# purity

SINK = Path(gettempdir()) / "palaestra-impure.txt"


def _connect() -> None:
    with socket.socket() as opened:
        opened.settimeout(1)


def _write() -> None:
    SINK.write_text("written")


def _spawn() -> None:
    subprocess.run(["true"], check=True)


IMPURE: Mapping[str, Callable[[], object]] = {
    "time.time": time.time,
    "time.perf_counter": time.perf_counter,
    "datetime.now": datetime.now,
    "datetime.today": datetime.today,
    "date.today": date.today,
    "random.random": random.random,
    "random.getrandbits": lambda: random.randint(1, 6),  # noqa: S311
    "posix.urandom": uuid.uuid4,
    "posix.urandom ": lambda: secrets.token_hex(4),
    "socket.": _connect,
    "subprocess.": _spawn,
    "open ": _write,
    "global generator": lambda: np.random.rand(),  # noqa: NPY002, PLW0108
}


class Impure(Late):
    def __init__(self, env_id: str, *, act: str, **kwargs: Any) -> None:
        super().__init__(env_id, **kwargs)
        self._act = act

    def spoilt(self, stepped: Stepped) -> Stepped:
        IMPURE[self._act]()
        return stepped


def _populated_by_clock(seed: int) -> Any:
    time.time()
    return LIBRARY.populate(seed)


CLOCKWORK = replace(LIBRARY, populate=_populated_by_clock, _bases={})


# closing

HELD: list[Any] = []
"""What leaking environments leave behind; a test frees it."""
RELEASE = threading.Event()


def release() -> None:
    """Free what leaking environments hold."""
    RELEASE.set()
    for held in HELD:
        if isinstance(held, threading.Thread):
            held.join()
        elif isinstance(held, subprocess.Popen):
            held.kill()
            held.wait()
        else:
            held.close()
    HELD.clear()
    RELEASE.clear()


def _thread() -> threading.Thread:
    thread = threading.Thread(target=RELEASE.wait, name="leaked", daemon=True)
    thread.start()
    return thread


LEAKS: Mapping[str, Callable[[], object]] = {
    "thread leaked": _thread,
    "child process": lambda: subprocess.Popen(["sleep", "60"]),
    "open file": lambda: io.FileIO(__file__),
}


class Leaky(ToolEnv):
    def __init__(self, env_id: str, *, leak: str, **kwargs: Any) -> None:
        super().__init__(env_id, **kwargs)
        HELD.append(LEAKS[leak]())


class ClosesOnce(ToolEnv):
    def close(self) -> None:
        if self._instance is None:
            raise RuntimeError("closed already")
        super().close()


# the table


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A broken environment, and what the check must say of it."""

    env: type[ToolEnv]
    check: str
    """The one check that it trips."""
    says: str
    """A part of the message."""
    kwargs: Mapping[str, str] = field(default_factory=dict[str, str])
    also: frozenset[str] = frozenset()
    """Later checks that it cannot but trip too."""

    @property
    def id(self) -> str:
        """The id under which it is registered."""
        marks = "".join(c if c.isalnum() else "-" for value in self.kwargs.values() for c in value)
        return f"test/{self.env.__name__}{marks}-v0"


BROKEN: tuple[Case, ...] = (
    Case(env=IntegerEnds, check="gymnasium", says="to be a boolean"),
    Case(env=SpoiltTools, check="tools", says="another tool has this name", kwargs={"spoil": "repeated"}),
    Case(env=SpoiltTools, check="tools", says="it is no function with a name", kwargs={"spoil": "named"}),
    Case(env=SpoiltTools, check="tools", says="it has no description", kwargs={"spoil": "described"}),
    Case(env=SpoiltTools, check="tools", says="reason has no description", kwargs={"spoil": "argument"}),
    Case(env=SpoiltTools, check="tools", says="no object schema", kwargs={"spoil": "required"}),
    Case(env=SpoiltTools, check="tools", says="cannot be written as JSON", kwargs={"spoil": "pattern"}),
    Case(env=StraySamples, check="actions", says="action_space.contains refuses"),
    Case(env=IllegalActions, check="actions", says="there is no row 'MEM-404'"),
    Case(env=SleepsBeforeReset, check="ends", says="before the first reset did not raise"),
    Case(env=SleepsAfterEnd, check="ends", says="after the end did not raise"),
    Case(env=Endless, check="ends", says="did not end the episode"),
    Case(env=StrayMessages, check="observations", says="lies in env.observation_space"),
    Case(env=DatedMessages, check="observations", says="JSON does not give back"),
    Case(env=OpaqueMessages, check="observations", says="JSON does not give back"),
    Case(
        env=Numbered,
        check="repeats",
        says="what it returned differs in another environment made alike",
        # Who does not repeat himself fails every comparison; `check_env` stops at the first.
        also=frozenset({"reset", "processes", "snapshots", "interleaving"}),
    ),
    Case(env=NextAfterEnd, check="reset", says="the seed alone draws the instance"),
    Case(env=LateClock, check="reset", says="the digest differs in an environment that was used before"),
    Case(env=HashOrdered, check="processes", says="differs in another process (PYTHONHASHSEED="),
    Case(env=Unpicklable, check="snapshots", says="a snapshot does not pickle"),
    Case(env=ForgetsTurn, check="snapshots", says="restored into another environment gives another digest"),
    Case(env=ForgetsMood, check="snapshots", says="after a restore into another environment"),
    Case(env=CannotGoBack, check="snapshots", says="taken back by"),
    Case(env=ForksElsewhere, check="forks", says="a fork has another digest than its origin"),
    Case(env=ForksShareTime, check="forks", says="moved its origin"),
    Case(env=SiblingsShareTime, check="forks", says="moved its sibling"),
    Case(env=Overheard, check="interleaving", says="while another environment is being played"),
    Case(env=Lends, check="ownership", says="belongs to the caller"),
    Case(env=ToolEnv, check="refusals", says="changed rows", kwargs={"env_id": "test/Unrolled-v0"}),
    Case(env=ForgetsRefusals, check="refusals", says="left no event"),
    Case(env=TimelessRefusals, check="refusals", says="took no time"),
    *(
        Case(env=SpoiltReward, check="rewards", says="gave the reward", kwargs={"spoil": spoil})
        for spoil in ("none", "huge", "nan", "numpy")
    ),
    Case(env=SpoiltReward, check="rewards", says="the rewards sum to", kwargs={"spoil": "bonus"}),
    Case(env=SpoiltComponents, check="rewards", says="the components"),
    Case(env=Flattered, check="rescoring", says="the log is worth"),
    Case(env=WritesBesides, check="rescoring", says="the log does not add up"),
    *(Case(env=Impure, check="purity", says=act.strip(), kwargs={"act": act}) for act in IMPURE),
    Case(env=ToolEnv, check="purity", says="time.time", kwargs={"env_id": "test/Clockwork-v0"}),
    *(Case(env=Leaky, check="closing", says=leak, kwargs={"leak": leak}) for leak in LEAKS),
    Case(env=ClosesOnce, check="closing", says="the second close raised"),
)
"""Every broken environment."""
