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
    SITES,
    TABLES,
    AblationCell,
    AblationConfig,
    CellKey,
    ablation_tables,
    read_cells,
    run_cells,
    site_materials,
)
from palaestra.benchmarks.ablations.cells import cell_settings, run_cell
from palaestra.benchmarks.ablations.method_arms import METHODS, RATES, chosen_rate
from palaestra.benchmarks.ablations.sites import LONG
from palaestra.benchmarks.learning import LearningMaterial
from palaestra.benchmarks.learning.evaluation import Evaluation
from palaestra.digest import canonical, digest
from palaestra.errors import ConfigError, InfrastructureError, RecordError
from palaestra.table import Table, tables_markdown
from palaestra.trainers import GrpoConfig, load_policy
from palaestra.trainers.choice import ChoiceConfig
from palaestra.trainers.loops.config import StageConfig
from palaestra.trainers.loops.imitation_config import RejectionConfig
from palaestra.trainers.loops.record import recorded_batches
from palaestra.trainers.objectives.rewards import PaySolved
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
KEPT = Path(__file__).parents[2] / "docs" / "ablations"


def library(config: AblationConfig = SMALL) -> Mapping[str, LearningMaterial]:
    return site_materials(LIBRARY_ID, ["demo"], config.demonstrations)


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
        settings={},
        steps={},
        cpu_seconds={},
        solved={"1": {GROUP: solved}, "0.3": {GROUP: nothing}},
        harmed={"1": {GROUP: 10.0 * (1 + seed)}, "0.3": {GROUP: 0.0}},
        unfinished={"1": {GROUP: 5.0}, "0.3": {GROUP: 0.0}},
    )


STALE = TABLES["staleness"].arms[1:]
FLOWS = TABLES["flows"].arms[1:]


@pytest.mark.parametrize("arm", [arm for arm in ARMS if not arm.startswith("warm-start") and arm not in STALE + FLOWS])
def test_every_arm_has_the_same_time(arm: str) -> None:
    assert sum(map(budget, ARMS[arm].stages(AblationConfig()).values())) == pytest.approx(AblationConfig().cpu_seconds)


def gradient_stage(arm: str, config: AblationConfig) -> GrpoConfig:
    (stage,) = ARMS[arm].stages(config).values()
    assert isinstance(stage, GrpoConfig)
    return stage


def test_arms_with_stale_rollouts_differ_in_objective_and_staleness_alone() -> None:
    """And half of their versions at least have rollouts of the greatest staleness."""
    config = AblationConfig()
    stages = {arm: gradient_stage(arm, config) for arm in STALE}
    assert {ARMS[arm].start for arm in STALE} == {"expert"}
    first = stages[STALE[0]]
    for arm, stage in stages.items():
        objective, _, staleness = arm.rpartition("-stale-")
        assert (stage.limits.staleness, stage.in_flight) == (int(staleness), "drain")
        assert stage.objective.preset.startswith(objective)
        assert stage.objective.parts == config.grpo.objective.parts
        assert stage.steps >= 2 * stage.limits.staleness
        limits = replace(first.limits, staleness=stage.limits.staleness)
        assert replace(first, objective=stage.objective, limits=limits) == stage
    assert first.learner == config.grpo.learner
    assert gradient_stage(STALE[0], replace(config, cpu_seconds=config.cpu_seconds / 4)).steps == first.steps // 4


def test_arms_of_flows_differ_in_formats_correction_and_noise_alone() -> None:
    config = AblationConfig()
    stages = {arm: gradient_stage(arm, config) for arm in FLOWS}
    first = stages["flow-fp32"]
    for arm, stage in stages.items():
        parts = [(part.plug, part.name) for part in stage.objective.build().parts]
        formats = {stage.engine.precision, stage.learner.precision}
        assert formats == {name for name in ("fp32", "bf16", "fp8") if name in arm.split("-")}
        assert (("correction", "uncorrected") in parts) == arm.endswith("uncorrected")
        assert (("correction", "token-tis") in parts) != arm.endswith("uncorrected")
        noise = stage.weight_noise
        assert (noise is not None) == arm.endswith("noise")
        assert noise is None or noise.hold * noise.levels == stage.steps
        alike = replace(stage, objective=first.objective, weight_noise=None, engine=first.engine, learner=first.learner)
        assert alike == first
        assert replace(stage.engine, precision="fp32") == first.engine
        assert replace(stage.learner, precision="fp32") == first.learner


def test_rewards_are_ordered_from_none_by_way_of_the_outcome_and_the_checklist_to_worse_ones() -> None:
    arms = TABLES["reward"].arms
    rewards = [
        [part.name for part in gradient_stage(arm, AblationConfig()).objective.build().parts if part.plug == "reward"]
        for arm in arms[1:]
    ]
    assert arms[0] == "warm-start"
    assert rewards == [
        ["unit", "solved"],
        [],
        ["unit", "flipped"],
        ["unit", "ungraded"],
        ["unit", "harm-scale", "unfinished"],
        ["unit"],
    ]


def test_arms_differ_from_each_other_and_every_one_is_in_a_table() -> None:
    config = AblationConfig(demonstrations=1)
    one = library(config)["demo"]
    of_site = {site: [arm for arm, of in ARMS.items() if of.site == site] for site in SITES}
    for site, arms in of_site.items():
        settings = cell_settings(config, {site: one})
        assert list(settings) == arms
        assert len({canonical(own) for own in settings.values()}) == len(arms) > 0
    assert {arm for table in TABLES.values() for arm in table.arms} == set(ARMS)
    for table in TABLES.values():
        assert table.site in SITES
        references = {arm: reference for arm in table.arms if (reference := table.reference(arm)) is not None}
        assert references
        assert all(reference in table.arms for reference in references.values())
        assert all(reference != arm for arm, reference in references.items())


def test_long_families_are_long_and_rates_are_not_chosen_on_what_is_measured() -> None:
    chosen, measured = site_materials(None, ["long-dev", "long"], 1).values()
    assert chosen.world == measured.world
    assert [one.digest() for one in chosen.demonstrations] == [one.digest() for one in measured.demonstrations]
    assert {one.task.family.partition("/")[2] for one in measured.demonstrations} == set(LONG)
    assert all(one.score.passed and len(list(one.turns)) >= 12 for one in measured.demonstrations)
    assert chosen.tasks
    assert measured.tasks
    assert not set(chosen.tasks) & set(measured.tasks)


@pytest.mark.parametrize("site", ["long", "alfworld"])
def test_methods_differ_in_objective_and_in_a_rate_that_was_tried(site: str) -> None:
    config = AblationConfig()
    for method in METHODS:
        final = gradient_stage(f"{method}-{site}", config)
        tried = {rate: gradient_stage(f"{method}-{site}-{rate:g}", config) for rate in RATES[method]}
        assert final == tried[chosen_rate(site, method)]
        for rate, stage in tried.items():
            assert stage == replace(final, learner=replace(final.learner, lr=rate))
    first, *others = (gradient_stage(f"{method}-{site}", config) for method in METHODS)
    for other in others:
        assert replace(other, objective=first.objective, learner=first.learner) == first
    assert ARMS[f"grpo-{site}"].warm_start(config) == ARMS[f"warm-start-{site}-dev"].warm_start(config)


def test_methods_pay_a_solved_task_in_the_unit_of_their_constants() -> None:
    built = {method: objective.build() for method, (_, objective) in METHODS.items()}
    amounts = {
        method: [(one.amount, own.returns) for one in own.rewards if isinstance(one, PaySolved)]
        for method, own in built.items()
    }
    assert amounts == {"grpo": [(1, 1)], "gigpo": [(1, 1)], "hiper": [(10, 10)], "seeupo": [(1, 1)]}


def test_other_worlds_have_no_long_families() -> None:
    with pytest.raises(ConfigError, match="the long families are those of the default world"):
        site_materials(LIBRARY_ID, ["long"], 1)


def test_a_site_whose_episodes_take_long_has_fewer_of_them_and_less_time() -> None:
    config = AblationConfig()
    arm = ARMS["seeupo-alfworld"]
    own = arm.at_site(config)
    assert (own.samples, own.cpu_seconds, own.model.context) == (1, 200, arm.play(config).context)
    assert gradient_stage("seeupo-alfworld", own).cpu_seconds == 200
    assert arm.at_site(replace(config, cpu_seconds=20)).cpu_seconds == 20
    assert all(other.at_site(config) == config for other in ARMS.values() if not other.site.startswith("alfworld"))


@pytest.mark.xdist_group("bench-alfworld")
def test_a_method_trains_in_the_games_of_alfworld(tmp_path: Path) -> None:
    material = SITES["alfworld"].material(None, 2)
    (group,) = material.heldout
    short = replace(material, heldout=(replace(group, tasks=group.tasks[:1]),))
    run_cell(short, CellKey("grpo-alfworld", 0), SMALL, tmp_path / "cells", tmp_path / "work")
    (cell,) = read_cells(tmp_path / "cells", SMALL, {"alfworld": short}).values()
    assert cell.steps == {"grpo": 1}
    assert cell.solved["1"] == {"new rooms": {group.tasks[0]: (0,)}}


@pytest.mark.parametrize("arm", ["warm-start", "no-branching", "gradient"])
def test_a_cell_is_kept_and_the_same_command_comes_to_the_same_cell(arm: str, tmp_path: Path) -> None:
    key = CellKey(arm, 1)
    run_cell(library()["demo"], key, SMALL, tmp_path / "cells", tmp_path / "work")
    material = library()
    (cell,) = read_cells(tmp_path / "cells", SMALL, material).values()
    assert set(cell.steps.values()) == ({1} if cell.steps else set())  # the first step ends so short a time
    assert list(cell.steps) == list(ARMS[arm].stages(SMALL))
    for groups in cell.solved.values():
        assert {task for tasks in groups.values() for task in tasks} == set(material["demo"].tasks)
        assert all(len(own) == SMALL.samples for tasks in groups.values() for own in tasks.values())
    run_cell(library()["demo"], key, SMALL, tmp_path / "again", tmp_path / "other work")
    (again,) = read_cells(tmp_path / "again", SMALL, material).values()
    assert (again.solved, again.harmed, again.unfinished) == (cell.solved, cell.harmed, cell.unfinished)


def test_arms_with_stale_rollouts_go_on_from_one_policy_and_say_how_old_their_rollouts_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the cell of the policy that they begin with was never run."""
    config = replace(SMALL, sft=replace(SFT, steps=60))  # so that rollouts differ
    versions_per_second = 5 / config.cpu_seconds
    monkeypatch.setattr("palaestra.benchmarks.ablations.stale_arms._VERSIONS", int(versions_per_second * 300))
    material = library(config)
    keys = [CellKey(arm, 0) for arm in ("grpo-stale-1", "decoupled-stale-4")]
    for key in keys:
        run_cell(library()["demo"], key, config, tmp_path / "cells", tmp_path / "work")
    found = read_cells(tmp_path / "cells", config, material)
    assert list(found) == sorted(keys)
    assert {cell.steps["grpo"] for cell in found.values()} == {5}
    assert len({cell.start for cell in found.values()}) == 1
    checkpoint = tmp_path / "work" / "expert-0" / "run" / "expert" / "checkpoint"
    assert {cell.start for cell in found.values()} == {load_policy(checkpoint).digest()}
    lags = {
        key.arm: [
            {batch.step - group.version for group in batch.groups}
            for batch in recorded_batches(tmp_path / "work" / str(key) / "run" / "grpo")
        ]
        for key in keys
    }
    assert lags["grpo-stale-1"] == [{0}, {1}, {1}, {1}, {1}]
    assert lags["decoupled-stale-4"] == [{0}, {1}, {2}, {3}, {4}]
    for key, cell in found.items():
        assert 0 < cell.lag["mean"] <= cell.lag["last"] <= int(key.arm.rpartition("-")[2])
    (table,) = ablation_tables(
        found, config, {"demo": [group.name for group in material["demo"].heldout]}, names=["staleness"], seeds=1
    )
    assert "lag" in table.columns
    assert "5 versions of 2 optimiser steps on 3 groups of 4" in table.note


@pytest.mark.parametrize("arm", ["flow-fp8-bf16-uncorrected", "flow-bf16-noise"])
def test_a_cell_says_by_how_much_rollouts_and_training_differ_and_how_long_a_step_takes(
    arm: str, tmp_path: Path
) -> None:
    config = replace(SMALL, sft=replace(SFT, steps=60))  # so that rollouts differ
    run_cell(library()["demo"], CellKey(arm, 0), config, tmp_path / "cells", tmp_path / "work")
    found = read_cells(tmp_path / "cells", config, library(config))
    (cell,) = found.values()
    assert 1e-4 < cell.mismatch["mean"] < cell.mismatch["max"]
    groups = [group.name for group in library(config)["demo"].heldout]
    (table,) = ablation_tables(found, config, {"demo": groups}, names=["flows"], seeds=1)
    row = next(dict(zip(table.columns, row, strict=True)) for row in table.rows if row[1] == ARMS[arm].what)
    assert row["mismatch"] == f"{cell.mismatch['mean']:.2g}, max {cell.mismatch['max']:.2g}"
    assert row["CPU s a step"] == f"{cell.cpu_seconds['grpo'] / 2:.1f}"


def test_a_cell_of_other_settings_does_not_count_as_run(tmp_path: Path) -> None:
    run_cell(library()["demo"], CellKey("warm-start", 0), SMALL, tmp_path / "cells", tmp_path / "work")
    for other in (replace(SMALL, samples=3), replace(SMALL, demonstrations=1), replace(SMALL, sft=SFT)):
        assert read_cells(tmp_path / "cells", other, library(other)) == {}


def test_every_cell_of_the_documents_counts_as_run() -> None:
    """A change of the recipe, of tasks or of demonstrations makes them another's: then the document has to say so."""
    config = AblationConfig()
    found = read_cells(KEPT, config, site_materials(None, ["demo", "long", "long-dev"], config.demonstrations))
    others = [file for file in KEPT.glob("*.json") if "alfworld" not in file.name]
    assert len(found) == len(others) > 0


@pytest.mark.xdist_group("bench-alfworld")
def test_every_cell_of_alfworld_counts_as_run_if_its_demonstrations_are_those_of_today(tmp_path: Path) -> None:
    """To demonstrate all 1,500 games takes minutes, so this compares everything else, and the cells with each other."""
    config = AblationConfig()
    materials = site_materials(None, ["alfworld", "alfworld-dev"], 0)
    shown = digest([])
    cells = [orjson.loads(file.read_bytes()) for file in KEPT.glob("*alfworld*.json")]
    assert len({cell["settings"]["demonstrations"] for cell in cells}) == 1
    for cell in cells:
        cell["settings"]["demonstrations"] = shown
        (tmp_path / f"{cell['arm']}-{cell['seed']}.json").write_bytes(orjson.dumps(cell))
    assert len(read_cells(tmp_path, config, materials)) == len(cells) > 0


def test_a_cell_whose_world_failed_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> tuple[Evaluation, list[Episode]]:
        return Evaluation(tasks={}, faults=2), []

    monkeypatch.setattr("palaestra.benchmarks.ablations.cells.evaluate_policy", fail)
    with pytest.raises(InfrastructureError, match="warm-start-0: the world failed in 4 episodes"):
        run_cell(library()["demo"], CellKey("warm-start", 0), SMALL, tmp_path / "cells", tmp_path / "work")
    assert not (tmp_path / "cells").exists()


def test_a_damaged_cell_is_named(tmp_path: Path) -> None:
    (tmp_path / "expert-0.json").write_bytes(orjson.dumps({"arm": "expert"}))
    with pytest.raises(RecordError, match=r"expert-0\.json.*remove it to run the cell anew"):
        read_cells(tmp_path, SMALL, library())


def test_processes_of_their_own_run_the_cells_of_a_world_that_a_pack_holds(tmp_path: Path) -> None:
    pack = str(write_pack(tmp_path / "ablation_ward", id="ablation-ward"))
    keys = [CellKey("warm-start", seed) for seed in (0, 1)]
    materials = site_materials(pack, ["demo"], SMALL.demonstrations)
    run_cells(materials, keys, SMALL, cells=tmp_path / "cells", work=tmp_path / "work", jobs=2, bar=silent, say=print)
    assert sorted(read_cells(tmp_path / "cells", SMALL, materials)) == keys


def test_no_cell_begins_when_the_time_is_over_and_the_ones_left_are_named(tmp_path: Path) -> None:
    said: list[str] = []
    keys = [CellKey("expert", 0), CellKey("uniform", 2)]
    run_cells(
        library(), keys, SMALL, cells=tmp_path, work=tmp_path, jobs=1, minutes=0, bar=silent, say=said.append
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
    (table,) = ablation_tables(found, SMALL, {"demo": [GROUP]}, names=["branching", "reward"], seeds=3)
    return table


def test_a_table_has_each_seed_and_the_paired_difference(branching: Table) -> None:
    rows = {row[1]: row for row in branching.rows}
    column = dict(zip(branching.columns, rows[ARMS["expert"].what], strict=True))
    assert column["solved at temperature 1, %"] == f"{fmean([75, 25]):.1f}, 2 training seeds: 75.0, 25.0"
    assert column["over no-branching at 1"] == "+50.0, 1 training seed"  # seed 1 has no partner
    assert column["solved at temperature 0.3, %"] == "0.0, 2 training seeds: 0.0, 0.0"
    assert (column["harm, %"], column["unfinished, %"]) == ("15.0", "5.0")


def test_stale_arms_are_compared_with_grpo_at_their_staleness_where_both_began_alike() -> None:
    cells = [
        replace(made(arm, seed, {"w/a/0": solved}), start=start, lag={"mean": 0.8, "last": 1.0})
        for arm, seed, solved, start in (
            ("grpo-stale-1", 0, (0, 0), "one"),
            ("vespo-stale-1", 0, (1, 1), "one"),
            ("grpo-stale-1", 1, (1, 1), "another"),
            ("vespo-stale-1", 1, (0, 0), "anew"),
            ("vespo-stale-4", 0, (1, 0), "one"),
        )
    ]
    found = {CellKey(cell.arm, cell.seed): cell for cell in cells}
    (table,) = ablation_tables(found, SMALL, {"demo": [GROUP]}, names=["staleness"], seeds=2)
    rows = {row[1]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert rows["VESPO, staleness 1"]["over GRPO at 1"] == "+100.0, 1 training seed"  # seed 1 began otherwise
    assert rows["VESPO, staleness 4"]["over GRPO at 1"] == rows["GRPO, staleness 1"]["over GRPO at 1"] == ""
    assert rows["VESPO, staleness 1"]["lag"] == "0.8, last 1.0"
    assert rows[ARMS["expert"].what]["lag"] == ""


def test_a_table_lists_what_is_not_run(branching: Table) -> None:
    assert {row[1]: row[-1] for row in branching.rows} == {
        ARMS["expert"].what: "seed 2",
        ARMS["no-branching"].what: "seed 1, 2",
    }
    assert "Is branching worth its time?" in tables_markdown([branching])
