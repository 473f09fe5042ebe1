"""The namespaces backend: starts the guard of a program, and ends both."""

import marshal
import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from palaestra.errors import CapabilityError, InfrastructureError
from palaestra.tools.sandbox.contract import CallAnswer, Guest, GuestEnd, Program, Sandbox, SandboxLimits
from palaestra.tools.sandbox.session import run_program

_LAUNCH = Path(__file__).with_name("launch.py")
_SOURCE = Path(__file__).parents[4]
_PATIENCE = 30.0
"""Seconds for a process to start, and for a killed one to end."""
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "TZ": "UTC"}


class NamespaceSandbox(Sandbox):
    """Runs programs in separate Linux namespaces; see the package's text for what is covered.

    Args:
        limits: The limits of each program.
        interpreter: The Python that runs programs. Default: this one.
    """

    name = "namespaces"

    def __init__(self, limits: SandboxLimits | None = None, *, interpreter: str | None = None) -> None:
        super().__init__(limits)
        self._interpreter = sys.executable if interpreter is None else interpreter
        self._checked = False

    def check(self) -> None:
        """Run an empty program, once.

        Raises:
            CapabilityError: the machine lacks a feature; the message names it.
        """
        if self._checked:
            return
        if not sys.platform.startswith("linux"):
            raise _missing(f"Linux (this is {sys.platform})")
        try:
            guest = self._launch()
        except _SetupError as failed:
            raise _missing(str(failed)) from None
        guest.stop()
        guest.close()
        found = run_program(self, Program(code="print('ready')"), _no_calls)
        if (found.output, found.error) != ("ready\n", None):
            raise _missing(f"an interpreter that runs there (it said {found.output!r}, {found.error!r})")
        self._checked = True

    def start(self) -> Guest:
        """Start a fresh interpreter.

        Raises:
            InfrastructureError: it could not be started.
        """
        try:
            return self._launch()
        except _SetupError as failed:
            raise InfrastructureError(f"the sandbox could not be started: {failed}") from None

    def _launch(self) -> "_NamespaceGuest":
        limits = self.limits
        pipes = [os.pipe() for _ in range(3)]
        (requests, requests_in), (answers_out, answers), (output, output_in) = pipes
        inner = [requests_in, answers_out, output_in]
        config = {
            "descriptors": inner,
            "limits": {"cpu_s": limits.cpu_s, "memory_mib": limits.memory_mib, "open_files": limits.open_files},
        }
        try:
            process = subprocess.Popen(  # noqa: S603  our own program
                # Not -I, which would have the interpreter forget the seed of its hashes.
                [self._interpreter, "-P", "-s", "-S", str(_LAUNCH), str(_SOURCE), marshal.dumps(config, 2).hex()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env=_ENVIRONMENT,
                pass_fds=inner,
                start_new_session=True,
                cwd="/",
            )
        except OSError as error:
            _close(requests, answers, output)
            raise _SetupError(f"{self._interpreter} does not start: {error.strerror}") from error
        finally:
            _close(*inner)
        os.set_blocking(answers, False)
        guest = _NamespaceGuest(process, requests, answers, output)
        guest.wait_until_ready()
        return guest


class _SetupError(Exception):
    """A requirement of the sandbox is missing."""


class _NamespaceGuest(Guest):
    """A guard process and the program."""

    def __init__(self, process: "subprocess.Popen[bytes]", requests: int, answers: int, output: int) -> None:
        self._process = process
        self.requests, self.answers, self.output = requests, answers, output
        self._end: GuestEnd | None = None

    def wait_until_ready(self) -> None:
        """Wait until the program is isolated; on failure, the guest is closed.

        Raises:
            _SetupError: a feature is missing.
        """
        said = self._read_line()
        if said == "ready":
            return
        self._kill()
        self.close()
        raise _SetupError(said.removeprefix("missing ") or "a process that says how it goes")

    def stop(self) -> GuestEnd:
        """End the program and its guard."""
        if self._end is None:
            with suppress(OSError):
                self._stdin.close()
            said = self._read_line().split()
            self._kill()
            if len(said) != 3 or said[0] != "end":
                raise InfrastructureError(
                    "the guard of the code was killed, so nobody can say how it ended; run it again"
                )
            status = int(said[1])
            signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
            code = None if signal is not None else os.waitstatus_to_exitcode(status)
            self._end = GuestEnd(signal=signal, exit_code=code, cpu_s=int(said[2]) / 1e6)
        return self._end

    def close(self) -> None:
        """Close the pipes."""
        _close(self.requests, self.answers, self.output)
        self._stdout.close()

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _read_line(self) -> str:
        """The guard's next line; empty if it ends, or sends nothing in time."""
        poll = select.poll()
        poll.register(self._stdout, select.POLLIN)
        if not poll.poll(int(_PATIENCE * 1000)):
            return ""
        return self._stdout.readline().decode("utf-8", "replace").strip()

    def _kill(self) -> None:
        """End the guard; the kernel ends the program with it."""
        with suppress(OSError):
            self._stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_PATIENCE)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _no_calls(_: object) -> CallAnswer:
    raise AssertionError("the program of `check` calls nothing")


def _missing(what: str) -> CapabilityError:
    return CapabilityError(
        f"code cannot be run safely on this machine: the sandbox 'namespaces' misses {what}. It needs Linux on x86_64 "
        "or aarch64 with user namespaces and seccomp filters; use another action format where they are not allowed"
    )
