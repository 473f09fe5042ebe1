"""`palaestra train`: what a dry run states, and that nothing is written before everything is checked."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from palaestra.cli.app import app
from palaestra.cli.train import world_options
from palaestra.errors import PalaestraError
from palaestra.trainers import WorldConfig
from worlds.registration import LIBRARY_ID
from worlds.training import library_settings

SETTINGS = library_settings(
    """
[sft]
steps = 1
batch = 2

[grpo]
steps = 1
group_size = 2
limits = { per_step = 1 }
play = { context = 400, turn = 24 }
pool = { agents = 2 }
"""
)
MISSING = f"cuda:{torch.cuda.device_count() if torch.cuda.is_available() else 0}"


def train(folder: Path, *arguments: str, settings: Sequence[str] = ()) -> Result:
    file = folder.parent / "run.toml"
    file.write_text(SETTINGS)
    given = [text for setting in settings for text in ("--set", setting)]
    return CliRunner().invoke(
        app, ["train", str(file), "--out", str(folder), *given, *arguments], env={"COLUMNS": "160"}
    )


def test_a_dry_run_states_placement_and_memory_and_writes_nothing(tmp_path: Path) -> None:
    settings = ["grpo.learner.micro_tokens=900", 'grpo.learner.precision="bf16"', "grpo.objective.preset=grpo_kl"]
    told = train(tmp_path / "run", "--dry-run", settings=settings)
    assert told.exit_code == 0, told.output
    for said in (
        "cpu, fp32, layout packed, 16,384 tokens a micro-batch",
        "cpu, bf16, layout shared, 900 tokens a micro-batch",
        "cpu, fp32, native, 64 turns at once",
        "1 for arithmetic",
        "Memory and disk, MiB",
        "gradients",
        "optimiser, two moments",
        "activations of a micro-batch, at most",
        "reference policy",
        "keys and values, at most",
        "copy for a save",
        "two saves",
        "in all",
    ):
        assert said in told.output, said
    assert not (tmp_path / "run").exists()


def test_a_dry_run_states_what_is_branched(tmp_path: Path) -> None:
    settings = ['grpo.branching={pivots=["best"], continuations=3, weight=0.5}']
    shown = train(tmp_path / "run", "--dry-run", settings=settings)
    assert shown.exit_code == 0, shown.output
    assert "a fork of each group without a solution: best; 3 continuations of each; weight of their loss: 0.5" in (
        " ".join(shown.output.split())
    )


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("grpo.steps=-3", "steps=-3"),
        ("sft.steps=0", "steps=0"),
        ("grpo.learner.lr=-1.0", "lr=-1.0"),
        ("grpo.group_size=1", "group_size=1"),
        ("threads=0", "threads=0"),
        (f"device={MISSING}", f"device='{MISSING}'"),
        (f"grpo.engine.device={MISSING}", f"grpo.engine.device='{MISSING}'"),
        ("grpo.play.context=900", "grpo.play.context=900: the policy takes 512 tokens"),
        ("grpo.engine.context=300", "grpo.engine.context=300 is less"),
        ("grpo.engine.capacity=450", "grpo.engine.capacity=450"),
        ("grpo.vllm={ python = 'no/such/python' }", "grpo.vllm.python='no/such/python': no program"),
        ("trackers=['no-such-tracker']", "no-such-tracker"),
        ("policy.checkpoint=no/such/folder", "no/such/folder"),
    ],
)
def test_what_cannot_work_is_refused_before_the_folder_is_made(setting: str, says: str, tmp_path: Path) -> None:
    told = train(tmp_path / "run", settings=[setting])
    assert isinstance(told.exception, PalaestraError), told.exception
    assert says in str(told.exception)
    assert not (tmp_path / "run").exists()


def test_a_replay_of_what_is_no_run_is_refused_before_the_folder_is_made(tmp_path: Path) -> None:
    told = train(tmp_path / "run", "--replay", str(tmp_path / "none"))
    assert isinstance(told.exception, PalaestraError)
    assert not (tmp_path / "run").exists()


def test_a_run_begins_with_what_it_is_about_to_do_and_where(tmp_path: Path) -> None:
    told = train(tmp_path / "run")
    assert told.exit_code == 0, told.output
    plan, _, _ = told.output.partition("sft step 1:")
    assert plan.startswith(f"writes {tmp_path / 'run'}")
    for line in ("sft: 1 steps of 2 of ", "grpo: 1 steps of 1 groups, 2 trajectories", "grpo learner: cpu, fp32, "):
        assert line in plan, line


def test_a_run_ends_with_the_command_that_measures_it(tmp_path: Path) -> None:
    """With what `eval` would not know: the world, its families and variant, and the budgets of an episode."""
    settings = ['world.families=["renew-loan"]', 'world.switches={surface="generic"}']
    told = train(tmp_path / "run", settings=settings)
    assert told.exit_code == 0, told.output
    assert told.output.splitlines()[-1] == (
        f"measure it: palaestra eval {tmp_path / 'run' / 'grpo' / 'checkpoint'} --world {LIBRARY_ID} "
        "--family renew-loan --surface generic --context 400 --turn 24"
    )


def test_a_benchmark_is_measured_as_a_suite() -> None:
    """`eval --world` takes Palaestra's own worlds alone."""
    assert world_options([WorldConfig(env_id="palaestra/ALFWorld-v0", split="generated-train")]) == [
        "--suite",
        "alfworld",
    ]
    assert world_options([WorldConfig()]) == []


def test_what_a_run_says_is_a_line_each_with_every_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its length, and though names of sections stand in brackets."""
    text = f"grpo step 3: alarm, {'and so on, ' * 20}raise [grpo.limits] or [sft]"

    def begin(plan: object, out: Path, *, say: Callable[[str], None], **rest: object) -> None:
        del plan, out, rest
        say(text)
        raise PalaestraError("that is all")

    monkeypatch.setattr("palaestra.trainers.loops.run", begin)
    assert text in train(tmp_path / "run").output.splitlines()


def test_a_run_is_amended_with_a_flag_and_a_dry_run_says_what_would_be_changed(tmp_path: Path) -> None:
    assert train(tmp_path / "run").exit_code == 0
    changes = ["grpo.steps=2", "grpo.updates=1"]
    refused = train(tmp_path / "run", "--dry-run", settings=changes)
    assert "grpo.updates: 2 -> 1 (trajectory); give --amend" in str(refused.exception)
    shown = train(tmp_path / "run", "--dry-run", "--amend", settings=changes)
    assert "changed: grpo.steps" in shown.output
    assert "2 -> 1 (trajectory)" in shown.output
    assert not (tmp_path / "run" / "lineage.jsonl").exists()
    went_on = train(tmp_path / "run", "--amend", settings=changes)
    assert went_on.exit_code == 0, went_on.output
    assert "grpo step 1: grpo.updates 2 -> 1" in " ".join(went_on.output.split())
