"""A run that draws with vLLM: the same loop, over the same protocol."""

from dataclasses import replace
from pathlib import Path

import pytest

from crash.loops import ASYNC, grpo_loop, run, sft_loop
from engines.interpreter import vllm_python
from palaestra.errors import ConfigError
from palaestra.trainers.engines.vllm import VllmConfig
from palaestra.trainers.loops import RecordedRun, recorded_batches


@pytest.mark.xdist_group("vllm")
def test_a_run_learns_from_what_vllm_draws_and_gives_it_new_weights(tmp_path: Path) -> None:
    warm = run(sft_loop(steps=40), tmp_path / "sft").policy
    config = replace(ASYNC, steps=3, vllm=VllmConfig(python=vllm_python()))
    result = run(grpo_loop(warm, config), tmp_path / "grpo")
    assert result.policy.digest() != warm.digest()
    assert [batch.step for batch in recorded_batches(tmp_path / "grpo")] == [0, 1, 2]
    ratios = [row["policy/ratio_max"] for row in result.progress.history if row.get("staleness/max") == 0]
    assert all(abs(ratio - 1) < 1e-3 for ratio in ratios), "both work out the same log-probabilities"
    loop = grpo_loop(warm, config)
    recorded = RecordedRun(
        directory=tmp_path, schedule=[], batches={}, fingerprint=loop.fingerprint(), settings=loop.settings()
    )
    with pytest.raises(ConfigError, match="held to no record"):
        run(grpo_loop(warm, config, replay=recorded), tmp_path / "again")
