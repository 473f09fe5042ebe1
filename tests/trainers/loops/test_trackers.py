"""What a run tells its trackers and its log: settings, figures and events, in all of them."""

from pathlib import Path
from typing import Any

import pytest
import wandb
from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
    EventAccumulator,
)

from palaestra.records import JsonObject
from palaestra.trainers.loops import load_config, plan_run, run
from palaestra.trainers.monitors import read_log
from palaestra.trainers.monitors.tracker import LOG
from worlds.training import library_settings

SETTINGS = library_settings(
    """
[sft]
steps = 60
batch = 4
warmup_steps = 2
learner = { lr = 0.02 }

[grpo]
steps = 2
group_size = 4
limits = { per_step = 4 }
play = { context = 400, turn = 24 }
pool = { agents = 8 }
learner = { lr = 2e-3 }
alarms = { entropy_floor = 100.0 }
probe = 1
probe_prompts = 2
""",
    trackers=["jsonl", "tensorboard", "wandb"],
)
"""The policy learns enough for groups to differ; entropy is below such a floor from the first step on."""
ALARM = "entropy collapse"
FIGURES = ("reward/mean", "policy/entropy", "collapse/information", "speed/tokens")


def test_settings_figures_and_alarms_are_in_every_tracker_and_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"MODE": "offline", "SILENT": "true", "CONSOLE": "off"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    begun: list[JsonObject] = []
    init = wandb.init

    def initialised(*, config: JsonObject, **given: Any) -> Any:
        begun.append(config)
        return init(config=config, **given)

    monkeypatch.setattr(wandb, "init", initialised)
    file = tmp_path / "run.toml"
    file.write_text(SETTINGS)
    said: list[str] = []
    run(plan_run(load_config(file)), tmp_path / "run", say=said.append)
    wandb.teardown()  # as at the process's end: its own process writes what is left
    stage = tmp_path / "run" / "grpo"

    rows = read_log(stage / LOG)
    steps = [row for row in rows if "event" not in row]
    assert [row["step"] for row in steps] == [1, 2]
    assert all(name in row for row in steps for name in FIGURES)
    events = [row for row in rows if row.get("event") == ALARM]
    assert [row["step"] for row in events] == [1], "people are told once of what lasts"

    board: Any = EventAccumulator(str(stage / "tensorboard"))
    board.Reload()
    tags = board.Tags()
    assert {*FIGURES} <= {*tags["scalars"]}
    assert {f"{ALARM}/text_summary", "settings/text_summary"} <= {*tags["tensors"]}

    assert begun[0] == begun[1], "both stages are of one run"
    assert begun[1]["grpo"]["alarms"]["entropy_floor"] == 100.0  # type: ignore[index, call-overload]
    sent = b"".join(path.read_bytes() for path in (stage / "wandb").glob("*/run-*.wandb"))
    for name in (*FIGURES, ALARM, "entropy_floor"):
        assert name.encode() in sent, name

    assert sum(line.startswith(f"grpo step 1: alarm, {ALARM}: The policy is left with") for line in said) == 1, said
    for step in ("sft step 60", "grpo step 2"):
        [line] = [line for line in said if line.startswith(f"{step}: 100% in ")]
        assert "  tokens/s " in line
        assert line.endswith(f"  saved at {step.split()[-1]}")
