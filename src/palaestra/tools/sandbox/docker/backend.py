"""The Docker backend: starts the container of a program, and ends both."""

import marshal
import os
import select
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from palaestra.errors import CapabilityError, InfrastructureError
from palaestra.tools.sandbox.contract import CallAnswer, Guest, GuestEnd, Program, Sandbox, SandboxLimits
from palaestra.tools.sandbox.docker import owners
from palaestra.tools.sandbox.docker.engine_error import DockerEngineError
from palaestra.tools.sandbox.docker.hardening import container_config
from palaestra.tools.sandbox.docker.pipes import HostPipes
from palaestra.tools.sandbox.session import run_program

if TYPE_CHECKING:  # the SDK belongs to the extra `docker`
    from palaestra.tools.sandbox.docker.engine import DockerEngine

IMAGE = "palaestra-sandbox:1"
"""The image for programs; its number changes with the content of `image/`."""
_IMAGE_FOLDER = Path(__file__).with_name("image")
_PATIENCE = 60.0
"""Seconds for a container to start, and to end."""
_LOOK = 5.0
"""Seconds without a message after which the engine is asked about a container."""
_PACKAGE = "palaestra.tools.sandbox"
_MODULES = (
    "guest.channel", "guest.virtual", "guest.runner", "namespaces.libc", "namespaces.privileges", "namespaces.seccomp",
    "namespaces.view", "docker.guard",
)  # fmt: skip
"""The modules of the guard, each after those that it imports."""


class DockerSandbox(Sandbox):
    """Runs programs in separate Docker containers; see the package's text for what is covered.

    Args:
        limits: The limits of each program.
        image: The image for programs.
    """

    name = "docker"

    def __init__(self, limits: SandboxLimits | None = None, *, image: str = IMAGE) -> None:
        super().__init__(limits)
        self._image = image
        self._checked = False

    def check(self) -> None:
        """Remove the remains of killed processes, and run an empty program, once.

        Raises:
            CapabilityError: the SDK, the engine, the image or a feature is missing; the message names it.
        """
        if self._checked:
            return
        try:
            self._check_engine()
            remove_orphans()
            guest = self._launch()
        except DockerEngineError as failed:
            raise _missing(str(failed)) from None
        guest.stop()
        guest.close()
        found = run_program(self, Program(code="print('ready')"), _no_calls)
        if (found.output, found.error) != ("ready\n", None):
            raise _missing(f"an interpreter that runs there (it said {found.output!r}, {found.error!r})")
        self._checked = True

    def start(self) -> Guest:
        """Start a fresh interpreter in a fresh container.

        Raises:
            InfrastructureError: it could not be started.
        """
        try:
            return self._launch()
        except DockerEngineError as failed:
            raise InfrastructureError(f"the sandbox could not be started: {failed}") from None

    def _check_engine(self) -> None:
        engine = _engine()
        if not any("seccomp" in option for option in engine.security_options()):
            raise DockerEngineError("a Docker Engine that filters system calls (seccomp)")
        if not engine.has_image(self._image):
            raise DockerEngineError(
                f"the image {self._image!r}; build it: docker build -t {self._image} {_IMAGE_FOLDER}"
            )

    def _launch(self) -> "_DockerGuest":
        owner = owners.own_name()
        pipes = HostPipes(owner)
        try:
            config = container_config(
                self._image,
                ["-P", "-s", "-S", "-c", _source("docker.boot")],
                folder=pipes.folder,
                limits=self.limits,
                labels={owners.OWNER: owner},
            )
            _send(pipes.life, self.limits)
            guest = _DockerGuest(_engine().start_container(config), pipes)
        except BaseException:
            pipes.close()
            raise
        guest.wait_until_ready()
        return guest


class _DockerGuest(Guest):
    """A container: its guard and the program."""

    def __init__(self, container: str, pipes: HostPipes) -> None:
        self._container = container
        self._pipes = pipes
        self.requests, self.answers, self.output = pipes.requests, pipes.answers, pipes.output
        self._end: GuestEnd | None = None
        self._heard = bytearray()

    def wait_until_ready(self) -> None:
        """Wait until the program is isolated; on failure, the guest is closed.

        Raises:
            DockerEngineError: a feature is missing.
        """
        said, engine, began = "", _engine(), time.monotonic()
        while not said and time.monotonic() - began < _PATIENCE:
            said = self._read_line(_LOOK)
            if not said and not engine.is_running(self._container):
                break
        if said == "ready":
            self._pipes.become_blocking()
            self._pipes.unlink()
            return
        self._pipes.end_life()
        engine.remove_container(self._container)
        self.close()
        raise DockerEngineError(said.removeprefix("missing ") or "a container that says how it goes")

    def stop(self) -> GuestEnd:
        """End the program and its container, which the engine removes."""
        if self._end is None:
            self._pipes.end_life()
            said = self._read_line().split()
            if len(said) != 3 or said[0] != "end":
                _engine().remove_container(self._container)
                raise InfrastructureError(
                    "the container of the code was killed, so nobody can say how it ended; run it again"
                )
            status = int(said[1])
            signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
            code = None if signal is not None else os.waitstatus_to_exitcode(status)
            self._end = GuestEnd(signal=signal, exit_code=code, cpu_s=int(said[2]) / 1e6)
        return self._end

    def close(self) -> None:
        """Close the pipes."""
        self._pipes.close()

    def _read_line(self, patience: float = _PATIENCE) -> str:
        """The guard's next line; empty if it ends, or sends nothing in time."""
        poll = select.poll()
        poll.register(self._pipes.status, select.POLLIN)
        while b"\n" not in self._heard:
            if not poll.poll(int(patience * 1000)):
                return ""
            part = os.read(self._pipes.status, 4096)
            if not part:
                return ""
            self._heard += part
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode("utf-8", "replace").strip()


def remove_orphans() -> None:
    """Remove containers and pipes of processes that have ended."""
    engine = _engine()
    for container, owner in engine.labelled_containers(owners.OWNER).items():
        if owners.is_orphaned(owner):
            engine.remove_container(container)
    owners.remove_orphaned_folders()


def _send(life: int, limits: SandboxLimits) -> None:
    """Write the job for the guard into a pipe, which buffers it."""
    inner = {"cpu_s": limits.cpu_s, "memory_mib": limits.memory_mib, "open_files": limits.open_files}
    data = marshal.dumps({"sources": _sources(), "limits": inner}, 2)
    os.set_blocking(life, False)
    assert os.write(life, len(data).to_bytes(4, "big") + data) == len(data) + 4, "the guard's source fits into a pipe"


@lru_cache(maxsize=1)
def _sources() -> Sequence[tuple[str, str | None]]:
    """The modules of the guard; packages come first."""
    parts = _PACKAGE.split(".")
    folders = [".".join(parts[: n + 1]) for n in range(len(parts))]
    folders += [f"{_PACKAGE}.{name}" for name in ("guest", "namespaces", "docker")]
    return [(name, None) for name in folders] + [(f"{_PACKAGE}.{name}", _source(name)) for name in _MODULES]


@lru_cache(maxsize=16)
def _source(module: str) -> str:
    return Path(__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")


def _engine() -> "DockerEngine":
    """The Docker engine.

    Raises:
        DockerEngineError: it is not available.
    """
    try:
        from palaestra.tools.sandbox.docker.engine import DockerEngine  # noqa: PLC0415  the SDK is an extra
    except ModuleNotFoundError as error:
        raise DockerEngineError(f"the Python package {error.name!r}; pip install 'palaestra[docker]'") from None
    return DockerEngine()


def _no_calls(_: object) -> CallAnswer:
    raise AssertionError("the program of `check` calls nothing")


def _missing(what: str) -> CapabilityError:
    return CapabilityError(
        f"code cannot be run safely on this machine: the sandbox 'docker' misses {what}. It needs a Docker Engine on "
        "this machine, with seccomp, and its image (docs/sandbox.md); the sandbox 'namespaces' needs no engine"
    )
