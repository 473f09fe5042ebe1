"""`palaestra suites`: what it says of benchmarks, installed or not, and the lists that it writes."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from palaestra.benchmarks.external import BENCHMARKS
from palaestra.cli.app import app
from palaestra.contamination import prompt_hash, read_list
from palaestra.errors import ConfigError, UnknownNameError

pytestmark = pytest.mark.usefixtures("toy")


def said(*words: str) -> str:
    result = CliRunner().invoke(app, ["suites", *words], env={"COLUMNS": "400"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_every_benchmark_is_listed_with_its_tasks_or_the_way_to_it() -> None:
    listed = said("list")
    assert all(f" {name} " in listed for name in BENCHMARKS)
    assert "installed; 2" in listed
    assert "palaestra suites" in listed


def test_what_is_known_of_one_is_shown() -> None:
    shown = said("show", "toy")
    for told in ("test/Toy-v0", "Apache-2.0", "to be measured on", "slow_start", "4 tasks", "drill"):
        assert told in shown
    assert "Not installed: palaestra suites install bfcl" in said("show", "bfcl")


def test_what_is_installed_is_left_as_it_is() -> None:
    assert "toy: installed" in said("install", "toy")


def test_a_wrong_name_or_a_checkout_for_two_installs_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'bfcl'"):
        said("install", "toy", "bflc")
    with pytest.raises(ConfigError, match="a checkout is one benchmark's"):
        said("install", "toy", "bfcl", "--from", str(tmp_path))


def test_the_command_writes_the_list_of_a_benchmark(tmp_path: Path) -> None:
    assert "toy, test: 3 prompts, 3 hashes" in said("hashes", "toy", "--out", str(tmp_path))
    assert read_list(tmp_path / "toy.test.txt") == sorted(
        map(prompt_hash, ("please count to two", "Please count to four", "Please count to six."))
    )
