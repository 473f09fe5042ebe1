"""Pay that reads records alone comes to the same in every process."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crash.loops import SYNC, WARM, Stopped, grpo_loop, run, sft_loop, stopped
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.loops import RecordedRun, recorded_batches
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.policy import Policy

FLIPPED: Mapping[str, Any] = {"part": "flipped", "share": 0.21}


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A policy that has seen the oracle."""
    return run(sft_loop(steps=WARM), tmp_path_factory.mktemp("warm") / "sft").policy


@pytest.mark.parametrize("reward", [FLIPPED, {"part": "ungraded"}], ids=lambda reward: reward["part"])
def test_a_run_that_is_interrupted_or_replayed_is_paid_the_same(
    reward: Mapping[str, Any], warm: Policy, tmp_path: Path
) -> None:
    config = replace(SYNC, steps=3, objective=ObjectiveConfig(parts={"rewards": [reward]}))
    whole = run(grpo_loop(warm, config), tmp_path / "whole")
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, config), 2), tmp_path / "broken")
    resumed = run(grpo_loop(warm, config), tmp_path / "broken")
    again = run(grpo_loop(warm, config, replay=RecordedRun.of(tmp_path / "whole")), tmp_path / "again")
    assert resumed.policy.digest() == again.policy.digest() == whole.policy.digest()
    plain = run(grpo_loop(warm, replace(config, objective=ObjectiveConfig())), tmp_path / "plain")
    assert plain.policy.digest() != whole.policy.digest()


def test_another_seed_of_the_run_has_other_wrong_verdicts(warm: Policy, tmp_path: Path) -> None:
    config = replace(SYNC, steps=1, objective=ObjectiveConfig(parts={"rewards": [FLIPPED]}))
    chances: list[set[float]] = []
    for seed in (0, 1):
        run(grpo_loop(warm, config, seed=seed), tmp_path / str(seed))
        (batch,) = recorded_batches(tmp_path / str(seed))
        found = flatten([episode for group in batch.groups for episode in group.episodes])
        chances.append(set(found.column("chance_RK")[found.column("flip_RK") != 0].tolist()))
    assert chances[0].isdisjoint(chances[1]), "a number of 24 bits hardly repeats"
