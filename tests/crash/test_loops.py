"""Training loops that are killed again and again: what was acknowledged stands, and every episode counts once."""

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from crash.kills import Nursery, nursery
from crash.loops import CONFIGS, EXPERT, FORKING, IMITATING, REJECTION
from property.budget import KILLS, LOOP_SHARDS


def batches_of(kind: str) -> list[int]:
    """The steps of a run that are trained on rollouts."""
    if kind == "rejection":
        return list(range(REJECTION.rounds))
    policy_gradient = {**CONFIGS, **FORKING}
    return list(range(policy_gradient[kind].steps if kind in policy_gradient else EXPERT.steps))


def check_counted_once(kind: str, result: Any) -> None:
    """Each step was trained once, and no trajectory twice."""
    assert [step for step, _ in result["ledger"]] == batches_of(kind)
    trained = [trajectory for _, groups in result["ledger"] for _, members in groups for trajectory in members]
    config = {**CONFIGS, **FORKING, **IMITATING}[kind]
    assert len(trained) == len(batches_of(kind)) * config.limits.per_step * config.group_size
    continued = [trajectory for _, forks in result["branches"] for fork in forks for trajectory in fork]
    assert len({*trained, *continued}) == len(trained) + len(continued)
    assert bool(continued) == kind.endswith("branching")


def retrained(runs: Nursery, kind: str, done: Path, fresh: Path) -> Any:
    """What the batches that a run wrote down come to, trained on anew from its first step."""
    shutil.copytree(done, fresh)
    for name in ("checkpoint", "checkpoint.previous"):
        shutil.rmtree(fresh / "grpo" / name)
    return runs.run(f"{kind} {fresh}")


@pytest.mark.parametrize("shard", LOOP_SHARDS)
@pytest.mark.parametrize("kind", [*CONFIGS, *FORKING, *IMITATING])
def test_kills_at_random_moments_lose_nothing_that_was_acknowledged(tmp_path: Path, kind: str, shard: int) -> None:
    rng = random.Random(f"{kind} {shard}")  # noqa: S311
    with nursery("crash.loop_nursery") as runs:
        whole: Any = runs.run(f"{kind} {tmp_path / 'whole'}")
        check_counted_once(kind, whole)
        length, kills, finished = runs.seconds, 0, 0
        while kills < KILLS:
            result: Any = None
            here = tmp_path / str(finished)
            while result is None:
                # Once there have been enough, the run may live to its end.
                after = rng.uniform(0, length) if kills < KILLS else None
                result = runs.run(f"{kind} {here}", killed_after=after)
                kills += result is None
            check_counted_once(kind, result)
            if not kind.startswith("async"):
                assert result == whole
            else:  # which groups come first depends on the machine; what they come to does not
                assert result["sft"] == whole["sft"]
                assert retrained(runs, kind, here, tmp_path / "retrained") == result
                shutil.rmtree(tmp_path / "retrained")
            left = {path.name for path in (here / "grpo").iterdir() if not path.name.startswith("schedule-")}
            assert left == {"batches.jsonl", "groups.jsonl", "checkpoint", "checkpoint.previous"}
            finished += 1
