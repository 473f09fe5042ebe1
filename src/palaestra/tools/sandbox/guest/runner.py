"""Runs one program: reads it from the channel, compiles it, lets it call tools, and reports how it ended."""

import os
import sys
from types import CodeType, ModuleType, TracebackType

from palaestra.tools.sandbox.guest.channel import Channel, ToolError
from palaestra.tools.sandbox.guest.virtual import ProgramClock, SeededBytes

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing it takes longer than running most programs
    from collections.abc import Callable

SOURCE = "<action>"
_OWN = "palaestra"


def run(requests: int, answers: int) -> None:
    """Run the program from the channel, and exit the interpreter."""
    channel = Channel(requests, answers)
    job = channel.receive()
    limit: int = job["error_chars"]
    _connect(channel)
    clock = ProgramClock(job["now"])
    clock.install()
    channel.set_clock = clock.set
    SeededBytes(job["seed"]).install()
    try:
        compiled: CodeType = compile(job["code"], SOURCE, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        channel.finish(unreadable=_line_of(error)[:limit])
    else:
        report = _execute(compiled, channel, job["tools"], job["code"].split("\n"))
        channel.finish(error=None if report is None else report[-limit:])
    os._exit(0)  # functions that the program registered for exit are not run


def _connect(channel: Channel) -> None:
    """Set up the program's streams, and remove what it cannot use."""
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115  it stays open
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = open(  # type: ignore[misc]  # noqa: SIM115
        1, "w", encoding="utf-8", errors="replace", buffering=1
    )
    stdout = sys.stdout

    def flush() -> None:
        if not stdout.closed:
            stdout.flush()

    channel.flush = flush
    for name in [name for name in sys.modules if name.partition(".")[0] == _OWN]:
        del sys.modules[name]


def _execute(compiled: CodeType, channel: Channel, tools: dict[str, str], lines: list[str]) -> str | None:
    """Run the program; returns its last error, if it ended with one."""
    main = ModuleType("__main__")
    main.__dict__.update({name: _function(channel, name, text) for name, text in tools.items()})
    main.__dict__["ToolError"] = ToolError
    ToolError.__module__ = "__main__"
    sys.modules["__main__"] = main
    try:
        exec(compiled, main.__dict__)  # noqa: S102  that is what it is for
    except SystemExit as end:
        return None if end.code in (None, 0) else f"SystemExit: {_describe_error(end)}"
    except BaseException as error:  # whatever the program raises becomes its error
        return _report(error, lines)
    return None


def _function(channel: Channel, name: str, text: str) -> "Callable[..., object]":
    def call(*positional: object, **arguments: object) -> object:
        if positional:
            raise TypeError(f"{name}() takes its arguments by name, such as {name}(order_id='ORD-1')")
        return channel.call(name, arguments)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "__main__"
    call.__doc__ = text
    return call


def _report(error: BaseException, lines: list[str]) -> str:
    """The place of an error in the program, and its text."""
    places: list[str] = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == SOURCE:
            number = trace.tb_lineno
            text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
            places.append(f"line {number}, in {trace.tb_frame.f_code.co_name}: {text[:200]}")
        trace = trace.tb_next
    if len(places) > 6:
        places[3:-3] = [f"({len(places) - 6} more)"]
    return "\n".join([*places, _line_of(error)])


def _line_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {_describe_error(error)}"


def _describe_error(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # the program's own classes may raise anything
        return "(its message cannot be shown)"
