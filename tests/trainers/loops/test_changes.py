"""A run that is started again: which changes of settings are accepted, and what is written of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from crash.loops import ledger
from palaestra.errors import CheckpointError, ConfigError, ReplayError
from palaestra.trainers.lineage import LineageEntry, read_lineage
from palaestra.trainers.loops import load_config, plan_run, read_config, recorded_batches, run
from palaestra.trainers.loops.changes import accept_settings, check_changes, compare_settings, flat_document
from palaestra.trainers.loops.config import TrainConfig
from palaestra.trainers.loops.placement import place
from palaestra.trainers.loops.saves import read_progress
from palaestra.trainers.loops.setting_classes import SETTING_RULES, flat_settings, rule_of
from palaestra.trainers.stage_kinds import STAGE_KINDS
from worlds.registration import LIBRARY_ID
from worlds.training import library_settings

SETTINGS = library_settings(
    """
[sft]
steps = 3
batch = 4
learner = { lr = 0.02 }

[grpo]
steps = 2
group_size = 4
limits = { per_step = 2 }
play = { context = 400, turn = 24 }
pool = { agents = 8 }
learner = { lr = 2e-3 }
"""
)


def start(folder: Path, *settings: str, amend: bool = False, replay: Path | None = None) -> list[str]:
    """`palaestra train`, and what it says."""
    file = folder.parent / "run.toml"
    file.write_text(SETTINGS)
    said: list[str] = []
    run(plan_run(load_config(file, settings=settings)), folder, amend=amend, replay=replay, say=said.append)
    return said


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of two steps of GRPO."""
    folder = tmp_path_factory.mktemp("done") / "run"
    start(folder)
    return folder


@pytest.fixture
def folder(done: Path, tmp_path: Path) -> Path:
    """A copy of it, to go on with."""
    return copied(done, tmp_path / "run")


def copied(source: Path, target: Path) -> Path:
    for path in source.rglob("*"):
        if path.is_file():
            to = target / path.relative_to(source)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
    return target


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def leaves(config: TrainConfig) -> set[str]:
    """The settings of a document, without numbers of worlds."""
    return {".".join(part for part in name.split(".") if not part.isdigit()) for name in flat_document(config)}


# classes


def test_every_setting_has_a_class_and_every_class_a_setting() -> None:
    plain: dict[str, Any] = {kind: {} for kind in STAGE_KINDS}
    optional: dict[str, dict[str, Any]] = {
        "sft": {},
        "expert": {"vllm": {}, "branching": {}},
        "rejection": {"vllm": {}, "branching": {}},
        "grpo": {"vllm": {}, "branching": {}, "weight_noise": {}},
    }
    whole = {kind: {"learner": {"lora": {}}, **optional[kind]} for kind in STAGE_KINDS}
    several: dict[str, Any] = {kind: {} if kind == "sft" else {"replicas": {}} for kind in STAGE_KINDS}
    known = leaves(read_config(whole)) | leaves(read_config(plain)) | leaves(read_config(several))
    absent = {name for name in SETTING_RULES if name.startswith("grpo.critic.learner.lora.")}  # it takes no adapters
    assert known == SETTING_RULES.keys() - absent - {"world", *STAGE_KINDS}  # how many there are


@pytest.mark.parametrize(
    ("setting", "kind", "rounding"),
    [
        ("seed", "identity", False),
        ("world.0.families", "identity", False),
        ("world.12.workers", "operational", False),
        ("grpo.learner.lora", "identity", False),
        ("grpo.learner.lr", "trajectory", False),
        ("grpo.objective.parts", "trajectory", False),
        ("grpo.engine.keys_and_values", "trajectory", False),
        ("grpo.learner.keys_and_values", "trajectory", False),
        ("grpo.patience", "operational", False),
        ("grpo.save.every", "operational", False),
        ("grpo.alarms.kl", "operational", False),
        ("trackers", "operational", False),
        ("threads", "operational", True),
        ("grpo.replicas", "operational", True),
        ("expert.replicas.count", "operational", True),
        ("grpo.replicas.silence", "operational", False),
        ("device", "operational", True),
        ("grpo.learner.micro_tokens", "operational", True),
        ("grpo.learner.layout", "operational", True),
    ],
)
def test_what_a_change_of_a_setting_means(setting: str, kind: str, rounding: bool) -> None:
    rule = rule_of(setting)
    assert (rule.kind, rule.rounding) == (kind, rounding)
    assert rule.ends_replay == (kind != "operational" or rounding)


def test_settings_differ_by_name_and_a_section_is_one_change() -> None:
    before, after = (
        flat_document(read_config(table))
        for table in (
            {"grpo": {"steps": 3}},
            {
                "sft": {},
                "grpo": {
                    "steps": 4,
                    "learner": {"lora": {"rank": 4}},
                    "objective": {"parts": {"trust": {"high": 0.3}}},
                },
            },
        )
    )
    assert {change.setting for change in compare_settings(before, after)} == {
        "stages",
        "grpo.steps",
        "grpo.learner.lora",
        "grpo.objective.parts",
    }
    assert compare_settings(before, before) == []


def test_another_number_of_worlds_is_another_run(tmp_path: Path) -> None:
    world = {"env_id": LIBRARY_ID}
    before, after = (
        flat_document(read_config({"world": worlds, "grpo": {}}))
        for worlds in ([world], [world, {**world, "name": "b"}])
    )
    assert [change.setting for change in compare_settings(before, after)] == ["world"]
    with pytest.raises(CheckpointError, match=r"world: 1 -> 2 \(identity\)"):
        check_changes(compare_settings(before, after), amend=True, where=tmp_path)


def test_settings_of_a_stage_with_a_name_of_its_own_have_the_classes_of_its_kind() -> None:
    assert rule_of("grpo-late.learner.lr") == rule_of("grpo.learner.lr")
    table = {"stages": ["grpo", "grpo-late"], "grpo": {}, "grpo-late": {"steps": 2}}
    before, after = flat_document(read_config(table)), flat_document(read_config({**table, "grpo-late": {"steps": 3}}))
    [change] = compare_settings(before, after)
    assert change.sentence() == "grpo-late.steps: 2 -> 3 (operational)"


def test_the_document_of_an_earlier_version_names_a_stage_that_it_has_not_and_is_compared() -> None:
    """It had null in place of a stage, and no list of stages."""
    now = flat_document(read_config({"sft": {}, "grpo": {}}))
    before = {name: value for name, value in now.items() if name != "stages" and not name.startswith("sft.")}
    [change] = compare_settings({**before, "sft": None}, now)
    assert (change.setting, change.rule.kind) == ("sft", "operational")


def test_a_setting_that_an_earlier_version_did_not_have_is_not_compared() -> None:
    now = flat_document(read_config({"grpo": {}}))
    before = {name: value for name, value in now.items() if name != "device"}
    assert compare_settings(before, now) == compare_settings(now, before) == []


@pytest.mark.parametrize(
    ("setting", "kind"),
    [
        ("grpo.branching", "trajectory"),
        ("grpo-late.branching", "trajectory"),
        ("grpo.vllm", "trajectory"),
        ("grpo.learner.lora", "identity"),
    ],
)
def test_a_section_that_an_earlier_version_did_not_have_is_one_change(setting: str, kind: str) -> None:
    """It had no such section, so it can only have run without."""
    stage, *names = setting.split(".")
    table: dict[str, Any] = {"stages": ["grpo", stage], "grpo": {}, stage: {}} if stage != "grpo" else {"grpo": {}}
    before = flat_document(read_config(table))
    assert before.pop(setting) is None
    section: dict[str, Any] = {}
    for name in reversed(names):
        section = {name: section}
    now = flat_document(read_config({**table, stage: section}))
    for sides, values in (((before, now), (None, "a section")), ((now, before), ("a section", None))):
        [change] = compare_settings(*sides)
        assert (change.setting, change.rule.kind) == (setting, kind)
        assert (change.before, change.after) == values


# resuming


@pytest.mark.parametrize(
    ("settings", "amend", "says"),
    [
        (["seed=1"], False, ["seed: 0 -> 1 (identity)", "another folder with --out"]),
        (["seed=1"], True, ["seed: 0 -> 1 (identity)", "give the old values"]),
        (["grpo.group_size=2", "sft.batch=2"], True, ["grpo.group_size: 4 -> 2 (identity)"]),
        (["grpo.learner.lora={rank=4}"], True, ["grpo.learner.lora: None -> 'a section' (identity)"]),
        (["grpo.learner.lr=1e-4"], False, ["grpo.learner.lr: 0.002 -> 0.0001 (trajectory)", "give --amend"]),
        (
            ['grpo.engine.keys_and_values="fp8"'],
            False,
            ["grpo.engine.keys_and_values: 'states' -> 'fp8' (trajectory)", "give --amend"],
        ),
        (["grpo.branching={}"], False, ["grpo.branching: None -> 'a section' (trajectory)", "give --amend"]),
        (["grpo.limits.staleness=1", "seed=1"], False, ["staleness: 0 -> 1 (trajectory)", "seed: 0 -> 1"]),
    ],
)
def test_a_change_that_may_not_be_made_is_named_with_its_class_before_anything_is_written(
    settings: Sequence[str], amend: bool, says: Sequence[str], done: Path
) -> None:
    before = bytes_of(done)
    with pytest.raises(CheckpointError) as told:
        start(done, "grpo.steps=3", *settings, amend=amend)
    assert all(text in str(told.value) for text in (*says, str(done), "nothing was changed")), told.value
    assert bytes_of(done) == before


def test_what_is_changed_after_an_out_of_memory_is_accepted_and_written_down(folder: Path) -> None:
    changes = ["grpo.learner.micro_tokens=2000", "grpo.patience=7.0", 'grpo.learner.layout="padded"']
    said = start(folder, "grpo.steps=3", *changes)
    entries = {entry.setting: entry for entry in read_lineage(folder)}
    assert entries["grpo.learner.micro_tokens"] == LineageEntry(
        stage="grpo",
        step=2,
        setting="grpo.learner.micro_tokens",
        before=16384,
        after=2000,
        kind="operational",
        ends_replay=True,
    )
    assert {name for name, entry in entries.items() if entry.ends_replay} == {
        "grpo.learner.micro_tokens",
        "grpo.learner.layout",
    }
    assert set(entries) == {"grpo.steps", *(change.partition("=")[0] for change in changes)}
    assert any("grpo step 2: grpo.patience 600.0 -> 7.0 (operational)" in text for text in said)
    assert orjson.loads((folder / "config.json").read_bytes())["grpo"]["learner"]["micro_tokens"] == 2000
    assert read_progress(folder / "grpo" / "checkpoint").step == 3


def test_a_setting_of_no_stage_is_changed_at_the_step_of_the_last_stage(folder: Path) -> None:
    file = folder.parent / "run.toml"
    file.write_text(SETTINGS)
    [entry] = accept_settings(folder, place(load_config(file, settings=["threads=2"])), amend=False)
    assert (entry.stage, entry.step, entry.setting, entry.ends_replay) == ("grpo", 2, "threads", True)
    assert accept_settings(folder, place(load_config(file, settings=["threads=2"])), amend=False) == []


def test_an_amended_run_goes_on_with_the_new_value_and_needs_no_second_amendment(folder: Path) -> None:
    kl = 'grpo.objective.parts={regularisers=[{part="kl", estimator="k3", coefficient=0.01}]}'
    new = ["grpo.learner.lr=1e-4", "grpo.updates=1", "grpo.limits.staleness=1", kl]
    start(folder, "grpo.steps=3", *new, amend=True)
    assert read_progress(folder / "grpo" / "checkpoint").settings["grpo.learner.lr"] == 1e-4
    start(folder, "grpo.steps=4", *new)
    lineage = [(entry.setting, entry.step, entry.kind) for entry in read_lineage(folder)]
    assert ("grpo.learner.lr", 2, "trajectory") in lineage
    assert ("grpo.steps", 3, "operational") in lineage
    assert read_progress(folder / "grpo" / "checkpoint").step == 4


def forget_branching(folder: Path) -> None:
    """Make the run one of a version whose policy-gradient stage could not branch."""
    document = orjson.loads((folder / "config.json").read_bytes())
    del document["grpo"]["branching"]
    (folder / "config.json").write_bytes(orjson.dumps(document))


@pytest.mark.parametrize("earlier", [False, True], ids=["this-version", "earlier-version"])
def test_branching_begins_half_way_only_where_it_is_meant(earlier: bool, folder: Path) -> None:
    if earlier:
        forget_branching(folder)
    settings = ["grpo.steps=3", 'grpo.branching={pivots=["best"]}']
    with pytest.raises(CheckpointError, match=r"grpo.branching: None -> 'a section' \(trajectory\).*give --amend"):
        start(folder, *settings)
    assert read_progress(folder / "grpo" / "checkpoint").step == 2
    start(folder, *settings, amend=True)
    assert [batch.branches is None for batch in recorded_batches(folder / "grpo")] == [True, True, False]
    lineage = {entry.setting: entry for entry in read_lineage(folder)}
    assert (lineage["grpo.branching"].step, lineage["grpo.branching"].ends_replay) == (2, True)
    with pytest.raises(CheckpointError, match=r"grpo.branching: 'a section' -> None \(trajectory\)"):
        start(folder, "grpo.steps=4")


def test_an_amendment_that_was_accepted_stands_where_the_run_was_killed_before_its_next_save(folder: Path) -> None:
    file = folder.parent / "run.toml"
    file.write_text(SETTINGS)
    config = place(load_config(file, settings=["grpo.learner.lr=1e-4", "grpo.steps=3"]))
    accept_settings(folder, config, amend=True)
    start(folder, "grpo.learner.lr=1e-4", "grpo.steps=3")
    assert read_progress(folder / "grpo" / "checkpoint").step == 3
    assert [entry.setting for entry in read_lineage(folder)] == ["grpo.steps", "grpo.learner.lr"]


def test_a_stage_that_was_killed_before_its_first_save_is_held_to_its_settings_too(done: Path, tmp_path: Path) -> None:
    folder = copied(done, tmp_path / "run")
    for save in (folder / "grpo").glob("checkpoint*"):
        for path in sorted(save.rglob("*"), reverse=True):
            path.unlink()
        save.rmdir()
    with pytest.raises(CheckpointError, match=r"grpo.play.temperature: 1.0 -> 0.5"):
        start(folder, "grpo.play.temperature=0.5")
    assert ledger(folder / "grpo") == ledger(done / "grpo")


# replay


def test_a_replay_with_other_settings_names_them(done: Path, tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match=r"threads: 1 -> 2 \(operational\)"):
        start(tmp_path / "again", "threads=2", replay=done)
    with pytest.raises(ReplayError, match=r"grpo.learner.lr: 0.002 -> 0.0001 \(trajectory\)"):
        start(tmp_path / "again", "grpo.learner.lr=1e-4", replay=done)
    assert not (tmp_path / "again").exists()


def test_a_replay_may_have_other_patience(done: Path, tmp_path: Path) -> None:
    start(tmp_path / "again", "grpo.patience=500.0", replay=done)
    assert ledger(tmp_path / "again" / "grpo") == ledger(done / "grpo")


def test_a_run_that_was_changed_on_its_way_has_no_replay_and_the_changes_are_named(
    folder: Path, tmp_path: Path
) -> None:
    start(folder, "grpo.steps=3", "grpo.learner.micro_tokens=2000")
    with pytest.raises(ReplayError, match=r"grpo step 2: grpo.learner.micro_tokens 16384 -> 2000"):
        start(tmp_path / "again", "grpo.steps=3", "grpo.learner.micro_tokens=2000", replay=folder)


def test_a_replay_follows_a_change_before_the_first_step_and_says_so(folder: Path, tmp_path: Path) -> None:
    entry = LineageEntry(
        stage="grpo", step=0, setting="grpo.updates", before=1, after=2, kind="trajectory", ends_replay=True
    )
    names = {"before": "from", "after": "to", "kind": "class"}
    line = {names.get(name, name): getattr(entry, name) for name in entry.__slots__}
    (folder / "lineage.jsonl").write_bytes(orjson.dumps(line) + b"\n")
    said = start(tmp_path / "again", replay=folder)
    assert any("the replay follows" in text and "grpo.updates 1 -> 2" in text for text in said)


def test_a_replay_without_rollouts_is_refused(done: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(SETTINGS.partition("[grpo]")[0])
    with pytest.raises(ConfigError, match=r"no stage with any; add a section \[grpo\]"):
        run(plan_run(load_config(file)), tmp_path / "again", replay=done)


def test_flat_settings_keep_values_that_are_tables_whole() -> None:
    flat = flat_settings({"world": [{"switches": {"noise": {"failures": 10}}}], "grpo": {"objective": {"parts": {}}}})
    assert flat == {"world.0.switches": {"noise": {"failures": 10}}, "grpo.objective.parts": {}}
