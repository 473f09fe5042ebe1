"""Every error that Palaestra raises, in one tree.

    PalaestraError
    ├── UnknownNameError (LookupError)    a name that is not registered; the message has near names
    ├── CapabilityError (ValueError)      a switch asks for what the world or task does not declare
    ├── DefinitionError (TypeError)       a tool, row or schema is declared incorrectly
    ├── PackError (ImportError)           a world pack cannot be read or loaded, or two have one id
    ├── BlueprintError (ValueError)       a blueprint of a world breaks rules; one line for each
    │   └── ExpressionError               an expression of it cannot be read
    ├── TaskError (ValueError)            a task file or family breaks a rule
    │   ├── DrawError                     nothing in the world meets a family's conditions
    │   └── ContaminationError            a training task is one that policies are measured on
    ├── RubricError (ValueError)          a rubric is inconsistent, or a criterion itself crashed
    ├── RowError (LookupError)            a write that does not fit the present rows
    │   └── RowMissingError               no row has this key
    ├── ToolRefusal (ValueError)          a tool refuses a call; the agent reads the reason
    ├── ActionError (ValueError)          the argument of `step` is not an action
    ├── EpisodeOverError (RuntimeError)   `step` after the end, or before `reset`
    ├── EnvironmentCheckError (AssertionError)  an environment breaks the contract of `check_env`
    ├── RecordError (ValueError)          a stored file cannot be read
    ├── CheckpointError (ValueError)      a checkpoint's parts are missing or do not fit together
    ├── StorageError (OSError)            a file could not be written; nothing was lost
    ├── ConfigError (ValueError)          a file of settings breaks a rule
    ├── DivergedError (ArithmeticError)   training reached a loss or gradient that is not a finite number
    ├── StoppedError (RuntimeError)       training was asked to stop, and has saved
    ├── ReplayError (RuntimeError)        a recorded run cannot be replayed exactly
    ├── RequestError (ValueError)         a request to a server of worlds cannot be read
    ├── AccessError (PermissionError)     a key is missing, wrong or expired
    │   └── KeyScopeError                 a key lacks a scope that the request needs
    ├── SessionError (LookupError)        the caller has no such served session, snapshot or task
    ├── RequestConflictError (ValueError) a request key stands for another request, or is too old
    ├── LimitError (RuntimeError)         a limit of a server is reached; the caller may try again later
    └── InfrastructureError (RuntimeError)  the world failed, not the agent; never a reward
        ├── EngineError                   an engine, which samples tokens, failed
        ├── ServerError (ConnectionError)  a remote server could not be reached, or failed
        ├── ReplyError (ValueError)       a server refused a request, or its reply breaks the protocol
        ├── SessionLostError (LookupError)  a served session ended: lease, shutdown or restart
        └── WaitError (TimeoutError)      something did not arrive in time; the message says who waited for what

A message names the value, the rule and what to do. Each error is also one of the standard library's, and can be
pickled.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class PalaestraError(Exception):
    """The root: catch this to catch everything that Palaestra raises on purpose."""


class UnknownNameError(PalaestraError, LookupError):
    """A name that is not registered."""

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str], hint: str = "") -> "UnknownNameError":
        """The error for `name`, with near names if there are any.

        Args:
            kind: The kind of thing that was looked for, as a noun: "task", "tool".
            name: The name that was given.
            known: All valid names.
            hint: How to list the valid names.
        """
        names = sorted(known)
        near = get_close_matches(name, names, n=3, cutoff=0.5)
        if near:
            way_out = f"did you mean {' or '.join(repr(n) for n in near)}?"
        elif names and len(names) <= 12:
            way_out = f"there are: {', '.join(names)}"
        else:
            way_out = f"{len(names)} are known"
        return cls(f"unknown {kind} {name!r}; {way_out}{' ' if hint else ''}{hint}")


class CapabilityError(PalaestraError, ValueError):
    """A switch, split, axis, trait or temper that a world or task does not declare."""

    @classmethod
    def of(cls, world: str, wanted: str, kind: str, known: Iterable[str]) -> "CapabilityError":
        """The error for something that `world` does not have.

        Args:
            world: The world's id.
            wanted: What was asked for, as it was written: "handbook=3".
            kind: Its kind, in the plural.
            known: Everything of that kind that the world has.
        """
        return cls(f"{wanted}: the world {world!r} does not declare it; its {kind}: {', '.join(known) or 'none'}")


class DefinitionError(PalaestraError, TypeError):
    """A tool, a row type or a schema is declared in a way that cannot work."""


class PackError(PalaestraError, ImportError):
    """A world pack cannot be read or loaded, or shares its id with another one."""


class PackWarning(UserWarning):
    """An installed package offers task families that cannot be loaded."""


class BlueprintError(PalaestraError, ValueError):
    """A blueprint of a world breaks rules; the message has a line for each, with its place and what to do."""


class ExpressionError(BlueprintError):
    """An expression of a blueprint cannot be read; the message says what to write."""


class TaskError(PalaestraError, ValueError):
    """A task file or a task family breaks a rule."""


class DrawError(TaskError):
    """Nothing in the world meets a family's conditions."""


class ContaminationError(TaskError):
    """A training task is one that policies are measured on: by its split, or word for word."""


class RubricError(PalaestraError, ValueError):
    """A rubric is inconsistent, or one of its criteria crashed. This is a fault of the grader, never a score."""


class RowError(PalaestraError, LookupError):
    """A write does not fit the present rows: a key that exists, a stale row, a reference to a missing row."""


class RowMissingError(RowError):
    """No row has this key. If a tool raises it, the agent gets the answer `not_found`."""

    @classmethod
    def of(cls, kind: str, key: str) -> "RowMissingError":
        """The error for the key `key` of a row class named `kind`, in words."""
        words = "".join(f" {c.lower()}" if c.isupper() else c for c in kind).strip()
        return cls(f"there is no {words} {key!r}")


class ToolRefusal(PalaestraError, ValueError):  # noqa: N818  it is an answer to the agent, not a fault
    """A tool refuses a call. The rows stay unchanged, and the agent reads the code and the message.

    Attributes:
        code: A short stable word, such as "not_found" or "forbidden".
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class ActionError(PalaestraError, ValueError):
    """The argument of `step` is neither a call, nor a list of calls, nor text."""


class EpisodeOverError(PalaestraError, RuntimeError):
    """`step` was called after the end of the episode, or before the first `reset`."""


class EnvironmentCheckError(PalaestraError, AssertionError):
    """An environment breaks the contract that `check_env` checks."""


class RecordError(PalaestraError, ValueError):
    """A stored file cannot be read; the message names the file, the line and the rule."""


class CheckpointError(PalaestraError, ValueError):
    """Parts of a checkpoint are missing, or do not fit each other or the request."""


class StorageError(PalaestraError, OSError):
    """A file could not be written. The previous content is unchanged."""

    def __str__(self) -> str:
        return self.strerror or super().__str__()


class InfrastructureError(PalaestraError, RuntimeError):
    """The world failed, not the agent. It ends the episode without a reward."""


class EngineError(InfrastructureError):
    """An engine failed, or was closed, while it was needed."""


class ServerError(InfrastructureError, ConnectionError):
    """A remote server could not be reached, failed or was overloaded on every attempt."""


class ReplyError(InfrastructureError, ValueError):
    """A server refused a request, or its reply breaks the protocol."""


class WaitError(InfrastructureError, TimeoutError):
    """Something did not arrive in time. The message says who waited, for what, and for how long."""


class ConfigError(PalaestraError, ValueError):
    """A file of settings breaks a rule; the message names the file, the setting and the rule."""


class DivergedError(PalaestraError, ArithmeticError):
    """Training reached a loss or a gradient that is not a finite number. The weights of the previous step are kept."""


class StoppedError(PalaestraError, RuntimeError):
    """A signal stopped training, which has saved; the same command resumes it.

    Attributes:
        signal: The number of the signal.
    """

    def __init__(self, message: str, number: int = 15) -> None:
        super().__init__(message)
        self.signal = number

    def __reduce__(self) -> tuple[type["StoppedError"], tuple[str, int]]:
        return type(self), (str(self), self.signal)


class ReplayError(PalaestraError, RuntimeError):
    """A recorded run cannot be replayed exactly: something that the record depends on has changed."""


class RequestError(PalaestraError, ValueError):
    """A request to a server of worlds cannot be read; the message names the field and the rule."""


class AccessError(PalaestraError, PermissionError):
    """A key is missing, wrong or expired, or a request comes from an origin that gets no answer."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class KeyScopeError(AccessError):
    """A key is valid but lacks a scope that the request needs."""


class SessionError(PalaestraError, LookupError):
    """The caller has no session, snapshot, world or task of this name on the server."""


class RequestConflictError(PalaestraError, ValueError):
    """A request key was used for another request, or its answer is no longer kept; the request was not run."""


class LimitError(PalaestraError, RuntimeError):
    """A limit of the server is reached: rate, sessions, snapshots or bytes.

    Attributes:
        retry_after: Seconds after which the same request may succeed; `None` if time alone does not help.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[type["LimitError"], tuple[str, float | None]]:
        return type(self), (str(self), self.retry_after)


class SessionLostError(InfrastructureError, LookupError):
    """A served session ended before its episode did: its lease expired, or its server stopped. The episode is void."""
