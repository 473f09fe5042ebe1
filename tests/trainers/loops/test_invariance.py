"""One setting makes engine and learner compute one forward pass; what contradicts it is refused with the way out."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crash.loops import SYNC, grpo_loop, run, sft_loop
from palaestra.errors import ConfigError
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.learner import LearnerConfig
from palaestra.trainers.loops.memory import estimate_memory
from palaestra.trainers.loops.placement import place, placements
from palaestra.trainers.loops.reading import read_config
from palaestra.trainers.loops.rollout_config import GrpoConfig
from palaestra.trainers.model.shape import DecoderShape

ON = {"invariant": True, "device": "cpu"}


def refused(table: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as raised:
        place(read_config(table))
    return str(raised.value)


def test_one_setting_reaches_engine_and_learner_of_every_stage_with_rollouts() -> None:
    config = place(read_config({**ON, "sft": {}, "expert": {}, "grpo": {}}))
    for stage in (config.expert, config.grpo):
        assert stage is not None
        assert stage.engine.invariant
        assert stage.learner.invariant
    assert config.sft is not None
    assert not config.sft.learner.invariant
    assert config.grpo is not None
    assert not config.grpo.critic.learner.invariant
    assert [one.part for one in placements(config) if "invariant" in one.detail] == [
        "expert learner",
        "expert engine",
        "grpo learner",
        "grpo engine",
    ]


def test_without_the_setting_nothing_is_invariant() -> None:
    config = place(read_config({"grpo": {}}))
    assert config.grpo is not None
    assert not config.grpo.engine.invariant
    assert not config.grpo.learner.invariant


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"engine": {"precision": "bf16"}}, "engine.precision='bf16', learner.precision='fp32'"),
        ({"learner": {"precision": "bf16"}}, "write the same precision for both, or leave `invariant` out"),
        ({"learner": {"lora": {"rank": 4}}}, "invariant=True, lora"),
        ({"engine": {"keys_and_values": "fp8"}}, "engine.keys_and_values='fp8', learner.keys_and_values='states'"),
        ({"learner": {"keys_and_values": "fp8"}}, "write the same format for both, or leave `invariant` out"),
        ({"vllm": {}}, "draw with our own engine, or leave `invariant` out"),
        ({"engine": {"device": "meta"}}, "engine.device='meta'"),
        ({"learner": {"device": "meta"}}, 'write device = "cpu", or leave `invariant` out'),
        ({"objective": {"preset": "introllm"}}, "take an objective without `temperature`"),
    ],
)
def test_what_contradicts_it_is_refused_with_the_way_out(section: dict[str, Any], says: str) -> None:
    assert says in refused({**ON, "grpo": section})


@pytest.mark.parametrize("stage", ["grpo", "expert"])
@pytest.mark.parametrize("part", ["engine", "learner"])
def test_one_half_alone_is_refused(stage: str, part: str) -> None:
    assert "write `invariant = true` at the top of the settings" in refused({stage: {part: {"invariant": True}}})


def test_a_critic_has_no_part_in_it() -> None:
    assert "no engine computes it" in refused({"grpo": {"critic": {"learner": {"invariant": True}}}})
    assert "no engine computes it" in refused({"grpo": {"critic": {"learner": {"keys_and_values": "fp8"}}}})


@pytest.mark.parametrize(("precision", "number"), [("fp32", 4), ("bf16", 2)])
def test_the_copies_that_kernels_read_are_counted(precision: Any, number: int) -> None:
    shape = DecoderShape(vocabulary=100, hidden=32, layers=1, heads=2, kv_heads=1, head_dim=16, mlp=64, context=128)
    ordinary = GrpoConfig(engine=NativeConfig(precision=precision), learner=LearnerConfig(lr=1e-3, precision=precision))
    invariant = replace(
        ordinary,
        engine=replace(ordinary.engine, invariant=True),
        learner=replace(ordinary.learner, invariant=True),
    )
    more = sum(one.bytes for one in estimate_memory(invariant, shape)) - sum(
        one.bytes for one in estimate_memory(ordinary, shape)
    )
    assert more == 2 * number * shape.parameters


@pytest.mark.parametrize(("precision", "held"), [("fp32", "states"), ("bf16", "fp8"), ("fp8", "fp8")])
def test_every_step_of_a_run_trains_on_exactly_what_was_drawn(precision: Any, held: Any, tmp_path: Path) -> None:
    start = run(sft_loop(steps=40), tmp_path / "sft").policy
    config = replace(
        SYNC,
        steps=2,
        engine=NativeConfig(precision=precision, keys_and_values=held, invariant=True),
        learner=replace(SYNC.learner, precision=precision, keys_and_values=held, layout="shared", invariant=True),
    )
    rows = run(grpo_loop(start, config), tmp_path / "grpo").progress.history
    trained = [row for row in rows if "mismatch/max" in row]
    assert trained
    for row in trained:
        assert (row["mismatch/max"], row["mismatch/zero_share"], row["mismatch/kl"]) == (0.0, 1.0, 0.0)
        assert row["policy/ratio_max"] == row["policy/ratio_min"] == 1.0
