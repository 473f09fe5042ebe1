"""An installed model goes through stages and engine as any policy: whole or with adapters, in its own format."""

from pathlib import Path
from typing import Any

import pytest

from packaged import write_checkpoint
from palaestra.trainers import load_policy, plan_run, read_config, run
from palaestra.trainers.run_folder import read_run

CONTEXT = 6000


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a tokenizer that has little more than bytes, so prompts are long."""
    folder = tmp_path_factory.mktemp("checkpoint")
    write_checkpoint(folder)
    return folder


def settings(checkpoint: Path, world: str, learner: dict[str, Any]) -> dict[str, Any]:
    return {
        "device": "cpu",
        "threads": 1,
        "trackers": ["jsonl"],
        "world": {"env_id": world},
        "policy": {"checkpoint": str(checkpoint)},
        "sft": {"steps": 1, "batch": 2, "learner": {**learner, "lr": 1e-3}},
        "grpo": {
            "steps": 1,
            "group_size": 2,
            "updates": 1,
            "limits": {"per_step": 2},
            "play": {"context": CONTEXT, "turn": 6, "turns": 2},
            "engine": {"context": CONTEXT, "capacity": 4 * CONTEXT, "rows": 4, "precision": "auto"},
            "learner": {**learner, "lr": 1e-3},
        },
    }


@pytest.mark.parametrize("learner", [{"precision": "auto"}, {"lora": {"rank": 2}}], ids=["whole", "adapters"])
def test_it_learns_from_demonstrations_and_rollouts(
    checkpoint: Path, terse_id: str, learner: dict[str, Any], tmp_path: Path
) -> None:
    plan = plan_run(read_config(settings(checkpoint, terse_id, learner)))
    assert plan.policy.codec.format.name == "smollm2"
    result = run(plan, tmp_path / "run", say=lambda _: None)
    learnt = load_policy(result.directory)
    assert learnt.codec.format.name == "smollm2"
    assert learnt.digest() != plan.policy.digest()
    sft, grpo = read_run(tmp_path / "run").stages
    assert (sft.steps, grpo.steps) == (1, 1)
    assert "reward/mean" in grpo.history[0]
