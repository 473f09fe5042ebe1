"""Noise on the weights that draw: its schedule, where it falls, and that the objective takes note of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from crash.loops import SYNC, WARM, Stopped, figures, grpo_loop, run, sft_loop, stopped
from palaestra.errors import ConfigError
from palaestra.trainers.data.batch import concatenate
from palaestra.trainers.learner import Learner
from palaestra.trainers.loops.placement import place
from palaestra.trainers.loops.reading import read_config
from palaestra.trainers.loops.record import RecordedRun, recorded_batches
from palaestra.trainers.loops.weight_noise import WeightNoise, WeightNoiseConfig
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import DecoderShape

EACH_STEP = WeightNoiseConfig(hold=1)
SHAPE = DecoderShape(
    vocabulary=50, hidden=128, layers=2, heads=2, kv_heads=1, head_dim=64, mlp=64, context=32, qk_norm=True
)


def test_the_deviation_follows_the_published_schedule() -> None:
    """The numbers are those of QeRL's scripts: ten stages from 1e-2 to 1e-4."""
    golden = [0, 0.01, 0.00562341, 0.00316228, 0.00177828, 0.001, 0.000562341, 0.000316228, 0.000177828, 0.0001]
    assert [EACH_STEP.deviation(step) for step in range(10)] == pytest.approx(golden, rel=1e-5)
    assert EACH_STEP.deviation(1_000) == EACH_STEP.deviation(9)
    assert [WeightNoiseConfig(hold=3).deviation(step) for step in (2, 3, 5, 6)] == pytest.approx(
        [0, 0.01, 0.01, 0.00562341], rel=1e-5
    )


def test_it_falls_on_the_gains_of_every_norm_and_on_nothing_else() -> None:
    model = Decoder(SHAPE)
    weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    noisy = WeightNoise(EACH_STEP, "grpo", 0).add(weights, 1)
    gains = {f"{name}.weight" for name, part in model.named_modules() if isinstance(part, nn.RMSNorm)}
    assert len(gains) == 4 * SHAPE.layers + 1
    assert {name for name in weights if not torch.equal(weights[name], noisy[name])} == gains
    assert all(torch.equal(weight, model.get_parameter(name)) for name, weight in weights.items())
    noise_N = torch.cat([noisy[name] - weights[name] for name in sorted(gains)])
    assert noise_N.mean().abs() < 4 * 0.01 / noise_N.numel() ** 0.5
    assert noise_N.std() == pytest.approx(0.01, rel=4 / (2 * noise_N.numel()) ** 0.5)


def test_each_version_seed_and_stage_has_noise_of_its_own() -> None:
    weights = {"norm.weight": torch.ones(64)}
    drawn = [
        WeightNoise(EACH_STEP, *names).add(weights, version)["norm.weight"]
        for names, version in (
            (("grpo", 0), 1),
            (("grpo", 0), 2),
            (("grpo", 1), 1),
            (("grpo-late", 0), 1),
            (("grpo", 0), 1),
        )
    ]
    assert torch.equal(drawn[0], drawn[4])
    assert all(not torch.equal(drawn[0], other) for other in drawn[1:4])
    assert torch.equal(WeightNoise(EACH_STEP, "grpo", 0).add(weights, 0)["norm.weight"], weights["norm.weight"])


def test_small_noise_is_not_lost_in_the_format_of_the_weights() -> None:
    weights = {"norm.weight": torch.ones(4_096, dtype=torch.bfloat16)}
    noisy = WeightNoise(replace(EACH_STEP, start=1e-4), "grpo", 0).add(weights, 1)["norm.weight"]
    assert (noisy - 1).std() == pytest.approx(1e-4, rel=0.1)


def test_a_stage_draws_with_it_and_trains_without_it(tmp_path: Path) -> None:
    """Log-probabilities of rollouts are those of noisy weights; a rate of almost 0 keeps the others as they were."""
    start = run(sft_loop(steps=20), tmp_path / "sft").policy
    noise = WeightNoiseConfig(start=0.2, end=0.1, levels=3, hold=1)
    config = replace(SYNC, steps=3, weight_noise=noise, learner=replace(SYNC.learner, lr=1e-30))
    done = run(grpo_loop(start, config), tmp_path / "grpo")
    learner = Learner(start.model, config.learner)
    weights = learner.weights()
    for batch in recorded_batches(tmp_path / "grpo"):
        tokens = concatenate([group.batch() for group in batch.groups])
        model = start.copy().model
        model.load(dict(WeightNoise(noise, "grpo", 0).add(weights, batch.step)))
        own_T, drawn_T, mask_T = (
            Learner(model, config.learner).columns(tokens, ["logp"], temperature=1.0)["logp"],
            tokens.logprob_T,
            tokens.trained_T,
        )
        assert (own_T - drawn_T)[mask_T].abs().max() < 1e-3
        without_T = learner.columns(tokens, ["logp"], temperature=1.0)["logp"]
        assert ((without_T - drawn_T)[mask_T].abs().max() > 1e-2) == (batch.step > 0)
    rows = done.progress.history
    assert [row["rollouts/weight_noise"] for row in rows] == pytest.approx([0, 0.2, 0.1])
    for name, weight in done.policy.model.named_parameters():
        assert torch.equal(weight, start.model.get_parameter(name)), name


def test_a_run_resumes_and_replays_with_it(tmp_path: Path) -> None:
    start = run(sft_loop(steps=WARM), tmp_path / "sft").policy
    config = replace(SYNC, weight_noise=WeightNoiseConfig(start=0.1, end=0.05, levels=3, hold=1))
    whole = run(grpo_loop(start, config), tmp_path / "whole")
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(start, config), 2), tmp_path / "cut")
    cut = run(grpo_loop(start, config), tmp_path / "cut")
    again = run(grpo_loop(start, config, replay=RecordedRun.of(tmp_path / "whole")), tmp_path / "again")
    assert figures(cut) == figures(again) == figures(whole)
    assert cut.policy.digest() == again.policy.digest() == whole.policy.digest()
    without = run(grpo_loop(start, replace(config, weight_noise=None)), tmp_path / "without")
    assert without.policy.digest() != whole.policy.digest()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"grpo": {"steps": 10}}, "steps=10, weight_noise.hold=10: the stage ends on the first level"),
        ({"grpo": {"steps": 40, "objective": {"parts": {"ratio": {"anchor": "old"}}}, "limits": {"staleness": 0}}},
         'objective.parts.corrections = ["token-tis"]'),
        ({"invariant": True, "grpo": {"steps": 40}}, "invariant=True, weight_noise"),
        ({"grpo": {"weight_noise": {"start": 1e-4, "end": 1e-2}}}, "start=0.0001, end=0.01: the noise falls"),
        ({"grpo": {"weight_noise": {"levels": 2}}}, "levels=2: it must be at least 3"),
        ({"grpo": {"weight_noise": {"hold": 0}}}, "hold=0: it must be at least 1"),
        ({"grpo": {"weight_noise": {"start": 0}}}, "start=0"),
        ({"expert": {"weight_noise": {}}}, "weight_noise: unknown"),
    ],
)  # fmt: skip
def test_settings_without_a_meaning_are_refused(settings: dict[str, Any], says: str) -> None:
    table: dict[str, Any] = {"device": "cpu", **settings}
    if "grpo" in table:
        table["grpo"] = {"weight_noise": {}, **table["grpo"]}
    with pytest.raises(ConfigError) as raised:
        place(read_config(table))
    assert says in str(raised.value)


def test_it_passes_where_tokens_or_time_end_the_stage() -> None:
    config = place(read_config({"device": "cpu", "grpo": {"tokens": 100, "weight_noise": {}}}))
    assert config.grpo is not None
    assert config.grpo.weight_noise == WeightNoiseConfig()
