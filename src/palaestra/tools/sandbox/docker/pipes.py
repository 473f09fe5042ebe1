"""The named pipes between Palaestra and a container on the same machine.

They stand in a folder that the container sees until it has opened them; then they are unlinked. A pipe ends when the
process at its other end does, however that ended, so neither side waits for one that is gone.
"""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

INNER_FOLDER = "/channel"
"""Where a container sees them."""
NAMES = ("life", "status", "requests", "answers", "output")
PREFIX = "palaestra-channel-"


class HostPipes:
    """Palaestra's ends.

    Attributes:
        folder: What the container mounts.
        life: Written: what the guard is to run. It ends the guard when it is closed.
        status: Read: what the guard says.
        requests: Read: the program's calls.
        answers: Written, without blocking: their answers.
        output: Read: what the program prints.

    Args:
        owner: The process that they belong to, as its name for files.
    """

    def __init__(self, owner: str) -> None:
        self._parent = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{owner}-"))
        inner = self._parent / "pipes"
        inner.mkdir(mode=0o755)
        inner.chmod(0o755)  # whatever the umask: the container's user is another one, and only the parent is private
        for name in NAMES:
            os.mkfifo(inner / name)
            (inner / name).chmod(0o666)
        self.folder = str(inner)
        # A pipe for writing is opened for both, which waits for nobody.
        self.life, self.answers = (os.open(inner / name, os.O_RDWR | os.O_CLOEXEC) for name in ("life", "answers"))
        self.status, self.requests, self.output = (
            os.open(inner / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            for name in ("status", "requests", "output")
        )
        os.set_blocking(self.answers, False)
        self._open = {self.life, self.status, self.requests, self.answers, self.output}

    def unlink(self) -> None:
        """Take the pipes' names away, once the container has opened them. Safe to call again."""
        shutil.rmtree(self._parent, ignore_errors=True)

    def end_life(self) -> None:
        """Have the guard end. Safe to call again."""
        self._close(self.life)

    def become_blocking(self) -> None:
        """Let reads wait, once the other ends are open: until then they would report an end."""
        for descriptor in (self.status, self.requests, self.output):
            os.set_blocking(descriptor, True)

    def close(self) -> None:
        """Close everything. Safe to call again."""
        for descriptor in list(self._open):
            self._close(descriptor)
        self.unlink()

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            with suppress(OSError):
                os.close(descriptor)
