"""Generated worlds are measured beside the Storefront and a server that answers as they do."""

import importlib.util
import subprocess
import sys

import pytest

from palaestra.benchmarks.speed.synthesis import (
    GENERATED,
    SERVER,
    STOREFRONT,
    WORK,
    SynthesisScale,
    bench_synthesis,
    synthesis_table,
)
from palaestra.benchmarks.speed.synthesis import _check_rows as check_rows  # pyright: ignore[reportPrivateUsage]


def test_every_kind_of_work_is_measured_and_the_server_lists_the_rows_of_the_world() -> None:
    done: list[str] = []
    figures = bench_synthesis(SynthesisScale(worlds=(17,), rounds=1, served=1, live=8), progress=done.append)
    assert done == ["round 1", "memory"]
    by = {(one.kind, one.work): one for one in figures}
    assert {work for kind, work in by if kind == GENERATED} == set(WORK)
    assert {work for kind, work in by if kind == SERVER} == {"reset", "step, read", "step, write", "live episode, KiB"}
    assert all(0 < one.low <= one.median <= one.high for one in figures)
    for work in ("reset", "step, read", "step, write"):
        assert by[SERVER, work].median > by[GENERATED, work].median
    rows = {row[0]: row for row in synthesis_table(figures).rows}
    assert list(rows) == list(WORK)
    assert rows["generate"][2:] == ("", "", "", "")
    assert float(rows["fork"][4]) == pytest.approx(
        by[GENERATED, "fork"].median / by[STOREFRONT, "fork"].median, rel=0.01
    )


def test_an_answer_with_other_rows_stops_the_run() -> None:
    check_rows({"loans": [{"id": "LN-1"}]}, {"results": [{"id": "LN-1", "due": "2026-05-31"}]}, "get_loans")
    with pytest.raises(AssertionError, match="get_loans: the server lists \\['LN-2'\\], the world \\['LN-1'\\]"):
        check_rows({"loans": [{"id": "LN-1"}]}, {"results": [{"id": "LN-2"}]}, "get_loans")


def test_the_generated_server_imports_nothing_of_palaestra() -> None:
    program = importlib.util.find_spec("palaestra.benchmarks.speed.server.generated_program")
    assert program is not None
    assert program.origin is not None
    loaded = "import sys; print([m for m in sys.modules if m.startswith('palaestra')])"
    script = f"import runpy; runpy.run_path({program.origin!r}); {loaded}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
