"""A soak that is killed goes on with what has not passed, and says what it did."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from soak import code_digest, read_log, summary

TESTS = Path(__file__).parent
CONFTEST = """
from pathlib import Path
from soak import Soak

def pytest_configure(config):
    here = Path(__file__).parent
    config.pluginmanager.register(Soak(config, log=here / "log.jsonl", code=(here / "code").read_text()))
"""
CASES = """
import os, signal
from pathlib import Path

def test_passes():
    pass

def test_fails_until_it_is_mended():
    assert Path(__file__).with_name("mended").exists()

def test_is_killed_the_first_time():
    first = Path(__file__).with_name("killed")
    if not first.exists():
        first.touch()
        os.kill(os.getpid(), signal.SIGKILL)

def test_comes_after():
    pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_cases.py").write_text(CASES)
    (tmp_path / "code").write_text("1")
    return tmp_path


def soak(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *options]
    return subprocess.run(
        [*command, str(folder)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )


def outcomes(folder: Path) -> list[tuple[str, str]]:
    return [(line["test"].rpartition("::")[2], line["outcome"]) for line in read_log(folder / "log.jsonl")[1]]


def test_a_soak_that_was_killed_runs_what_has_not_passed_and_other_code_begins_anew(folder: Path) -> None:
    assert soak(folder).returncode == -signal.SIGKILL
    assert outcomes(folder) == [("test_passes", "passed"), ("test_fails_until_it_is_mended", "failed")]
    (folder / "mended").touch()
    with (folder / "log.jsonl").open("a") as log:
        log.write('{"test": "cut o')
    again = soak(folder, "-n", "2")
    assert again.returncode == 0, again.stdout
    assert "3 passed" in again.stdout
    assert sorted(name for name, outcome in outcomes(folder) if outcome == "passed") == [
        "test_comes_after",
        "test_fails_until_it_is_mended",
        "test_is_killed_the_first_time",
        "test_passes",
    ]
    done = soak(folder)
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "4 deselected" in done.stdout
    (folder / "code").write_text("2")
    anew = soak(folder)
    assert "4 passed" in anew.stdout
    assert len(outcomes(folder)) == 4
    assert (folder / "log.previous.jsonl").exists()


def test_a_summary_counts_the_last_outcome_of_each_case_and_no_line_that_was_cut_off(tmp_path: Path) -> None:
    lines = [
        {"code": "abc"},
        {"test": "a.py::f[1]", "outcome": "failed", "seconds": 1.0},
        {"test": "a.py::f[1]", "outcome": "passed", "seconds": 2.0},
        {"test": "a.py::f[2]", "outcome": "passed", "seconds": 3.0},
        {"test": "a.py::g", "outcome": "failed", "seconds": 4.0},
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + '{"test": "a.py::h", "outc')
    assert list(summary(log)) == [
        "Code `abc`.",
        "",
        "| test | passed | failed | seconds |",
        "|---|---:|---:|---:|",
        "| `a.py::f` | 2 | 0 | 5 |",
        "| `a.py::g` | 0 | 1 | 4 |",
        "| all | 2 | 1 | 9 |",
    ]


def test_the_digest_of_the_code_changes_with_a_file_and_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("1")
    first = code_digest(tmp_path)
    (tmp_path / "src" / "a.py").write_text("2")
    second = code_digest(tmp_path)
    (tmp_path / "src" / "a.py").rename(tmp_path / "src" / "b.py")
    assert len({first, second, code_digest(tmp_path)}) == 3
