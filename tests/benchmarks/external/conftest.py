"""Where benchmarks are installed for the tests, and a toy of our own among them."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import orjson
import pytest

import palaestra.benchmarks.external.env as seam
from outside import TOY, TOY_ID
from palaestra.benchmarks.external import BENCHMARKS
from palaestra.benchmarks.external.worker import Workers
from palaestra.digest import digest

os.environ.setdefault("PALAESTRA_BENCHMARKS", str(Path(__file__).parents[3] / ".benchmarks"))


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    """The toy, installed: played by this interpreter; its processes end with the test."""
    folder = tmp_path / "benchmarks" / TOY.name
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "venv" / "bin" / "python").symlink_to(sys.executable)
    (folder / "installed.json").write_bytes(orjson.dumps({"digest": digest(TOY.installation), "checkout": None}))
    monkeypatch.setitem(BENCHMARKS._entries, TOY.name, TOY)  # as others register theirs
    gym.register(  # pyright: ignore[reportUnknownMemberType]
        TOY_ID,
        entry_point="palaestra.benchmarks.external.env:ExternalEnv",
        kwargs={"env_id": TOY_ID},
        disable_env_checker=True,
        order_enforce=False,
    )
    monkeypatch.setenv("PALAESTRA_BENCHMARKS", str(tmp_path / "benchmarks"))
    workers = Workers(most=1)
    monkeypatch.setattr(seam, "WORKERS", workers)
    yield workers
    workers.close()
    del gym.registry[TOY_ID]
