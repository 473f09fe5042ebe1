"""Where sampling went, from the figures that a run keeps."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from palaestra.benchmarks.sampling import family_shares, sampling_panels
from palaestra.cli.app import app
from palaestra.errors import RecordError
from palaestra.trainers.run_folder import read_run

RUNNER = CliRunner()


def write_run(directory: Path, history: Sequence[Mapping[str, float]]) -> Path:
    save = directory / "expert" / "checkpoint"
    save.mkdir(parents=True)
    (directory / "config.json").write_bytes(orjson.dumps({"seed": 0, "expert": {}}))
    progress = {"config": "any", "step": len(history), "seconds": 1.0, "history": history}
    (save / "progress.json").write_bytes(orjson.dumps(progress))
    return directory


def row(**shares: float) -> dict[str, float]:
    """A step's figures; a family that is played often is solved often."""
    return {
        **{f"choice/share/w/{name}": share for name, share in shares.items()},
        **{f"choice/solved/w/{name}": share for name, share in shares.items()},
        "choice/untried": 0.0,
    }


def test_each_stage_has_a_panel_of_shares_and_one_of_what_was_solved(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, [row(a=0.75, b=0.25), row(b=1.0), {"loss": 1.0}]))
    assert family_shares(run.stages[0]) == {"w/b": 0.625, "w/a": 0.375}
    played, solved = sampling_panels(run)
    assert (played.title, solved.title) == ("expert: where sampling went", "expert: what was solved")
    assert [(curve.label, curve.x, curve.y) for curve in played.curves] == [
        ("w/b", [1, 2], [25.0, 100.0]),
        ("w/a", [1, 2], [75.0, 0.0]),
    ]
    assert [(curve.label, curve.x, curve.y) for curve in solved.curves] == [
        ("w/b", [1, 2], [25.0, 100.0]),
        ("w/a", [1], [75.0]),
    ], "a family has no point at a step that did not play it"


def test_families_that_were_played_least_are_one_curve_and_shares_sum_to_all(tmp_path: Path) -> None:
    shares = {name: (9 - place) / 36 for place, name in enumerate("abcdefgh", 1)}
    run = read_run(write_run(tmp_path, [row(**shares)] * 3))
    played, _ = sampling_panels(run)
    assert [curve.label for curve in played.curves] == [*(f"w/{name}" for name in "abcdef"), "2 others"]
    for place in range(3):
        assert sum(curve.y[place] for curve in played.curves) == pytest.approx(100)


def test_branching_has_a_panel(tmp_path: Path) -> None:
    history = [{"branching/groups": 5.0, "branching/solved": float(n)} for n in range(3)]
    (panel,) = sampling_panels(read_run(write_run(tmp_path, history)))
    assert panel.title == "expert: branching"
    assert [curve.y for curve in panel.curves] == [[5.0, 5.0, 5.0], [0.0, 1.0, 2.0]]


def test_a_run_that_neither_chose_nor_branched_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path, [{"loss": 1.0}])
    with pytest.raises(RecordError, match=r"no stage that was saved chose tasks or branched"):
        sampling_panels(read_run(run))


def test_the_command_writes_a_picture(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [row(a=0.5, b=0.5)] * 12)
    told = RUNNER.invoke(app, ["runs", "plot", str(run)])
    assert told.exit_code == 0, told.output
    assert (run / "sampling.png").read_bytes().startswith(b"\x89PNG")
    again = tmp_path / "again.png"
    RUNNER.invoke(app, ["runs", "plot", str(run), "--out", str(again)])
    assert again.read_bytes() == (run / "sampling.png").read_bytes()
