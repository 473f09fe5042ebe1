"""The process of one task, from outside: it may hang, or be ended by the code that it runs."""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

_PROGRAM = Path(__file__).with_name("world.py")
_SHOWN = 500
"""Characters of its last words that an error quotes."""


class ProcessEnded(Exception):  # noqa: N818  it is no error: code may end the process that it runs in
    """The process is gone."""


class AppWorldProcess:
    """A task under way in a process of its own.

    Args:
        root: The user's folder, of which `data` is read. What is written goes to a folder of the process's own.
        task: Which task.

    Raises:
        RuntimeError: it does not start, as where the data are incomplete; its last words are in the message.
    """

    def __init__(self, root: Path, task: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="appworld-"))
        (self._folder / "data").symlink_to(root.resolve() / "data")
        own = {"APPWORLD_ROOT": str(self._folder), "APPWORLD_CACHE": str(self._folder), "IPYTHONDIR": str(self._folder)}
        with (self._folder / "stderr").open("wb") as said:
            self._process = subprocess.Popen(  # noqa: S603  our own program
                [sys.executable, "-s", "-P", "-B", str(_PROGRAM), task],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                cwd=self._folder,
                env={**os.environ, **own},
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in: IO[bytes] = self._process.stdin
        self._out: IO[bytes] = self._process.stdout
        try:
            self._answer(None)
        except ProcessEnded:
            last = (self._folder / "stderr").read_text(errors="replace").strip()[-_SHOWN:]
            self.close()
            raise RuntimeError(f"AppWorld cannot begin {task} with the data of {root}: {last}") from None

    def ask(self, do: str, *, seconds: float | None = None, **request: Any) -> Any:
        """Have something done. Any: JSON.

        Args:
            do: What.
            seconds: After which the process is ended, if there is such a limit.
            request: With what.

        Raises:
            Ended: the process is gone, or was ended for taking too long.
        """
        try:
            self._in.write(json.dumps({"do": do, **request}).encode() + b"\n")
            self._in.flush()
        except (OSError, ValueError):
            raise ProcessEnded("it was over before") from None
        return self._answer(seconds)

    def _answer(self, seconds: float | None) -> Any:
        if not select.select([self._out], [], [], seconds)[0]:
            self._end()
            raise ProcessEnded(f"it did not answer in {seconds:g} s, and was ended")
        line = self._out.readline()
        if not line:
            self._end()
            raise ProcessEnded(f"it ended with {self._process.returncode}")
        return json.loads(line)

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End it, and remove what it wrote."""
        self._end()
        for stream in (self._in, self._out):
            try:
                stream.close()
            except OSError:  # what was not yet written has no reader any more
                continue
        shutil.rmtree(self._folder, ignore_errors=True)
