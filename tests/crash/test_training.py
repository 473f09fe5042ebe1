"""Training that is killed again and again comes to the end that it would have come to."""

import random
from pathlib import Path

import pytest

from crash.kills import nursery
from property.budget import KILLS, REFERENCE_SHARDS


@pytest.mark.parametrize("shard", REFERENCE_SHARDS)
def test_kills_at_random_moments_change_nothing(tmp_path: Path, shard: int) -> None:
    rng = random.Random(20 + shard)  # noqa: S311
    with nursery("crash.nursery") as runs:
        whole = runs.run(tmp_path / "whole")
        assert whole is not None
        assert runs.said == []
        length, kills, finished = runs.seconds, 0, 0
        while kills < KILLS:
            result, here = None, tmp_path / str(finished)
            while result is None:
                # Once there have been enough, the run may live to its end.
                result = runs.run(here, killed_after=rng.uniform(0, length) if kills < KILLS else None)
                kills += result is None
            assert result == whole
            assert {path.name for path in here.iterdir()} == {"warm-up", "warm-up.previous", "grpo", "grpo.previous"}
            finished += 1
        assert any("goes on from step" in text for text in runs.said)
