"""Stages whose weights are in 4 bits: both halves or neither, and every save is an ordinary policy."""

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from crash.loops import IMITATING, SFT, SYNC, WARM, Stopped, figures, grpo_loop, imitating_loop, run, sft_loop, stopped
from palaestra.errors import CheckpointError, ConfigError, StoppedError
from palaestra.trainers.data.batch import concatenate
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.native.core import Core
from palaestra.trainers.learner import Learner, LearnerConfig, LoraConfig
from palaestra.trainers.loops import GrpoConfig, RecordedRun, SftLoop, load_config, plan_run, recorded_batches
from palaestra.trainers.loops import run as run_plan
from palaestra.trainers.loops.loop import LearnerThread
from palaestra.trainers.loops.memory import estimate_memory
from palaestra.trainers.loops.placement import place, placements
from palaestra.trainers.loops.reading import read_config
from palaestra.trainers.loops.saves import SaveConfig
from palaestra.trainers.loops.weight_noise import WeightNoiseConfig
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.nvfp4 import round_to_nvfp4
from palaestra.trainers.objectives import Metrics, ObjectiveConfig
from palaestra.trainers.policy import Policy, load_policy
from palaestra.trainers.products import frozen_bytes
from worlds.training import library_settings

LEARNER = LearnerConfig(lr=2e-2, precision="nvfp4", lora=LoraConfig(rank=4))
CONFIG = replace(SYNC, steps=3, learner=LEARNER, engine=NativeConfig(precision="nvfp4"))
SHAPE = DecoderShape(vocabulary=500, hidden=64, layers=4, heads=4, kv_heads=2, head_dim=32, mlp=192, context=512)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A policy that has seen the oracle."""
    return run(sft_loop(steps=WARM), tmp_path_factory.mktemp("warm") / "sft").policy


@pytest.fixture(scope="module")
def straight(warm: Policy, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A run that nobody interrupted."""
    directory = tmp_path_factory.mktemp("straight") / "grpo"
    return run(grpo_loop(warm, CONFIG), directory), directory


# A run


def test_a_stage_learns_and_leaves_the_policy_that_it_began_with_alone(
    straight: tuple[Any, Path], warm: Policy
) -> None:
    before = [one.weight.clone() for one in warm.model.projections()]
    result, _ = straight
    rows = result.progress.history
    assert any(row["gradient_norm"] > 0 for row in rows if "gradient_norm" in row)
    assert all(row["mismatch/mean"] < 0.05 for row in rows if "mismatch/mean" in row)
    assert all((one.weight == other).all() for one, other in zip(warm.model.projections(), before, strict=True))
    assert all(one.frozen is None for one in result.policy.model.projections())


def test_its_checkpoint_is_the_policy_and_its_base_is_what_was_rounded(
    straight: tuple[Any, Path], warm: Policy
) -> None:
    result, directory = straight
    assert load_policy(directory / "checkpoint").digest() == result.policy.digest()
    base = load_policy(directory / "base")
    for one, other in zip(base.model.projections(), warm.model.projections(), strict=True):
        assert (one.weight == round_to_nvfp4(other.weight.detach())).all()
    assert base.digest() == warm.frozen().digest() != warm.digest()


def test_it_says_what_is_held_and_what_an_update_takes(straight: tuple[Any, Path], warm: Policy) -> None:
    shape, row = warm.model.shape, straight[0].progress.history[-1]
    adapters = 4 * shape.layers * sum(rows + columns for rows, columns in shape.projections)
    rest = shape.parameters - shape.projection_parameters
    assert row["memory/engine_weights"] == frozen_bytes(shape) + 2 * (rest + adapters)
    gains = shape.hidden + shape.layers * (2 * shape.hidden + 2 * shape.head_dim)
    assert row["memory/engine_update"] == 4 * (adapters + gains)


def test_an_interrupted_run_goes_on_and_a_replay_comes_to_the_same(
    straight: tuple[Any, Path], warm: Policy, tmp_path: Path
) -> None:
    whole, directory = straight
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, CONFIG), 2), tmp_path / "cut")
    cut = run(grpo_loop(warm, CONFIG), tmp_path / "cut")
    again = run(grpo_loop(warm, CONFIG, replay=RecordedRun.of(directory)), tmp_path / "again")
    assert figures(cut) == figures(again) == figures(whole)
    assert cut.policy.digest() == again.policy.digest() == whole.policy.digest()


def test_a_save_before_the_end_holds_adapters_alone_and_makes_a_policy_with_its_base(
    warm: Policy, tmp_path: Path
) -> None:
    loop = grpo_loop(warm, replace(CONFIG, save=SaveConfig(every=1, background=False)))
    taken = loop.step

    async def step(thread: LearnerThread, step: int, done: float) -> Metrics:
        if step == 1:
            signal.raise_signal(signal.SIGTERM)
        return await taken(thread, step, done)

    loop.step = step  # type: ignore[method-assign]
    with pytest.raises(StoppedError):
        run(loop, tmp_path / "grpo")
    saved = tmp_path / "grpo" / "checkpoint"
    assert not (saved / "model.safetensors").exists()
    assert load_policy(saved).digest() not in (load_policy(tmp_path / "grpo" / "base").digest(), warm.digest())


def test_a_run_that_begins_in_another_precision_does_not_go_on_in_4_bits(warm: Policy, tmp_path: Path) -> None:
    """Its adapters were learnt beside other weights."""
    half = replace(CONFIG, steps=1, learner=replace(LEARNER, precision="bf16"), engine=NativeConfig(precision="bf16"))
    run(grpo_loop(warm, half), tmp_path / "grpo")
    with pytest.raises(CheckpointError):
        run(grpo_loop(warm, CONFIG), tmp_path / "grpo")


def test_a_reference_policy_is_the_rounded_one(warm: Policy, tmp_path: Path) -> None:
    """With a rate of almost 0 the policy stays there, and both say the same to the bit."""
    still = replace(LEARNER, lr=1e-30)
    loop = grpo_loop(warm, replace(CONFIG, steps=1, learner=still, objective=ObjectiveConfig(preset="grpo_kl")))
    run(loop, tmp_path / "grpo")
    batch = concatenate([group.batch() for one in recorded_batches(tmp_path / "grpo") for group in one.groups])
    assert loop._reference is not None
    said_T = loop._reference.columns(batch, ["logp"])["logp"]
    assert said_T.any()
    assert torch.equal(said_T, loop._learning.columns(batch, ["logp"])["logp"])


def test_noise_on_the_gains_goes_with_it(warm: Policy, tmp_path: Path) -> None:
    noise = WeightNoiseConfig(start=0.2, end=0.2, levels=3, hold=1)
    still = replace(LEARNER, lr=1e-30)
    result = run(grpo_loop(warm, replace(CONFIG, weight_noise=noise, learner=still)), tmp_path / "grpo")
    first, *others = (row["mismatch/mean"] for row in result.progress.history if "mismatch/mean" in row)
    assert others
    assert min(others) > 2 * first


def test_stages_that_imitate_take_it(warm: Policy, tmp_path: Path) -> None:
    name, config = next(iter(IMITATING.items()))
    done = run(imitating_loop(warm, replace(config, learner=LEARNER, engine=CONFIG.engine)), tmp_path / name)
    assert load_policy(tmp_path / name / "checkpoint").digest() == done.policy.digest()
    sft = sft_loop()
    imitated = replace(SFT, steps=20, learner=LEARNER)
    learnt = run(SftLoop(imitated, sft._episodes, seed=0, start=sft._start), tmp_path / "sft")
    history = learnt.progress.history
    assert history[-1]["loss"] < history[0]["loss"] - 0.2


def test_a_run_holds_the_weights_that_it_began_with_in_4_bits(tmp_path: Path) -> None:
    """Nothing else holds them in single precision: the plan's own policy is frozen in place."""
    file = tmp_path / "run.toml"
    file.write_text(
        library_settings(
            """
            [sft]
            steps = 2
            batch = 4
            learner = { lr = 0.02, precision = "nvfp4", lora = { rank = 4 } }
            """
        )
    )
    plan = plan_run(load_config(file))
    result = run_plan(plan, tmp_path / "run", say=list[str]().append)
    assert load_policy(tmp_path / "run" / "sft" / "checkpoint").digest() == result.policy.digest()
    assert all(one.weight.is_meta for one in plan.policy.model.projections())


# Settings


def settings(stage: str = "grpo", **changes: Any) -> dict[str, Any]:
    learner = {"precision": "nvfp4", "lora": {"rank": 4}}
    return {"device": "cpu", stage: {"engine": {"precision": "nvfp4"}, "learner": learner, **changes}}


def test_it_is_read_and_said_where_parts_are_placed() -> None:
    found = [one for one in placements(place(read_config(settings()))) if one.part != "critic"]
    assert [one.precision for one in found] == ["nvfp4", "nvfp4"]


@pytest.mark.parametrize("stage", ["grpo", "expert", "rejection"])
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"engine": {"precision": "bf16"}}, "engine.precision='bf16', learner.precision='nvfp4': .* for neither"),
        ({"engine": {}}, "engine.precision='fp32', learner.precision='nvfp4'"),
        ({"engine": {"precision": "auto"}}, "engine.precision='auto', learner.precision='nvfp4'"),
        ({"learner": {"precision": "bf16", "lora": {}}}, "engine.precision='nvfp4', learner.precision='bf16'"),
        ({"learner": {"precision": "bf16"}}, "engine.precision='nvfp4', learner.precision='bf16'"),
        ({"learner": {"precision": "nvfp4"}}, "precision='nvfp4': .* give a section lora"),
        ({"vllm": {}}, "vllm, precision='nvfp4': .* leave vllm out"),
        ({"vllm": {}, "engine": {}}, "vllm, precision='nvfp4': .* leave vllm out"),
    ],
)
def test_one_half_alone_is_refused_whatever_corrects(stage: str, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        place(read_config(settings(stage, **changes)))


def test_the_invariant_mode_and_a_critic_are_refused() -> None:
    with pytest.raises(ConfigError, match="invariant=True, lora"):
        place(read_config({"invariant": True, **settings()}))
    with pytest.raises(ConfigError, match="a critic is trained whole, in single precision"):
        read_config(settings(critic={"learner": {"precision": "nvfp4", "lora": {}}}))


def test_temperatures_of_a_head_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"leave learner\.lora out"):
        read_config(settings(objective={"preset": "introllm"}))


# Memory


def sizes(config: GrpoConfig) -> dict[str, int]:
    return {item.what: item.bytes for item in estimate_memory(config, SHAPE)}


def test_what_is_held_is_what_was_estimated() -> None:
    found = sizes(replace(CONFIG, learner=LEARNER))
    model = Policy(model=fresh(SHAPE, seed=0), codec=None).frozen().model  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    learner = Learner(model, LEARNER)
    own = [weight for weight in learner._model.parameters() if not weight.is_meta]
    packed = sum(part.nbytes for one in learner._model.projections() for part in one.packed or ())
    assert found["weights"] == sum(weight.nbytes for weight in own) + packed
    copy = [weight for weight in learner._working.parameters() if not weight.is_meta]
    half = found["copy in bf16 of all but projections, with adapters and their gradients"]
    assert half == sum(weight.nbytes * (2 if weight.requires_grad else 1) for weight in copy)
    core = Core(model.with_adapters(learner.rollout_weights()), CONFIG.engine)
    assert found["weights of the engine, beside frozen ones that it shares"] == core.weight_bytes - packed
    apart = sizes(replace(CONFIG, engine=replace(CONFIG.engine, device="cuda")))
    assert apart["weights of the engine"] == core.weight_bytes


def test_frozen_weights_take_a_seventh_of_single_precision() -> None:
    assert frozen_bytes(SHAPE) / (4 * SHAPE.projection_parameters) == pytest.approx(4.5 / 32, rel=1e-2)
