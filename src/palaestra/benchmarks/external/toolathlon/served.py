"""Toolathlon as it is played, over a checkout in its documented layout.

A task is a folder `tasks/finalpool/TASK/` with `task_config.json`, `docs/task.md`, `initial_workspace`,
`groundtruth_workspace`, `preprocess/main.py` and `evaluation/main.py`. Its programs are run as its authors run them: as
modules, from the checkout, by the checkout's own interpreter where it has one. An evaluation that ends with 0 passes.
One that cannot be imported, or hangs, is a fault and no failure.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.protocol import (
    WireCall,
    WireOpening,
    WireReply,
    WireTask,
    WireTurn,
    WireVerdict,
    reply,
    single,
)
from palaestra.benchmarks.external.toolathlon.workspace import TOOLS, Workspace

LOCAL = frozenset({"filesystem", "terminal", "excel", "word", "pptx", "pdf-tools", "memory"})
"""The benchmark's servers that need nothing but files."""
_LAUNCH = "2025-01-01 12:00:00 Wednesday"
"""When a task is said to begin: always then, so that an episode is the same every time."""
_SECONDS = 90
"""That a task's program may take."""


class Toolathlon:
    """The tasks of a checkout that need no service."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        own = checkout / ".venv" / "bin" / "python"
        self.python = str(own) if own.exists() else sys.executable
        self._folders = {
            f"finalpool/{folder.name}": folder
            for folder in sorted((checkout / "tasks" / "finalpool").iterdir())
            if (folder / "task_config.json").is_file() and _servers(folder) <= LOCAL
        }

    def version(self) -> str:
        """Of the checkout, as git knows it."""
        head = self.checkout / ".git" / "HEAD"
        return head.read_text().strip() if head.is_file() else "a folder without git's records"

    def tasks(self) -> list[WireTask]:
        """Those that need files alone."""
        return [
            {
                "id": id,
                "category": "finalpool",
                "split": "test",
                "max_turns": 100,
                "gold_calls": len(list((folder / "groundtruth_workspace").rglob("*"))),
                "prompt": _prompt(folder),
            }
            for id, folder in self._folders.items()
        ]

    def begin(self, task: str, seed: int) -> "ToolathlonEpisode":
        """A fresh copy of the task's workspace; nothing is drawn."""
        del seed
        return ToolathlonEpisode(self, self._folders[task])

    def run(self, folder: Path, program: str, **told: Path | str) -> "subprocess.CompletedProcess[str]":
        """Run a program of a task's.

        Raises:
            RuntimeError: it could not be imported.
            subprocess.TimeoutExpired: it took too long.
        """
        module = f"tasks.finalpool.{folder.name}.{program}.main"
        words = [word for name, value in told.items() for word in (f"--{name}", str(value))]
        done = subprocess.run(  # noqa: S603  the benchmark's own program
            [self.python, "-m", module, *words],
            cwd=self.checkout,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
        said = f"{done.stdout}\n{done.stderr}"
        if done.returncode and ("import error" in said or "ModuleNotFoundError" in said):
            raise RuntimeError(f"{module} cannot be imported; run `uv sync` in {self.checkout}: {said.strip()[-500:]}")
        return done


def _servers(folder: Path) -> set[str]:
    config: Any = json.loads((folder / "task_config.json").read_text())
    return set(config.get("needed_mcp_servers") or ["one that it does not name"])


def _prompt(folder: Path) -> str:
    return (folder / "docs" / "task.md").read_text().strip()


class ToolathlonEpisode:
    """One episode."""

    def __init__(self, bench: Toolathlon, folder: Path) -> None:
        self._bench, self._folder = bench, folder
        self._place = Path(tempfile.mkdtemp(prefix="toolathlon-"))
        root = self._place / "workspace"
        if (folder / "initial_workspace").is_dir():
            shutil.copytree(folder / "initial_workspace", root, symlinks=True)
        root.mkdir(exist_ok=True)
        if (folder / "preprocess" / "main.py").is_file():
            done = bench.run(folder, "preprocess", agent_workspace=root, launch_time=_LAUNCH)
            if done.returncode:
                raise RuntimeError(f"the preparation of {folder.name} failed: {done.stderr.strip()[-500:]}")
        self._workspace = Workspace(root)
        self._begun = [path.relative_to(self._workspace.root) for path in self._workspace.files()]
        self._state = self._workspace.state()

    def opening(self) -> WireOpening:
        """The task, and the tools."""
        system = "You work on the files of a workspace, with the tools that you are given. Call finish when it is done."
        return {
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": _prompt(self._folder)},
            ],
            "tools": TOOLS,
            "criteria": [{"id": "solved", "text": "its evaluation passed", "kind": "expect", "points": 100}],
            "prose": False,
        }

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Use the tools."""
        del prose
        results = [self._workspace.call(call["tool"], call["arguments"]) for call in calls]
        self._state = self._workspace.state()
        return reply(results)

    def verdict(self, end: str) -> WireVerdict:
        """What the task's own evaluation says of a copy of the workspace."""
        with tempfile.TemporaryDirectory(dir=self._place) as place:
            copy, log = Path(place) / "workspace", Path(place) / "log.json"
            shutil.copytree(self._workspace.root, copy, symlinks=True)
            log.write_text(json.dumps({"messages": [], "status": end}))
            truth = self._folder / "groundtruth_workspace"
            done = self._bench.run(
                self._folder,
                "evaluation",
                agent_workspace=copy,
                groundtruth_workspace=truth,
                res_log_file=log,
                launch_time=_LAUNCH,
            )
            said = done.stdout.replace(place, "").strip()[-300:]
        passed = done.returncode == 0
        return single(points=100 * passed, passed=passed, reason=said or f"it ended with {done.returncode}")

    def gold(self) -> list[WireTurn] | None:
        """Make the workspace what the task's own one is; `None` where that holds more than text."""
        truth = self._folder / "groundtruth_workspace"
        wanted = sorted(path for path in truth.rglob("*") if path.is_file())
        turns = list[WireTurn]()
        try:
            for path in wanted:
                content = path.read_bytes().decode()
                turns.append(_turn("write_file", path=str(path.relative_to(truth)), content=content))
        except UnicodeDecodeError:
            return None
        kept = {path.relative_to(truth) for path in wanted}
        turns += [_turn("delete", path=str(path)) for path in self._begun if path not in kept]
        return turns or None

    def legal(self, draw: int) -> WireTurn | None:
        """Look at some file, or list them."""
        files = self._workspace.files()
        if not files or draw % 4 == 0:
            return _turn("list_files", path=".")
        return _turn("read_file", path=str(files[draw % len(files)].relative_to(self._workspace.root)))

    def state(self) -> str:
        """A hash of all files."""
        return self._state

    def close(self) -> None:
        """Remove the copy."""
        shutil.rmtree(self._place, ignore_errors=True)


def _turn(name: str, **arguments: str) -> WireTurn:
    return {"calls": [{"tool": name, "arguments": dict(arguments)}], "prose": ""}


def bench(options: Mapping[str, Any]) -> Toolathlon:
    """The benchmark."""
    return Toolathlon(Path(options["checkout"]))
