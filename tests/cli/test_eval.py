"""`palaestra eval` as a person uses it: any agent on any suite, a folder to keep, one sentence for each mistake."""

import sys
from pathlib import Path

import pytest

from palaestra.benchmarks.evaluation.results import read_results
from palaestra.cli import main
from palaestra.envs import ToolEnv

SHORT = ("--split", "dev", "--limit", "4", "--samples", "2")


SERVER = ("--base-url", "http://127.0.0.1:1/v1", "--model", "m")


def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors."""
    monkeypatch.setattr(sys, "argv", ["palaestra", "eval", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    code = ended.value.code
    assert isinstance(code, int)
    return code, told.out, told.err


def test_the_oracle_leaves_a_table_and_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "oracle"
    code, shown, told = call(monkeypatch, capsys, "oracle", *SHORT, "--out", str(out))
    assert code == 0, told
    assert "100.0" in shown
    found = read_results(out)
    assert len(found.outcomes) == found.expected_episodes == 8
    assert all(outcome.solved for outcome in found.outcomes)
    assert found.suite.cells[0].split == "storefront/dev"
    names = {path.name for path in out.iterdir()}
    assert {"settings.json", "outcomes.jsonl", "trajectories.jsonl", "report.json", "report.html"} <= names
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    again, shown_again, _ = call(monkeypatch, capsys, "oracle", *SHORT, "--out", str(out))
    assert (again, shown_again) == (0, shown)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_without_a_folder_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, shown, told = call(monkeypatch, capsys, "no-op", *SHORT)
    assert code == 0, told
    assert "no-op" in shown
    assert list(tmp_path.iterdir()) == []


def test_switches_reach_the_worlds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    switched = ("--surface", "generic", "--handbook", "3", "--noise", "failures=10")
    assert call(monkeypatch, capsys, "finish-at-once", *SHORT, *switched, "--out", str(tmp_path / "x"))[0] == 0
    (cell,) = read_results(tmp_path / "x").suite.cells
    assert cell.switches == {"surface": "generic", "handbook": 3, "noise": {"failures": 10}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("orcale",), "unknown agent 'orcale'; did you mean 'oracle'?"),
        ((), "endpoint: --base-url is missing"),
        (("oracle", "--suite", "storefornt"), "did you mean 'storefront'"),
        (("oracle", "--split", "dve"), "did you mean 'dev'?"),
        (("oracle", "--axis", "noise"), "--axis: the suite storefront has no such choice"),
        (("oracle", "--option", "x=1"), "--option: the suite storefront has no such choice"),
        (("oracle", "--suite", "babyai", "--surface", "generic"), "--surface, --handbook and --noise: the suite"),
        (("oracle", "--request", "x"), "--request x: write NAME=VALUE"),
        (("oracle", "--samples", "1001"), "samples=1001: from 1 to 1000"),
        (("oracle", "--seconds", "0"), "seconds=0: a time is above 0"),
        (("oracle", "--noise", "failures=101"), "--noise: noise failures=101: give a whole number from 0"),
        (("oracle", "--noise", "failure=1"), "did you mean 'failures'"),
        (("oracle", "--suite", "ood", "--option", "families=5"), "families=5: write names with commas between"),
        (("oracle", "--suite", "babyai", "--option", "category=GoToObj"), "unknown option of babyai 'category'"),
        (("oracle", "--suite", "babyai", "--option", "max_turns=abc"), "unknown option of babyai 'max_turns'"),
        (("oracle", "--price-in", "1"), "--price-in without --price-out: a cost is of both; give --price-out too"),
        (("oracle", "--price-out", "1"), "--price-out without --price-in: a cost is of both; give --price-in too"),
        ((*SERVER, "--request", "max_tokens=9"), "--request max_tokens: this field has a place of its own; give --max"),
        ((*SERVER, "--context", "9"), "--context: endpoint is a model behind a server and takes no such option; leave"),
        (("./any", "--timeout", "9"), "--timeout: ./any is a checkpoint and takes no such option; leave it out"),
        ((*SERVER, "--timeout", "0"), "timeout=0: a time is above 0"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, told = call(monkeypatch, capsys, *arguments)
    assert code == 1
    (line,) = told.splitlines()
    assert line.startswith("error: ")
    assert said in line


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--engine", "native"),
        ("--vllm-python", "python"),
        ("--context", "768"),
        ("--turn", "48"),
        ("--rows", "128"),
        ("--temperature", "1"),
        ("--top-p", "1"),
        ("--format", "hermes"),
        ("--max-tokens", "9"),
        ("--request", "x=1"),
        ("--timeout", "120"),
        ("--request-tries", "6"),
        ("--seed-field", "seed"),
        ("--seed-field", ""),
        ("--key-variable", "KEY"),
    ],
)
def test_a_flag_that_a_script_would_not_heed_is_refused(
    flag: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, told = call(monkeypatch, capsys, "random", *SHORT, flag, value)
    assert code == 1
    assert told.startswith(f"error: {flag}: random is a script and takes no such option; ")
    assert told.endswith("leave it out\n")


def test_a_handbook_beyond_its_range_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, told = call(monkeypatch, capsys, "oracle", *SHORT, "--handbook", "9" * 23)
    assert code == 2
    assert "--handbook" in told
    assert "2147483647" in told
    assert call(monkeypatch, capsys, "no-op", *SHORT, "--handbook", "2147483647")[0] == 0


@pytest.mark.parametrize("below", ["", "b", "b/c"])
def test_a_folder_that_cannot_be_made_is_one_line(
    below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    code, _, told = call(monkeypatch, capsys, "no-op", *SHORT, "--out", str(tmp_path / "file" / below))
    assert code == 1
    assert told.startswith("error: ")
    assert "could not save" in told
    assert "check the path and its rights" in told
    assert (tmp_path / "file").read_text() == "mine"


def test_an_evaluation_without_a_score_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:

    def lacking(_self: ToolEnv) -> None:
        return None

    monkeypatch.setattr(ToolEnv, "oracle", lacking)
    code, shown, told = call(monkeypatch, capsys, "oracle", *SHORT, "--out", str(tmp_path / "x"))
    assert code == 1
    assert "no gold" in shown
    assert "error: no episode has a score: each of 8 ended in a fault, the last with: no gold" in told
    monkeypatch.undo()
    assert call(monkeypatch, capsys, "oracle", *SHORT, "--out", str(tmp_path / "x"))[0] == 1, "nothing is played again"
    assert call(monkeypatch, capsys, "oracle", *SHORT, "--out", str(tmp_path / "x"), "--again")[0] == 0
    assert all(outcome.solved for outcome in read_results(tmp_path / "x").outcomes)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (("--seed", "1"), "seed is 0 there and 1 here"),
        (("--seconds", "5"), "playing.seconds is 600.0 there and 5.0 here"),
    ],
)
def test_other_settings_in_the_same_folder_are_refused(
    other: tuple[str, str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = ("--out", str(tmp_path / "x"))
    assert call(monkeypatch, capsys, "no-op", *SHORT, *out)[0] == 0
    before = (tmp_path / "x" / "settings.json").read_bytes()
    code, _, told = call(monkeypatch, capsys, "no-op", *SHORT, *out, *other)
    assert code == 1
    assert said in told
    assert (tmp_path / "x" / "settings.json").read_bytes() == before
