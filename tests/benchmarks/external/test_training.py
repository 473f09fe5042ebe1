"""A policy is trained on a benchmark that others wrote, from its own solutions."""

from dataclasses import replace
from pathlib import Path

import pytest

from crash.loops import POLICY, SFT, SYNC
from outside import TOY_ID
from palaestra.errors import TaskError
from palaestra.trainers import TrainConfig, WorldConfig, plan_run, read_progress, run
from palaestra.trainers.progress import silent

pytestmark = pytest.mark.usefixtures("toy")
WORLD = WorldConfig(env_id=TOY_ID, split="train")


def test_a_benchmark_is_learnt_from_its_solutions_and_from_rollouts(tmp_path: Path) -> None:
    config = TrainConfig(
        threads=1,
        device="cpu",
        world=(WORLD,),
        policy=replace(POLICY, format="planner"),
        stages={"sft": replace(SFT, steps=2), "grpo": replace(SYNC, steps=2)},
        trackers=("jsonl",),
    )
    plan = plan_run(config)
    assert [(one.task.id, one.score.passed) for one in plan.demonstrations["sft"].episodes] == [("toy/drill/two", True)]
    run(plan, tmp_path / "run", bar=silent, say=lambda _: None)
    assert read_progress(tmp_path / "run" / "grpo" / "checkpoint").step == 2


def test_a_task_without_a_solution_is_refused_as_a_demonstration(tmp_path: Path) -> None:
    world = replace(WORLD, switches={"goldless": "two"})
    with pytest.raises(TaskError, match="the task has no solution of its own; take tasks that have one"):
        plan_run(TrainConfig(world=(world,), policy=POLICY, stages={"sft": SFT}))
