"""What a sandbox is: a place where a program of an agent runs, and calls tools through whoever started it.

A backend starts a fresh interpreter for each program and connects three pipes to it. It does not know what a tool is.
`session.py` does the talking, so every backend answers calls, counts them and reports errors alike.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from palaestra.records import Json, ToolCall

StopCause: TypeAlias = Literal["ended", "calls", "wall", "cpu", "died", "protocol"]
"""Why a program was stopped before its end: a call ended the episode; it made too many calls; it took too long by the
wall clock or by processor time; its interpreter died; it wrote to the channel what is no request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """What one program may use."""

    wall_s: float = 20.0
    """Seconds that it may run. The time in which its calls are answered does not count."""
    cpu_s: int = 5
    """Seconds of processor time, the start of the interpreter included."""
    memory_mib: int = 512
    """Address space, the interpreter's own included."""
    output_bytes: int = 16_384
    """Of what it prints. What goes beyond is dropped."""
    error_chars: int = 2_000
    """Of the message of its last error."""
    request_bytes: int = 262_144
    """Of one call, as JSON."""
    calls: int = 64
    """Calls that it may make."""
    open_files: int = 64
    """Files that it may hold open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is to run."""

    code: str
    """Python source."""
    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """The functions that the program finds: the names of tools, each with its description."""
    now: datetime = datetime(2000, 1, 1)
    """What its clocks say when it starts, naive UTC."""
    seed: int = 0
    """What its random numbers follow from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswer:
    """What the program is given for a call."""

    value: Json
    """What the function returns."""
    refusal: tuple[str, str] | None = None
    """Code and message of a refusal, which the function raises as `ToolError`; `None` where it returns."""
    now: datetime
    """What the clocks of the program say from now on."""
    ends: bool = False
    """Whether the call ended the episode: the program is stopped, and gets no answer."""


AnswerCall: TypeAlias = Callable[[ToolCall], CallAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeResult:
    """What came of a program."""

    output: str
    """What it printed, cut at `SandboxLimits.output_bytes`."""
    error: str | None = None
    """Its last error, or why it was stopped; `None` where it came to its end, or to the end of the episode."""
    unreadable: str | None = None
    """Why the program could not be compiled; nothing of it has run then."""
    calls: int = 0
    """How many calls were answered."""
    stopped: StopCause | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestEnd:
    """How the process of a program ended."""

    signal: int | None
    """The signal that ended it; `None` where it exited."""
    exit_code: int | None
    cpu_s: float
    """Processor time that it took."""


class Guest(ABC):
    """The process of one program, from its start to its end.

    Attributes:
        requests: The file descriptor from which its requests are read.
        answers: The one to which answers are written; it does not block.
        output: The one from which is read what it prints.
    """

    requests: int
    answers: int
    output: int

    @abstractmethod
    def stop(self) -> GuestEnd:
        """End everything that runs in it, wait for that, and say how it ended. Safe to call once it has ended.

        Raises:
            InfrastructureError: it does not end, or nobody can say how it ended.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the pipes. To be called once, after `stop`."""


class Sandbox(ABC):
    """A kind of sandbox. It holds no state: each program runs in a fresh interpreter.

    Args:
        limits: What each program may use.
    """

    name: str

    def __init__(self, limits: SandboxLimits | None = None) -> None:
        self.limits = SandboxLimits() if limits is None else limits

    @abstractmethod
    def check(self) -> None:
        """Find out whether this machine can run it.

        Raises:
            CapabilityError: a feature that it needs is missing; the message names it. Nothing is weakened instead.
        """

    @abstractmethod
    def start(self) -> Guest:
        """Start a fresh interpreter that waits for a program.

        Raises:
            InfrastructureError: it could not be started.
        """
