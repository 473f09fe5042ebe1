"""`palaestra record` as a person uses it: what it prints, and one sentence for each mistake."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from palaestra.benchmarks.evaluation.report import write_report
from palaestra.benchmarks.evaluation.results import read_results
from palaestra.cli import main
from recorded import made_results, write_episode_file, write_journal, write_made_evaluation, write_training

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


def test_an_empty_file_of_episodes_is_no_run(call: Call, tmp_path: Path) -> None:
    write_episode_file(tmp_path / "runs" / "trajectories.jsonl", [])
    said = "runs/trajectories.jsonl: holds nothing yet, and is imported once it does\n"
    assert call("import", "runs") == (0, said, "")
    assert "trajectories" not in call("list")[1]


def test_an_evaluation_comes_back_with_its_reports(call: Call, tmp_path: Path) -> None:
    folder = write_made_evaluation(tmp_path / "runs" / "eval")
    write_report(read_results(folder), folder)
    call("import", "runs")
    code, said, _ = call("export", "runs/eval", "out")
    assert code == 0
    assert content_of(tmp_path / "out") == content_of(folder)
    assert [line for line in said.splitlines() if line.endswith(" (made again)")] == [
        f"out/{name} (made again)" for name in ("report.json", "report.md", "report.html")
    ]


def test_an_evaluation_that_goes_on_comes_back_without_reports(call: Call, tmp_path: Path) -> None:
    write_journal(tmp_path / "runs" / "eval", made_results(), 3)
    call("import", "runs")
    code, said, errors = call("export", "runs/eval", "out")
    assert (code, "report" in said, errors) == (0, False, "")
    assert content_of(tmp_path / "out") == content_of(tmp_path / "runs" / "eval")


def test_damaged_results_come_back_and_the_lack_of_reports_is_said(call: Call, tmp_path: Path) -> None:
    folder = write_made_evaluation(tmp_path / "runs" / "eval")
    with (folder / "outcomes.jsonl").open("ab") as opened:
        opened.write(b"{}\n")
    call("import", "runs")
    code, _, errors = call("export", "runs/eval", "out")
    assert code == 0
    assert errors.startswith("no report is made again: out/outcomes.jsonl, line 9: ")
    assert content_of(tmp_path / "out") == content_of(folder)


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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


SECRET = "9well-kept9"  # noqa: S105  of nobody
COMMANDS = (
    ("record", "list"),
    ("record", "import", "made.jsonl"),
    ("record", "export", "run", "out"),
    ("record", "remove", "run"),
    ("record", "migrate"),
    ("dashboard",),
    ("dashboard", "made.jsonl"),
)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (
            f"postgresql://me:{SECRET}@127.0.0.1:1/x?foo=x",
            "has the option 'foo', which PostgreSQL does not know",
        ),
        (f"postgresql://127.0.0.1:1/x?sslmod=x&password={SECRET}", "did you mean sslmode or ssl"),
        (f"postgresql://127.0.0.1:1/x?user=a&user={SECRET}", "the option 'user' several times; give it once"),
        (
            f"postgresql://127.0.0.1:1/x?connect_timeout=abc&password={SECRET}",
            "bad value for connect_timeout: 'abc'",
        ),
        (f"postgresql://me:{SECRET}@127.0.0.1:1/x", "check host and port, and that the server runs"),
        (f"postgresql://127.0.0.1:1/x?password={SECRET}", "password=hidden: "),
        (f"postgresql://me:{SECRET}@nowhere.invalid/x", "check host and port, and that the server runs"),
        (
            f"postgresql://me:{SECRET}@127.0.0.1:abc/x",
            "'postgresql://me:***@127.0.0.1:abc/x' cannot be read; write",
        ),
        (
            f"postgresql://me:{SECRET}@[::1/x",
            "'postgresql://me:***@[::1/x' cannot be read; write postgresql://USER@HOST",
        ),
        (
            "postgresql:/host/x",
            "the place of the record is 'postgresql:/host/x'; write postgresql://USER@HOST/DATABASE",
        ),
        ("", "the place of the record is ''; write postgresql://USER@HOST/DATABASE, or the path of an SQLite file"),
        (f"sqlite://me:{SECRET}@host/x", "'sqlite://me:***@host/x' has a host, and is of a file; write"),
        ("sqlite:///x.db?timeout=abc", "'sqlite:///x.db?timeout=abc' has the option 'timeout', which SQLite does"),
        ("sqlite:////no/such/folder/x.db", "unable to open database file; what was acknowledged stays; check path"),
    ],
)
def test_a_database_that_cannot_be_opened_is_one_sentence_without_a_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, url: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_episode_file(tmp_path / "made.jsonl", [])
    for command in COMMANDS:
        monkeypatch.setattr(sys, "argv", ["palaestra", *command, "--db", url])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr().err
        assert ended.value.code == 1, command
        assert said.startswith("error: ")
        assert said.count("\n") == 1
        assert says in said
        assert SECRET not in said
