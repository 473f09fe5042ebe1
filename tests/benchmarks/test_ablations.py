"""Arms differ in one thing, cells are kept and found again, tables say what the cells hold and what is not run."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import orjson
import pytest

from crash.loops import EXPERT, POLICY, SFT, SYNC
from packs import write_pack
from palaestra.benchmarks.ablations import (
    ARMS,
    TABLES,
    AblationCell,
    AblationConfig,
    CellKey,
    ablation_markdown,
    ablation_material,
    ablation_tables,
    read_cells,
    run_cells,
)
from palaestra.benchmarks.ablations.cells import run_cell, settings_digest
from palaestra.benchmarks.learning.evaluation import Evaluation
from palaestra.errors import InfrastructureError, RecordError
from palaestra.table import Table
from palaestra.trainers.choice import ChoiceConfig
from palaestra.trainers.loops.config import StageConfig
from palaestra.trainers.loops.imitation_config import RejectionConfig
from palaestra.trainers.progress import silent
from palaestra.trajectory import Episode
from worlds.registration import LIBRARY_ID

SMALL = AblationConfig(
    model=POLICY.model,
    demonstrations=2,
    sft=replace(SFT, steps=10),
    expert=replace(EXPERT, choice=ChoiceConfig(rule="bandit", instances="endless")),
    grpo=SYNC,
    cpu_seconds=1e-6,
    samples=2,
)
GROUP = "new records"


def budget(stage: StageConfig) -> float:
    assert not isinstance(stage, RejectionConfig)
    assert stage.cpu_seconds is not None
    return stage.cpu_seconds


def made(arm: str, seed: int, solved: Mapping[str, tuple[int, ...]]) -> AblationCell:
    """A cell that solved so much at temperature 1, and nothing at 0.3."""
    nothing = {task: (0,) * len(own) for task, own in solved.items()}
    return AblationCell(
        arm=arm,
        seed=seed,
        settings="",
        steps={},
        cpu_seconds={},
        solved={"1": {GROUP: solved}, "0.3": {GROUP: nothing}},
        harmed={"1": {GROUP: 10.0 * (1 + seed)}, "0.3": {GROUP: 0.0}},
        unfinished={"1": {GROUP: 5.0}, "0.3": {GROUP: 0.0}},
    )


@pytest.mark.parametrize("arm", [arm for arm in ARMS if not arm.startswith("warm-start")])
def test_every_arm_has_the_same_time(arm: str) -> None:
    assert sum(map(budget, ARMS[arm].stages(AblationConfig()).values())) == pytest.approx(AblationConfig().cpu_seconds)


def test_arms_differ_from_each_other_and_every_one_is_in_a_table() -> None:
    config = AblationConfig(demonstrations=1)
    material = ablation_material(LIBRARY_ID, config)
    assert len({settings_digest(arm, config, material) for arm in ARMS}) == len(ARMS)
    assert {arm for table in TABLES.values() for arm in table.arms} == set(ARMS)
    assert all(table.against in table.arms for table in TABLES.values())


@pytest.mark.parametrize("arm", ["warm-start", "no-branching", "gradient"])
def test_a_cell_is_kept_and_the_same_command_comes_to_the_same_cell(arm: str, tmp_path: Path) -> None:
    key = CellKey(arm, 1)
    run_cell(LIBRARY_ID, key, SMALL, tmp_path / "cells", tmp_path / "work")
    material = ablation_material(LIBRARY_ID, SMALL)
    (cell,) = read_cells(tmp_path / "cells", SMALL, material).values()
    assert set(cell.steps.values()) == ({1} if cell.steps else set())  # the first step ends so short a time
    assert list(cell.steps) == list(ARMS[arm].stages(SMALL))
    for groups in cell.solved.values():
        assert {task for tasks in groups.values() for task in tasks} == set(material.tasks)
        assert all(len(own) == SMALL.samples for tasks in groups.values() for own in tasks.values())
    run_cell(LIBRARY_ID, key, SMALL, tmp_path / "again", tmp_path / "other work")
    (again,) = read_cells(tmp_path / "again", SMALL, material).values()
    assert (again.solved, again.harmed, again.unfinished) == (cell.solved, cell.harmed, cell.unfinished)


def test_a_cell_of_other_settings_does_not_count_as_run(tmp_path: Path) -> None:
    run_cell(LIBRARY_ID, CellKey("warm-start", 0), SMALL, tmp_path / "cells", tmp_path / "work")
    for other in (replace(SMALL, samples=3), replace(SMALL, demonstrations=1), replace(SMALL, sft=SFT)):
        assert read_cells(tmp_path / "cells", other, ablation_material(LIBRARY_ID, other)) == {}


def test_a_cell_whose_world_failed_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> tuple[Evaluation, list[Episode]]:
        return Evaluation(tasks={}, faults=2), []

    monkeypatch.setattr("palaestra.benchmarks.ablations.cells.evaluate_policy", fail)
    with pytest.raises(InfrastructureError, match="warm-start-0: the world failed in 4 episodes"):
        run_cell(LIBRARY_ID, CellKey("warm-start", 0), SMALL, tmp_path / "cells", tmp_path / "work")
    assert not (tmp_path / "cells").exists()


def test_a_damaged_cell_is_named(tmp_path: Path) -> None:
    (tmp_path / "expert-0.json").write_bytes(orjson.dumps({"arm": "expert"}))
    with pytest.raises(RecordError, match=r"expert-0\.json.*remove it to run the cell anew"):
        read_cells(tmp_path, SMALL, ablation_material(LIBRARY_ID, SMALL))


def test_processes_of_their_own_run_the_cells_of_a_world_that_a_pack_holds(tmp_path: Path) -> None:
    pack = str(write_pack(tmp_path / "ablation_ward", id="ablation-ward"))
    keys = [CellKey("warm-start", seed) for seed in (0, 1)]
    run_cells(pack, keys, SMALL, cells=tmp_path / "cells", work=tmp_path / "work", jobs=2, bar=silent, say=print)
    assert sorted(read_cells(tmp_path / "cells", SMALL, ablation_material(pack, SMALL))) == keys


def test_no_cell_begins_when_the_time_is_over_and_the_ones_left_are_named(tmp_path: Path) -> None:
    said: list[str] = []
    keys = [CellKey("expert", 0), CellKey("uniform", 2)]
    run_cells(
        LIBRARY_ID, keys, SMALL, cells=tmp_path, work=tmp_path, jobs=1, minutes=0, bar=silent, say=said.append
    )  # fmt: skip
    assert said == ["0 minutes are over; not run: expert-0, uniform-2"]


@pytest.fixture(scope="module")
def branching() -> Table:
    """Two seeds with branching, one of them without as well."""
    cells = [
        made("expert", 0, {"w/a/0": (1, 1), "w/b/0": (1, 0)}),
        made("expert", 1, {"w/a/0": (0, 0), "w/b/0": (1, 0)}),
        made("no-branching", 0, {"w/a/0": (1, 0), "w/b/0": (0, 0)}),
    ]
    found = {CellKey(cell.arm, cell.seed): cell for cell in cells}
    (table,) = ablation_tables(found, SMALL, [GROUP], names=["branching", "reward"], seeds=3)
    return table


def test_a_table_has_each_seed_and_the_paired_difference(branching: Table) -> None:
    rows = {row[1]: row for row in branching.rows}
    column = dict(zip(branching.columns, rows[ARMS["expert"].what], strict=True))
    assert column["solved at temperature 1, %"] == f"{fmean([75, 25]):.1f}, 2 training seeds: 75.0, 25.0"
    assert column["over no-branching at 1"] == "+50.0, 1 training seed"  # seed 1 has no partner
    assert column["solved at temperature 0.3, %"] == "0.0, 2 training seeds: 0.0, 0.0"
    assert (column["harm, %"], column["unfinished, %"]) == ("15.0", "5.0")


def test_a_table_lists_what_is_not_run(branching: Table) -> None:
    assert {row[1]: row[-1] for row in branching.rows} == {
        ARMS["expert"].what: "seed 2",
        ARMS["no-branching"].what: "seed 1, 2",
    }
    assert "Is branching worth its time?" in ablation_markdown([branching])
