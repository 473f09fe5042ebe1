"""The interface of sandboxes, which run programs of an agent and let them call tools.

A backend starts a fresh interpreter for each program and connects three pipes to it. It knows nothing about tools.
`session.py` implements the protocol, so every backend answers calls, counts them and reports errors alike.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from palaestra.records import Json, ToolCall

StopCause: TypeAlias = Literal["ended", "calls", "wall", "cpu", "died", "protocol"]
"""Why a program was stopped before its end: a call ended the episode; it made too many calls; it exceeded its
wall-clock or its processor time; its interpreter ended; it wrote invalid data to the channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """The limits of one program."""

    wall_s: float = 20.0
    """Seconds of wall-clock time, without the time for answering its calls."""
    cpu_s: int = 5
    """Seconds of processor time, including the start of the interpreter."""
    memory_mib: int = 512
    """Address space in MiB, including the interpreter's own."""
    output_bytes: int = 16_384
    """Bytes of its output; further output is dropped."""
    error_chars: int = 2_000
    """Bytes of the message of its last error."""
    request_bytes: int = 262_144
    """Bytes of one call, as JSON."""
    calls: int = 64
    """Maximum calls."""
    open_files: int = 64
    """Maximum open files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to run."""

    code: str
    """Python source."""
    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """The available functions: the names of tools, each with its description."""
    now: datetime = datetime(2000, 1, 1)
    """The time of its clocks at its start, naive UTC."""
    seed: int = 0
    """The seed of its random numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswer:
    """The answer to a call of the program."""

    value: Json
    """The value that the function returns."""
    refusal: tuple[str, str] | None = None
    """Code and message of a refusal, which the function raises as `ToolError`; `None` if it returns."""
    now: datetime
    """The time of the program's clocks from now on."""
    ends: bool = False
    """Whether the call ended the episode: the program is stopped and gets no answer."""


AnswerCall: TypeAlias = Callable[[ToolCall], CallAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeResult:
    """The result of a program."""

    output: str
    """Its output, cut at `SandboxLimits.output_bytes`."""
    error: str | None = None
    """Its last error, or why it was stopped; `None` if it or the episode ended normally."""
    unreadable: str | None = None
    """Why the program could not be compiled; then nothing of it has run."""
    calls: int = 0
    """The number of answered calls."""
    stopped: StopCause | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestEnd:
    """How the process of a program ended."""

    signal: int | None
    """The signal that ended it; `None` if it exited."""
    exit_code: int | None
    cpu_s: float
    """Seconds of processor time."""


class Guest(ABC):
    """The process of one program, from its start to its end.

    Attributes:
        requests: The file descriptor for reading its requests.
        answers: The file descriptor for writing answers; it does not block.
        output: The file descriptor for reading its output.
    """

    requests: int
    answers: int
    output: int

    @abstractmethod
    def stop(self) -> GuestEnd:
        """End all processes of the guest, wait for them, and return how it ended. Repeated calls are allowed.

        Raises:
            InfrastructureError: it does not end, or it is unknown how it ended.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the pipes. Call this once, after `stop`."""


class Sandbox(ABC):
    """A kind of sandbox. It has no state: each program runs in a fresh interpreter.

    Args:
        limits: The limits of each program.
    """

    name: str

    def __init__(self, limits: SandboxLimits | None = None) -> None:
        self.limits = SandboxLimits() if limits is None else limits

    @abstractmethod
    def check(self) -> None:
        """Check whether this machine supports it.

        Raises:
            CapabilityError: a required feature is missing; the message names it. Protection is never weakened instead.
        """

    @abstractmethod
    def start(self) -> Guest:
        """Start a fresh interpreter that waits for a program.

        Raises:
            InfrastructureError: it could not be started.
        """
