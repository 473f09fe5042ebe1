"""`palaestra record` as a person uses it: what it prints, and one sentence for each mistake."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from palaestra.cli import main
from recorded import write_made_evaluation, write_training

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Runs `palaestra record` in a folder of its own: exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def called(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["palaestra", "record", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, told.out, told.err

    return called


def test_runs_are_imported_listed_exported_and_removed(call: Call, tmp_path: Path) -> None:
    write_made_evaluation(tmp_path / "runs" / "eval")
    write_training(tmp_path / "runs" / "train", [])
    code, told, _ = call("import", "runs")
    assert (code, told) == (0, "runs/eval: 9 new lines\nruns/train: 12 new lines\n")
    assert call("import", "runs")[1] == "runs/eval: 0 new lines\nruns/train: 0 new lines\n"
    code, told, _ = call("list")
    assert code == 0
    assert "Runs in runs/record.db" in told
    assert "8" in " ".join(told.split())
    code, told, _ = call("export", "runs/train", "out")
    assert (code, "out/grpo/metrics.jsonl" in told) == (0, True)
    assert (tmp_path / "out/config.json").read_bytes() == (tmp_path / "runs/train/config.json").read_bytes()
    assert call("remove", "runs/train")[1] == "removed runs/train\n"
    assert "runs/train" not in call("list")[1]
    assert call("migrate", "--to", "0001")[1].startswith("runs/record.db: from version 0002 to 0001 in ")
    assert call("list")[2].startswith("error: runs/record.db: has tables of version 0001")
    assert call("migrate")[0] == 0
    assert call("list")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("import", "missing"), "missing: there is no such file or folder; give the folder of a run"),
        (("import", "."), "holds nothing to import"),
        (("list",), "runs/record.db: there is no record yet; `palaestra record import RUN` makes one, or give --db"),
        (("list", "--db", "mysql://a/b"), "the URL of the record begins with 'mysql'"),
        (("export", "run", "out", "--db", "none.db"), "none.db: there is no record yet"),
        (("migrate", "--db", "none.db"), "none.db: there is no record yet"),
    ],
)
def test_a_mistake_is_one_sentence(call: Call, arguments: tuple[str, ...], says: str) -> None:
    code, _, told = call(*arguments)
    assert code == 1
    assert told.startswith("error: ")
    assert says in told
    assert told.count("\n") == 1
