"""The cost of many registered worlds: what is measured is the same program with other registrations."""

import pytest

from palaestra.benchmarks.speed import registered


def test_a_program_is_measured_with_one_world_and_with_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "PROGRAMS", {"count": "import palaestra; print(len(list(palaestra.packs.PACKS)))"})
    done: list[str] = []
    (cost,) = registered.bench_registered(worlds=5, runs=1, progress=done.append)
    assert done == [cost.name] == ["count"]
    assert min(cost.one_seconds, cost.many_seconds, cost.one_megabytes, cost.many_megabytes) > 0
    assert cost.ratio == cost.many_seconds / cost.one_seconds
    table = registered.registered_table([cost], worlds=5)
    assert table.rows[0][0] == "count"


def test_each_program_runs() -> None:
    assert len(registered.bench_registered(worlds=2, runs=1)) == len(registered.PROGRAMS) == 3
