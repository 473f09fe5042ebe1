"""The session of a running program: requests are answered one at a time, in order, until it ends or is stopped.

A request is one line of JSON, an answer is a length and a marshalled value. Nothing from the program is trusted: a line
that is not a request stops it. A forged request is a call like any other, and the program's own claims have no effect
outside it.
"""

import marshal
import os
import selectors
import time
from datetime import UTC, datetime
from typing import Any, cast

import orjson

from palaestra.errors import InfrastructureError
from palaestra.records import ToolCall
from palaestra.tools.sandbox.contract import (
    AnswerCall,
    CodeResult,
    Guest,
    GuestEnd,
    Program,
    Sandbox,
    SandboxLimits,
    StopCause,
)

_CHUNK = 65_536
_LEAST_SHARE = 0.5
"""The share of its processor time that a killed program must have used to count as killed by the kernel's limit. The
kernel enforces the limit in ticks, which on a loaded machine count more than the time that it reports."""
_MARSHAL = 2
"""The version of the marshal format; every Python 3 reads it."""


def run_program(sandbox: Sandbox, program: Program, answer: AnswerCall) -> CodeResult:
    """Run a program in a fresh interpreter.

    Args:
        sandbox: The sandbox.
        program: The program.
        answer: Runs a call of the program and returns the answer.

    Raises:
        InfrastructureError: the sandbox or `answer` failed.
    """
    guest = sandbox.start()
    session = _Session(guest, sandbox.limits)
    try:
        session.send(_job(program, sandbox.limits))
        session.play(answer)
        end = guest.stop()
        return session.result(end)
    except BaseException:
        guest.stop()
        raise
    finally:
        guest.close()


class _Session:
    """A running program and its messages so far."""

    def __init__(self, guest: Guest, limits: SandboxLimits) -> None:
        self._guest = guest
        self._limits = limits
        self._outbox = bytearray()
        self._inbox = bytearray()
        self._output = bytearray()
        self._cut = False
        self._calls = 0
        self._stopped: StopCause | None = None
        self._done: dict[str, Any] | None = None
        self._left = limits.wall_s

    def send(self, message: dict[str, object]) -> None:
        """Queue a message for the program."""
        data = marshal.dumps(message, _MARSHAL)
        self._outbox += len(data).to_bytes(4, "big") + data

    def play(self, answer: AnswerCall) -> None:
        """Answer the program's requests until it is done, ends or must be stopped."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._guest.requests, selectors.EVENT_READ)
            selector.register(self._guest.output, selectors.EVENT_READ)
            while self._done is None and self._stopped is None:
                if self._exchange(selector):
                    self._read_requests(answer)

    def _exchange(self, selector: selectors.BaseSelector) -> bool:
        """Wait for the program, read its output and write pending answers; returns whether it made a request."""
        writing = self._guest.answers in selector.get_map()
        if bool(self._outbox) != writing:
            if self._outbox:
                selector.register(self._guest.answers, selectors.EVENT_WRITE)
            else:
                selector.unregister(self._guest.answers)
        began = time.monotonic()
        ready = selector.select(max(0.0, self._left))
        self._left -= time.monotonic() - began
        if self._left <= 0:
            self._stopped = "wall"
            return False
        requested = False
        for key, _ in ready:
            if key.fd == self._guest.output:
                if not self._read_output():
                    selector.unregister(key.fd)
            elif key.fd == self._guest.answers:
                self._write_answers()
            elif data := os.read(key.fd, _CHUNK):
                self._inbox += data
                requested = True
            else:
                self._stopped = "died"
        return requested

    def _write_answers(self) -> None:
        try:
            written = os.write(self._guest.answers, self._outbox)
            del self._outbox[:written]
        except BlockingIOError:
            return
        except BrokenPipeError:  # the end of its requests reports this too
            self._outbox.clear()

    def _read_output(self) -> bool:
        """Keep the program's output, up to the limit; returns whether more may follow."""
        data = os.read(self._guest.output, _CHUNK)
        room = self._limits.output_bytes - len(self._output)
        self._cut = self._cut or len(data) > room
        self._output += data[:room]
        return bool(data)

    def _read_requests(self, answer: AnswerCall) -> None:
        while self._done is None and self._stopped is None:
            line, newline, rest = self._inbox.partition(b"\n")
            if len(line) > self._limits.request_bytes:
                self._stopped = "protocol"
            elif newline:
                self._inbox = rest
                self._answer(bytes(line), answer)
            else:
                return

    def _answer(self, line: bytes, answer: AnswerCall) -> None:
        request = _request(line)
        if request is None:
            self._stopped = "protocol"
        elif isinstance(request, dict):
            self._done = request
        elif self._calls == self._limits.calls:
            self._stopped = "calls"
        else:
            self._calls += 1
            given = answer(request)
            if given.ends:
                self._stopped = "ended"
            else:
                self.send({"value": given.value, "refusal": given.refusal, "now": seconds(given.now)})

    def result(self, end: GuestEnd) -> CodeResult:
        """The result of the program, which has ended.

        Raises:
            InfrastructureError: it was ended from outside.
        """
        while self._read_output():
            pass
        error = unreadable = None
        if self._stopped is not None:
            error = self._reason(end)
        elif self._done is not None:
            error, unreadable = (
                _text(self._done.get(key), self._limits.error_chars) for key in ("error", "unreadable")
            )
        if unreadable is not None and self._calls:  # it did run, whatever it claims
            error, unreadable = unreadable, None
        return CodeResult(
            output=self._text(), error=error, unreadable=unreadable, calls=self._calls, stopped=self._stopped
        )

    def _text(self) -> str:
        text = self._output.decode("utf-8", "replace")
        return f"{text}\n(output cut: {self._limits.output_bytes} bytes are shown)" if self._cut else text

    def _reason(self, end: GuestEnd) -> str | None:
        limits = self._limits
        if self._stopped == "died" and end.signal == 9:
            if end.cpu_s < limits.cpu_s * _LEAST_SHARE:
                raise InfrastructureError("a process outside the sandbox, or the system, killed the code; run it again")
            self._stopped = "cpu"
        match self._stopped:
            case "calls":
                return f"the code was stopped: one action makes {limits.calls} calls at most"
            case "wall":
                return f"the code was stopped: it ran longer than {limits.wall_s:g} s"
            case "cpu":
                return f"the code was stopped: it used more than {limits.cpu_s} s of processor time"
            case "protocol":
                return "the code was stopped: it wrote to the channel of its calls, which only the tools' functions use"
            case "died":
                how = f"exit code {end.exit_code}" if end.signal is None else f"signal {end.signal}"
                return f"the code ended its interpreter ({how})"
            case _:
                return None


def _job(program: Program, limits: SandboxLimits) -> dict[str, object]:
    return {
        "code": program.code,
        "tools": dict(program.tools),
        "now": seconds(program.now),
        "seed": program.seed,
        "error_chars": limits.error_chars,
    }


def seconds(moment: datetime) -> float:
    """A naive time in UTC as seconds since 1970."""
    return moment.replace(tzinfo=UTC).timestamp()


def _request(line: bytes) -> ToolCall | dict[str, Any] | None:
    """The call in a line, or the program's final message; `None` if it is neither."""
    try:
        read = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(read, dict):
        return None
    fields = cast("dict[str, Any]", read)
    if fields.keys() == {"error", "unreadable"}:
        return fields
    tool, arguments = fields.get("tool"), fields.get("arguments")
    if fields.keys() != {"tool", "arguments"} or not isinstance(tool, str) or not isinstance(arguments, dict):
        return None
    return ToolCall(tool=tool, arguments=cast("dict[str, Any]", arguments))


def _text(value: object, limit: int) -> str | None:
    """The program's text about its error, which may be forged."""
    if value is None:
        return None
    return value[:limit] if isinstance(value, str) else "the code forged its error"
