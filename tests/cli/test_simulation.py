"""`palaestra bench simulation`: without errors no reward is false, and a world that cannot be simulated says so."""

import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from palaestra.cli import main

LIBRARY = "examples/blueprints/tool_library.yaml"
Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["palaestra", "bench", "simulation", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, output.out + output.err

    return run


def test_rates_are_measured_and_written(call: Call, tmp_path: Path) -> None:
    json, markdown = tmp_path / "figures.json", tmp_path / "figures.md"
    rates = ("--rate", "0", "--rate", "50")
    code, text = call(
        LIBRARY, "--split", "train", *rates, "--samples", "1", "--limit", "9", "--json", str(json),
        "--markdown", str(markdown),
    )  # fmt: skip
    assert code == 0, text
    figures = orjson.loads(json.read_bytes())
    assert [(one["percent"], one["policy"]) for one in figures["episodes"]] == [
        (0, "fixed"), (50, "fixed"), (0, "reactive"), (50, "reactive"),
    ]  # fmt: skip
    assert "| 0 % | fixed | 9 | 0.0 % | 9 | 9 | 0 | 0 | 0.0 % | 0 |" in markdown.read_text()
    assert "| 0 % | 9 | 9 | 0 | 0 |" in markdown.read_text()


def test_a_world_whose_families_answer_for_no_other_rows_is_refused(call: Call) -> None:
    code, text = call("--world", "examples/worlds/human_resources", "--limit", "5")
    assert (code, "can be simulated; its families state no answer for other rows" in text) == (1, True), text
