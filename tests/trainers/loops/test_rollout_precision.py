"""Rollouts in a lower precision than training are refused where nothing corrects for it; the message says what does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crash.loops import SYNC, grpo_loop, run, sft_loop
from palaestra.errors import ConfigError
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.flow import flow_of
from palaestra.trainers.loops.placement import place, placements
from palaestra.trainers.loops.reading import read_config
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.products import packed_bytes

BLIND = {"parts": {"ratio": {"anchor": "old"}}}
"""A ratio to the weights that the step began with; what drew the tokens is not looked at."""
NONE = {"parts": {"ratio": {"anchor": "old"}, "corrections": ["uncorrected"]}}
"""The settings say that nothing corrects."""
TIS = {"parts": {"ratio": {"anchor": "old"}, "corrections": ["token-tis"]}}


def settings(rollouts: str, training: str, **more: Any) -> dict[str, Any]:
    stage = {"engine": {"precision": rollouts}, "learner": {"precision": training}, "limits": {"staleness": 0}}
    return {"device": "cpu", "grpo": {**stage, **more}}


def of_vllm(training: str, **vllm: Any) -> dict[str, Any]:
    stage = {"vllm": vllm, "learner": {"precision": training}, "limits": {"staleness": 0}, "objective": BLIND}
    return {"device": "cpu", "grpo": stage}


@pytest.mark.parametrize(
    ("rollouts", "training"),
    [("fp8", "bf16"), ("fp8-block", "fp32"), ("bf16", "fp32"), ("fp8", "fp8-block"), ("bf16", "fp8"), ("fp32", "fp8")],
)
def test_other_formats_without_a_correction_are_refused(rollouts: str, training: str) -> None:
    with pytest.raises(ConfigError) as raised:
        place(read_config(settings(rollouts, training, objective=BLIND)))
    text = str(raised.value)
    assert f"engine.precision='{rollouts}', learner.precision='{training}'" in text
    assert "write the same precision for both" in text
    assert 'objective.parts.corrections = ["token-tis"]' in text


@pytest.mark.parametrize(("rollouts", "training"), [("fp8", "bf16"), ("bf16", "fp32"), ("bf16", "fp8")])
@pytest.mark.parametrize(
    "objective", [TIS, {}, {"preset": "icepop"}, NONE], ids=["token-tis", "rollout ratio", "icepop", "none"]
)
def test_a_correction_lets_them_pass(rollouts: str, training: str, objective: dict[str, Any]) -> None:
    config = place(read_config(settings(rollouts, training, objective=objective)))
    assert [one.precision for one in placements(config) if one.part != "critic"] == [training, rollouts]


@pytest.mark.parametrize(("rollouts", "training"), [("fp8", "fp8"), ("fp8-block", "fp8-block"), ("fp32", "bf16")])
def test_one_flow_or_higher_rollouts_need_none(rollouts: str, training: str) -> None:
    config = place(read_config(settings(rollouts, training, objective=BLIND)))
    assert [one.precision for one in placements(config) if one.part != "critic"] == [training, rollouts]


@pytest.mark.parametrize(
    ("training", "vllm", "named"),
    [
        ("fp32", {"dtype": "bfloat16"}, "vllm in bf16, learner.precision='fp32'"),
        ("bf16", {"arguments": {"quantization": "fp8"}}, "vllm in fp8, learner.precision='bf16'"),
        ("bf16", {"arguments": {"kv_cache_dtype": "fp8"}}, "vllm in fp8, learner.precision='bf16'"),
        ("fp8", {"arguments": {"quantization": "fp8"}}, "vllm in fp8, learner.precision='fp8'"),
    ],
)
def test_vllm_is_held_to_the_same_rule(training: str, vllm: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as raised:
        place(read_config(of_vllm(training, **vllm)))
    assert named in str(raised.value)
    assert "let both compute in bf16, or in fp32" in str(raised.value)


@pytest.mark.parametrize("precision", ["bf16", "auto"])
@pytest.mark.parametrize(("held", "read"), [("fp8", "states"), ("states", "fp8")])
def test_keys_and_values_in_another_format_are_refused_without_a_correction(
    precision: str, held: str, read: str
) -> None:
    table = settings(precision, precision, objective=BLIND)
    table["grpo"]["engine"]["keys_and_values"], table["grpo"]["learner"]["keys_and_values"] = held, read
    with pytest.raises(ConfigError) as raised:
        read_config(table)
    text = str(raised.value)
    assert f"engine.keys_and_values='{held}', learner.keys_and_values='{read}'" in text
    assert "write the same format for both" in text
    assert 'objective.parts.corrections = ["token-tis"]' in text
    for objective in (TIS, {}, NONE):
        table["grpo"]["objective"] = objective
        place(read_config(table))


def test_keys_and_values_in_one_format_need_none() -> None:
    table = settings("bf16", "bf16", objective=BLIND)
    table["grpo"]["engine"]["keys_and_values"] = table["grpo"]["learner"]["keys_and_values"] = "fp8"
    config = place(read_config(table))
    assert [one.detail.count("keys and values in fp8") for one in placements(config) if one.part != "critic"] == [1, 1]


def test_vllm_rounds_keys_and_values_with_other_scales_and_needs_a_correction() -> None:
    table = of_vllm("bf16", dtype="bfloat16")
    table["grpo"]["learner"]["keys_and_values"] = "fp8"
    with pytest.raises(ConfigError, match=r"vllm, learner.keys_and_values='fp8': .* leave learner.keys_and_values out"):
        read_config(table)
    table["grpo"]["objective"] = TIS
    place(read_config(table))


def test_vllm_in_the_learners_precision_passes() -> None:
    for table, precisions in (
        (of_vllm("bf16", dtype="bfloat16"), ["bf16", "bfloat16"]),
        (of_vllm("fp32"), ["fp32", "of the files"]),
    ):
        assert [one.precision for one in placements(place(read_config(table)))] == precisions


@pytest.mark.parametrize("stage", ["grpo", "expert"])
def test_a_setting_of_our_engine_that_vllm_would_not_read_is_refused(stage: str) -> None:
    with pytest.raises(ConfigError, match=r"engine.precision='fp8', vllm: .* quantization = .fp8."):
        place(read_config({stage: {"vllm": {}, "engine": {"precision": "fp8"}}}))
    with pytest.raises(ConfigError, match=r"engine.keys_and_values='fp8', vllm: .* kv_cache_dtype = .fp8."):
        place(read_config({stage: {"vllm": {}, "engine": {"keys_and_values": "fp8"}}}))
    for name, value, instead in (
        ("rows", 8, "vllm.turns"),
        ("capacity", 4096, "vllm.cache_bytes"),
        ("context", 512, "vllm.context"),
        ("prefill", 64, "max_num_batched_tokens"),
        ("drafts", 4, "speculative_config"),
    ):
        with pytest.raises(ConfigError, match=rf"engine.{name}={value}, vllm: .*{instead}"):
            place(read_config({stage: {"vllm": {}, "engine": {name: value}}}))


def test_adapters_and_a_critic_in_fp8_are_refused() -> None:
    with pytest.raises(ConfigError, match="precision='fp8', lora"):
        read_config({"grpo": {"learner": {"precision": "fp8", "lora": {"rank": 2}}}})
    with pytest.raises(ConfigError, match="a critic is trained whole, in single precision"):
        read_config({"grpo": {"critic": {"learner": {"precision": "fp8"}}}})


@pytest.mark.parametrize("precision", ["fp8", "fp8-block"])
def test_the_invariant_mode_takes_it_for_both_or_neither(precision: str) -> None:
    config = place(read_config({"invariant": True, **settings(precision, precision)}))
    assert config.grpo is not None
    assert config.grpo.engine.invariant
    with pytest.raises(ConfigError, match="write the same precision for both, or leave `invariant` out"):
        place(read_config({"invariant": True, **settings(precision, "bf16")}))


@pytest.mark.parametrize(("rollouts", "training"), [("fp8", "bf16"), ("fp8-block", "fp8-block")])
def test_a_run_reports_mismatch_and_the_bytes_and_time_of_quantised_weights(
    rollouts: Any, training: Any, tmp_path: Path
) -> None:
    start = run(sft_loop(steps=40), tmp_path / "sft").policy
    shape = start.model.shape
    config = replace(
        SYNC,
        steps=2,
        engine=NativeConfig(precision=rollouts),
        learner=replace(SYNC.learner, precision=training),
        objective=ObjectiveConfig(preset="token_tis"),
    )
    rows = run(grpo_loop(start, config), tmp_path / "grpo").progress.history
    rest = 2 * (shape.parameters - shape.projection_parameters)
    operands = flow_of(rollouts, invariant=False).operands
    assert operands is not None
    for row in rows:
        assert row["memory/engine_weights"] == packed_bytes(operands, shape) + rest
        assert row["memory/engine_keys_and_values"] > 0
        assert row["speed/engine_update_ms"] > 0
    trained = [row for row in rows if "mismatch/max" in row]
    assert trained
    for row in trained:
        assert row["mismatch/mean"] > 0
        assert ("memory/learner_quantised" in row) == (training == "fp8-block")
