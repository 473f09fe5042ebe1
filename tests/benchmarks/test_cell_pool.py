"""Cells run in processes, in order, and none begins when the time is over."""

from functools import partial
from pathlib import Path

import pytest

from palaestra.benchmarks.cell_pool import run_in_pool
from palaestra.trainers.progress import silent


def test_every_cell_runs_and_is_named_when_it_begins(tmp_path: Path) -> None:
    said: list[str] = []
    cells = {name: partial((tmp_path / name).touch) for name in ("one", "two")}
    run_in_pool(cells, work=tmp_path / "runs", jobs=1, bar=silent, say=said.append)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
    assert said == [f"{name}: begins; its run is in {tmp_path / 'runs' / name}" for name in ("one", "two")]


def test_no_cell_begins_when_the_time_is_over(tmp_path: Path) -> None:
    said: list[str] = []
    cells = {name: partial((tmp_path / name).touch) for name in ("one", "two")}
    run_in_pool(cells, work=tmp_path, jobs=1, minutes=0, bar=silent, say=said.append)
    assert said == ["0 minutes are over; not run: one, two"]
    assert list(tmp_path.iterdir()) == []


def test_what_a_cell_raises_is_raised(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_in_pool({"one": partial((tmp_path / "none").unlink)}, work=tmp_path, jobs=1, bar=silent, say=print)
