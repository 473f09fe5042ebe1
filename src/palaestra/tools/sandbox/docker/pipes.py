"""The named pipes between Palaestra and a container on the same machine.

They are in a folder that the container sees until it has opened them; then they are unlinked. A pipe ends when the
process at its other end does, for any reason, so neither side waits for one that has ended.
"""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

INNER_FOLDER = "/channel"
"""The folder of the pipes in a container."""
NAMES = ("life", "status", "requests", "answers", "output")
PREFIX = "palaestra-channel-"


class HostPipes:
    """Palaestra's ends of the pipes.

    Attributes:
        folder: The folder that the container mounts.
        life: For writing: the guard's job. Closing it ends the guard.
        status: For reading: the guard's messages.
        requests: For reading: the program's calls.
        answers: For writing, without blocking: the answers to calls.
        output: For reading: the program's output.

    Args:
        owner: The name of the process that owns them, as a part of file names.
    """

    def __init__(self, owner: str) -> None:
        self._parent = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{owner}-"))
        inner = self._parent / "pipes"
        inner.mkdir(mode=0o755)
        inner.chmod(0o755)  # regardless of the umask: the container has another user, and only the parent is private
        for name in NAMES:
            os.mkfifo(inner / name)
            (inner / name).chmod(0o666)
        self.folder = str(inner)
        # A pipe for writing is opened for both, which does not block.
        self.life, self.answers = (os.open(inner / name, os.O_RDWR | os.O_CLOEXEC) for name in ("life", "answers"))
        self.status, self.requests, self.output = (
            os.open(inner / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            for name in ("status", "requests", "output")
        )
        os.set_blocking(self.answers, False)
        self._open = {self.life, self.status, self.requests, self.answers, self.output}

    def unlink(self) -> None:
        """Remove the pipes' names, once the container has opened them. Repeated calls are allowed."""
        shutil.rmtree(self._parent, ignore_errors=True)

    def end_life(self) -> None:
        """End the guard. Repeated calls are allowed."""
        self._close(self.life)

    def become_blocking(self) -> None:
        """Make reads block, once the other ends are open: before, they would report an end."""
        for descriptor in (self.status, self.requests, self.output):
            os.set_blocking(descriptor, True)

    def close(self) -> None:
        """Close everything. Repeated calls are allowed."""
        for descriptor in list(self._open):
            self._close(descriptor)
        self.unlink()

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            with suppress(OSError):
                os.close(descriptor)
