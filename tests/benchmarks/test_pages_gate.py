"""The gate on pages: what it counts, what it reports, and going on after an interruption."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from palaestra.benchmarks.pages import GateItem, GateRow, gate_faults, gate_items, gate_tables, run_gate
from palaestra.cli.app import app
from palaestra.errors import CapabilityError
from palaestra.log import Log
from palaestra.proof import CaseCounts
from palaestra.proof.attacks import ATTACKS
from palaestra.proof.page_agents import PAGE_AGENTS
from worlds import registration

SHOP = "palaestra/Shop-v0"
ITEM = GateItem(env_id=SHOP, split="dev", family="shop/cancel-order", tasks=("shop/cancel-order/5000",))
NOTHING = CaseCounts()
ROW = GateRow(
    item=ITEM,
    oracles=1,
    alternatives=CaseCounts(hits=1, of=1, points=100),
    attacks={"looks-busy": CaseCounts(hits=0, of=1, points=5)},
    right=0,
    agents={"submit-everything": CaseCounts(hits=0, of=1, points=-100)},
    mutants={"dropped": CaseCounts(hits=4, of=4, points=100)},
    routes=CaseCounts(hits=2, of=2, points=200),
    wrong=(),
    survivors=(),
    seconds=1.5,
)


def test_rows_are_all_listed_tasks_once_the_shortest_first() -> None:
    items = gate_items(SHOP)
    tasks = [task for item in items for task in item.tasks]
    assert len(set(tasks)) == len(tasks) == 336
    assert [len(item.tasks) for item in items] == sorted(len(item.tasks) for item in items)
    assert {len(item.tasks) for item in gate_items(SHOP, limit=1)} == {1}


def test_a_world_without_pages_is_refused() -> None:
    registration.register()
    with pytest.raises(CapabilityError, match="pages"):
        gate_items("test/Lab-v0")


def test_a_row_counts_all_that_was_tried_and_is_not_run_again(tmp_path: Path) -> None:
    log = tmp_path / "gate.jsonl"
    item = gate_items(SHOP, limit=2)[-1]
    told: list[str] = []
    [row] = run_gate([item], log=log, progress=told.append)
    assert told == list(item.tasks)
    assert row.oracles == len(item.tasks) == 2
    assert set(PAGE_AGENTS) < set(row.agents)
    assert {counts.of for counts in row.agents.values()} == {2}
    assert set(row.attacks) == set(ATTACKS)
    assert sum(counts.of for counts in row.attacks.values()) > 60
    assert sum(counts.of for counts in row.mutants.values()) > 20
    assert (row.wrong, gate_faults([row], whole=False)) == ((), [])

    def no_clock() -> float:
        raise AssertionError("nothing runs")

    assert run_gate([item], log=log, clock=no_clock) == [row]


def test_what_does_not_hold_is_reported() -> None:
    assert gate_faults([ROW]) == []
    solving = replace(ROW, agents={"confirm-everything": CaseCounts(hits=1, of=1, points=100)})
    paid = replace(ROW, attacks={"looks-busy": CaseCounts(hits=0, of=1, points=60)})
    brittle = replace(ROW, wrong=("t: right work is rejected",))
    lax = replace(
        ROW, mutants={"dropped": CaseCounts(hits=1, of=2)}, survivors=("t: wrong work passes (dropped: x), 9",)
    )
    assert gate_faults([solving]) == [
        f"{SHOP}: the agent confirm-everything solves 1 task(s)",
        f"{SHOP}: the agent confirm-everything gets 100.0 points on average, more than 20 for nothing",
    ]
    assert [fault.partition(", ")[0] for fault in gate_faults([paid])] == [
        f"{SHOP}: the attack looks-busy gets 60.0 points on average"
    ]
    assert gate_faults([brittle]) == ["t: right work is rejected"]
    assert gate_faults([lax]) == [
        f"{SHOP}: 50.0 % of the mutants of kind 'dropped' are rejected",
        "t: wrong work passes (dropped: x), 9",
    ]


def test_tables_add_up_by_split_and_by_family() -> None:
    other = replace(ROW, item=replace(ITEM, split="train", tasks=("a", "b", "c")), oracles=2)
    by_split, agents, by_family = gate_tables([ROW, other])
    assert by_split.rows == (
        ("shop", "dev", "1", "1", "1", "1", "0", "1", "4", "2", "2"),
        ("shop", "train", "3", "2 of 3", "1", "1", "0", "1", "4", "2", "2"),
        ("all", "", "4", "3 of 4", "2", "2", "0", "2", "8", "4", "3"),
    )
    assert agents.rows == (("shop", "submit-everything", "2", "0", "-100.0"),)
    assert by_family.rows[0] == ("shop", "cancel-order", *by_split.rows[-1][2:])


def test_the_command_runs_on_and_prints_the_tables(tmp_path: Path) -> None:
    log = tmp_path / "gate.jsonl"
    rows = [replace(ROW, item=item, oracles=len(item.tasks)) for item in gate_items(SHOP, limit=1)]
    with Log(log) as written:
        for row in rows:
            written.append(orjson.dumps(row))
    told = CliRunner().invoke(
        app,
        [
            "bench",
            "pages-gate",
            "--world",
            "shop",
            "--limit",
            "1",
            "--out",
            str(tmp_path),
            "--markdown",
            str(tmp_path / "g.md"),
        ],
    )
    assert told.exit_code == 0, told.output
    assert "The gate on pages, by world and split" in (tmp_path / "g.md").read_text()
    bad = replace(rows[0], agents={"random-clicker": CaseCounts(hits=1, of=1)})
    with Log(log) as written:
        written.append(orjson.dumps(bad))
    failed = CliRunner().invoke(app, ["bench", "pages-gate", "--world", "shop", "--limit", "1", "--out", str(tmp_path)])
    assert failed.exit_code == 1
    assert "the agent random-clicker solves 1 task(s)" in failed.output
