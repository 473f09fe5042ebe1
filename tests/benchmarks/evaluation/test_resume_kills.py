"""`palaestra eval` that is killed again and again comes to the report of one that was not, byte for byte."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from crash.loops import run, sft_loop
from property.budget import EVALUATION_KILLS, EVALUATION_SHARDS

TESTS = Path(__file__).parents[2]
IMPORTS = os.pathsep.join([str(TESTS), *sys.path])
PROGRAM = """
import gymnasium as gym
from palaestra.benchmarks.evaluation.suite import Cell, Suite
from palaestra.benchmarks.suites import SUITES
from palaestra.cli import main
from worlds.registration import LIBRARY_ID

def library(limit=None, axes=(), worlds=()):
    tasks = gym.make(LIBRARY_ID).unwrapped.task_set.ids("heldout")[:limit]
    cell = Cell(id="heldout", label="held-out tasks", env_id=LIBRARY_ID, tasks=tasks)
    return Suite(name="library", title="the library", cells=(cell,))

SUITES.register("lending", library)
main()
"""


def begun(*arguments: str) -> "subprocess.Popen[bytes]":
    """`palaestra eval`, as a process of its own."""
    environment = {**os.environ, "PYTHONPATH": IMPORTS, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, "-c", PROGRAM, "eval", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process: "subprocess.Popen[bytes]") -> bytes:
    """What a run that nobody kills says."""
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error.decode()
    return out


def played(folder: Path) -> int:
    """How many episodes have been written down."""
    files = [folder / "journal.jsonl", folder / "outcomes.jsonl"]
    return max(path.read_bytes().count(b'"cell":') if path.exists() else 0 for path in files)


def killed_until_done(arguments: tuple[str, ...], folder: Path, *, episodes: int, seed: str) -> list[int]:
    """Kill the command at random moments and start it again, until it has ended; how far it was at each kill."""
    rng = random.Random(seed)  # noqa: S311
    marks: list[int] = []
    while True:
        process = begun(*arguments, "--out", str(folder))
        if len(marks) == EVALUATION_KILLS:
            ended(process)
            return marks
        # A start takes most of the time. So a kill comes a moment after so and so many episodes, also after the last
        # one, while the report is written.
        until = min(episodes, played(folder) + rng.randint(0, max(1, episodes // 4)))
        while played(folder) < until and process.poll() is None:
            time.sleep(0.002)
        try:
            process.wait(rng.choice((0.0, 0.01, 0.05)))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
        if process.returncode == 0:
            return marks
        assert process.returncode == -signal.SIGKILL
        marks.append(played(folder))


def contents(folder: Path) -> dict[str, bytes]:
    """Every file."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def check(arguments: tuple[str, ...], tmp_path: Path, *, episodes: int, seed: str) -> None:
    """Whether a run that is killed comes to what a whole one comes to."""
    whole = tmp_path / "whole"
    ended(begun(*arguments, "--out", str(whole)))
    marks = killed_until_done(arguments, tmp_path / "killed", episodes=episodes, seed=seed)
    assert marks == sorted(marks), "nothing that was written down is lost"
    assert any(0 < mark < episodes for mark in marks), f"some kills came half-way: {marks}"
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    assert {"report.json", "report.html", "outcomes.jsonl", "trajectories.jsonl"} <= set(contents(tmp_path / "killed"))
    lines = map(orjson.loads, (tmp_path / "killed" / "outcomes.jsonl").read_bytes().splitlines())
    keys = [(line["cell"], line["task"], line["sample"]) for line in lines]
    assert len(keys) == len(set(keys)) == episodes
    assert all(line["fault"] is None for line in map(orjson.loads, contents(whole)["outcomes.jsonl"].splitlines()))


@pytest.mark.parametrize("shard", EVALUATION_SHARDS)
def test_agents_that_play_one_by_one(tmp_path: Path, shard: int) -> None:
    arguments = ("random", "--suite", "storefront", "--split", "dev", "--limit", "20", "--samples", "2", "--seed", "3")
    check(arguments, tmp_path, episodes=40, seed=f"random {shard}")


@pytest.mark.parametrize("shard", EVALUATION_SHARDS)
def test_a_policy_of_ours(tmp_path: Path, shard: int) -> None:
    policy = run(sft_loop(), tmp_path / "sft").policy
    (tmp_path / "policy").mkdir()
    policy.save(tmp_path / "policy")
    arguments = (str(tmp_path / "policy"), "--suite", "lending", "--limit", "4", "--samples", "40", "--rows", "4")
    check((*arguments, "--context", "400", "--turn", "24"), tmp_path, episodes=160, seed=f"policy {shard}")
