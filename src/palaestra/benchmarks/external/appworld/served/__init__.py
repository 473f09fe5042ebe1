"""AppWorld as it is played: runs where its package is installed, on the data of the user's folder."""

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.appworld.served.episode import AppWorldEpisode
from palaestra.benchmarks.external.appworld.served.layout import AppWorldTask, tasks
from palaestra.benchmarks.external.protocol import WireTask

_TURNS = 50
"""A budget of ours: the package's own limit is 1,000 executions."""


class AppWorld:
    """The tasks of a folder.

    Args:
        root: What upstream calls `APPWORLD_ROOT`: the folder that holds `data`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._tasks = {f"difficulty_{task.difficulty}/{task.id}": task for task in tasks(root)}

    def version(self) -> str:
        """Of the package; each of its tasks says which data it is of, and the package refuses others."""
        return version("appworld")

    def tasks(self) -> list[WireTask]:
        """Every task."""
        return [_describe(id, task) for id, task in self._tasks.items()]

    def begin(self, task: str, seed: int) -> AppWorldEpisode:
        """A task; the package's own seed stays as it is."""
        del seed
        return AppWorldEpisode(self._root, self._tasks[task])


def _describe(id: str, task: AppWorldTask) -> WireTask:
    return {
        "id": id,
        "category": id.partition("/")[0],
        "split": task.split,
        "max_turns": _TURNS,
        "gold_calls": 0 if task.solution is None else 1,
        "prompt": task.instruction,
    }


def _unpack(venv: Path) -> None:
    """Have the package unpack its apps, once: they come with it in one encrypted file, and need no network."""
    done = venv / "appworld-unpacked"
    with (venv / "appworld-unpacked.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes may be the first
        if done.exists():
            return
        with tempfile.TemporaryDirectory() as place:  # it unpacks its tests as well, which nobody needs
            subprocess.run(
                [sys.executable, "-c", "from appworld.install import install_package; install_package()"],
                env={**os.environ, "APPWORLD_ROOT": place, "APPWORLD_CACHE": place},
                cwd=place,
                check=True,
            )
        done.touch()


def bench(options: Mapping[str, Any]) -> AppWorld:
    """The benchmark."""
    _unpack(Path(sys.prefix))
    return AppWorld(Path(options.get("data") or options["checkout"]))
