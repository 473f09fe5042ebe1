"""The settings files under examples/train do what their comments say."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from palaestra.envs.surfaces.pages.variation import draw_families
from palaestra.trainers.learner import LearnerConfig
from palaestra.trainers.loops import TrainConfig, load_config
from palaestra.trainers.loops.imitation_config import ExpertConfig
from palaestra.trainers.loops.memory import activation_bytes, estimate_memory
from palaestra.trainers.loops.placement import place, placements
from palaestra.trainers.loops.rollout_config import GrpoConfig
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.pretrained import MODELS

FOLDER = Path(__file__).parents[2] / "examples" / "train"
QWEN3 = DecoderShape(
    vocabulary=151_936, hidden=1024, layers=28, heads=16, kv_heads=8, head_dim=128, mlp=3072, context=40_960
)
"""Qwen3-0.6B's, as its config.json has it."""
SMOLLM2 = DecoderShape(
    vocabulary=49_152,
    hidden=576,
    layers=30,
    heads=9,
    kv_heads=3,
    head_dim=64,
    mlp=1536,
    context=8192,
    rope_theta=1e5,
    norm_epsilon=1e-5,
    qk_norm=False,
)
"""SmolLM2-135M's, as its config.json has it."""
Claim: TypeAlias = Callable[[TrainConfig], bool]


def expert(config: TrainConfig) -> ExpertConfig:
    assert config.expert is not None
    return config.expert


def grpo(config: TrainConfig) -> GrpoConfig:
    assert config.grpo is not None
    return config.grpo


def looks(config: TrainConfig, world: int) -> set[str]:
    """The families of variation that a world's pages show as text; colours and distances do not."""
    families = draw_families(config.world[world].switches["surface_settings"]["variation"])
    return set(families) - {"dark", "contrast", "spacious", "terse"}


def works_on(config: TrainConfig) -> set[str]:
    return {one.device for one in placements(place(config))}


def precisions(config: TrainConfig) -> set[str]:
    return {one.precision for one in placements(place(config))}


def parameters(config: TrainConfig) -> int:
    model = config.policy.model
    shape = DecoderShape(
        vocabulary=model.vocabulary,
        hidden=model.hidden,
        layers=model.layers,
        heads=model.heads,
        kv_heads=model.kv_heads,
        head_dim=model.head_dim,
        mlp=model.mlp,
        context=model.context,
    )
    return shape.parameters


def gibibytes(path: Path) -> float:
    """Of a GPU, with Qwen3-0.6B. A device without memory stands for it: what is on the CPU is told apart."""
    config = place(load_config(path, settings=["device=meta"]))
    return sum(item.bytes for item in estimate_memory(grpo(config), QWEN3) if item.where == "meta") / 2**30


CLAIMS: dict[str, list[tuple[str, Claim]]] = {
    "async": [
        ("From where storefront.toml's first stage ends", lambda c: c.sft is None),
        (
            "palaestra train examples/train/storefront.toml &&",
            lambda c: str(c.policy.checkpoint).startswith("runs/storefront/sft/"),
        ),
        ("up to two steps ahead of training", lambda c: grpo(c).limits.staleness == 2),
        ("each for the engine and the learner", lambda c: c.threads == 1 and works_on(c) == {"cpu"}),
        ("turns under way go on with new weights", lambda c: grpo(c).in_flight == "keep"),
        ("groups that may overtake a slow one", lambda c: grpo(c).limits.window == 8),
    ],
    "expert_iteration": [
        ("on two CPU cores", lambda c: c.threads == 2 and works_on(c) == {"cpu"}),
        ("in this order", lambda c: list(c.stages) == ["sft", "expert", "grpo"]),
        ("tasks a round", lambda c: expert(c).limits.per_step == 42),
        ("optimiser steps after each", lambda c: (expert(c).steps, expert(c).updates) == (15, 30)),
        (
            "at least 15 % of them are demonstrations",
            lambda c: expert(c).demonstrations_per_batch == 3 and expert(c).batch == 14,
        ),
        ("solved about half the time come most often", lambda c: expert(c).choice.rule == "bandit"),
        ("tasks beyond those that the split lists", lambda c: expert(c).choice.instances == "endless"),
        ("and of a family", lambda c: (expert(c).keep.per_task, expert(c).keep.per_family) == (2, 80)),
        ("the best harmless beginning", lambda c: expert(c).keep.prefixes),
        (
            "the outcome alone is paid",
            lambda c: (
                {part.name for part in grpo(c).objective.build().parts if part.plug == "reward"} == {"unit", "solved"}
            ),
        ),
    ],
    "hiper": [
        (
            "from a critic of three heads",
            lambda c: (critic := grpo(c).objective.build().critic) is not None and critic.heads == 3,
        ),
        ("has learnt to plan", lambda c: c.sft is not None and c.policy.format == "planner"),
        (
            "nothing has to hold this policy near a reference",
            lambda c: "ref_T" not in grpo(c).objective.build().requires,
        ),
    ],
    "pages": [
        ("From nothing, on one CPU core", lambda c: c.threads == 1 and works_on(c) == {"cpu"}),
        ("a policy of a million parameters", lambda c: round(parameters(c) / 1e6) == 1),
        ("drawn as text in process", lambda c: c.world[0].switches["surface"] == "pages"),
        ("a weak start", lambda c: c.sft is not None and c.sft.steps == 200),
    ],
    "pages_looks": [
        ("On from examples/train/pages.toml", lambda c: str(c.policy.checkpoint) == "runs/pages/sft/checkpoint"),
        ("on one CPU core", lambda c: c.threads == 1 and works_on(c) == {"cpu"}),
        ("the site as it was made", lambda c: "variation" not in c.world[0].switches["surface_settings"]),
        ("German, synonyms, blocks in another order", lambda c: looks(c, 1) == {"german", "synonyms", "rotated"}),
        (
            "Spanish, synonyms, blocks in another order, long lists",
            lambda c: looks(c, 2) == {"spanish", "synonyms", "rotated", "long-lists"},
        ),
        ("tasks of each family beyond those", lambda c: {world.further for world in c.world} == {20}),
        ("tasks a round", lambda c: (expert(c).steps, expert(c).limits.per_step) == (4, 24)),
    ],
    "qwen3": [
        ("adapters in bfloat16", lambda c: grpo(c).learner.lora is not None and precisions(c) == {"bf16"}),
        ("on a GPU where there is one", lambda c: c.device == "auto" and len(works_on(c)) == 1),
        ("takes less than 48 GiB", lambda _: 10 < gibibytes(FOLDER / "qwen3.toml") < 48),
        ("up to a step ahead", lambda c: grpo(c).limits.staleness == 1),
        ("as long as trajectories are", lambda c: grpo(c).engine.context == grpo(c).play.context),
        ("`shared` puts a group's prompt through once", lambda c: grpo(c).learner.layout == "shared"),
    ],
    "seeupo": [
        ("a step for every turn", lambda c: grpo(c).objective.build().recipe.schedule.name == "turns"),
        ("the last first", lambda c: grpo(c).objective.build().recipe.schedule.order == "reverse"),
        ("has learnt to plan", lambda c: c.sft is not None and c.policy.format == "planner"),
        (
            "nothing has to hold this policy near a reference",
            lambda c: "ref_T" not in grpo(c).objective.build().requires,
        ),
    ],
    "smollm2": [
        ("palaestra models install smollm2", lambda c: str(c.policy.checkpoint) in MODELS),
        (
            "SmolLM2-135M",
            lambda _: MODELS.get("smollm2").parameters == SMOLLM2.parameters and SMOLLM2.parameters // 10**6 == 134,
        ),
        ("adapters, first on demonstrations", lambda c: c.sft is not None and c.sft.learner.lora is not None),
        ("then on groups of rollouts", lambda c: grpo(c).learner.lora is not None),
        ("CUDA where there is one, otherwise the CPU", lambda c: c.device == "auto" and len(works_on(c)) == 1),
        ("an installed model; a folder trains as well", lambda c: str(c.policy.checkpoint) in MODELS),
        ("short schemas", lambda c: c.policy.format == MODELS.get("smollm2").format == "smollm2"),
        ("about 3,200 of 8,192 tokens", lambda c: grpo(c).play.context < SMOLLM2.context == 8192),
        ("bfloat16 where the device multiplies in it", lambda c: len(precisions(c)) == 1),
        (
            "without it the activations of 8,192 tokens take several GiB",
            lambda c: (
                grpo(c).learner.micro_tokens == 8192
                and 8192 * activation_bytes(SMOLLM2, LearnerConfig(lr=1.0)) > 8 * 2**30
                and 8192 * activation_bytes(SMOLLM2, grpo(c).learner) < 2 * 2**30
            ),
        ),
        ("as long as trajectories are", lambda c: grpo(c).engine.context == grpo(c).play.context),
        (
            "of every trajectory at once",
            lambda c: grpo(c).engine.capacity == grpo(c).pool.agents * grpo(c).play.context,
        ),
        ("`shared` puts a group's prompt through once", lambda c: grpo(c).learner.layout == "shared"),
    ],
    "smollm2_imitation": [
        (
            "from demonstrations alone, with adapters",
            lambda c: list(c.stages) == ["sft"] and c.sft is not None and c.sft.learner.lora is not None,
        ),
        ("in 40 minutes of one core", lambda c: c.threads == 1 and c.sft is not None and c.sft.cpu_seconds == 40 * 60),
        ("palaestra models install smollm2", lambda c: str(c.policy.checkpoint) in MODELS),
        ("nine tools in place of 51", lambda c: c.world[0].switches == {"surface": "generic"}),
        (
            "without checkpointing its activations take several GiB",
            lambda c: (
                c.sft is not None
                and not c.sft.learner.checkpointing
                and 2 * 2**30 < c.sft.learner.micro_tokens * activation_bytes(SMOLLM2, c.sft.learner) < 8 * 2**30
            ),
        ),
        ("bfloat16 where the device multiplies in it", lambda c: len(precisions(c)) == 1),
    ],
    "storefront": [
        ("From nothing", lambda c: c.policy.checkpoint is None),
        ("on two CPU cores", lambda c: c.threads == 2 and works_on(c) == {"cpu"} and precisions(c) == {"fp32"}),
        ("a policy of two million parameters", lambda c: round(parameters(c) / 1e6) == 2),
        ("a part of the storefront's families", lambda c: 0 < len(c.world[0].families) < 90),
        (
            "first it learns to write what the oracle writes",
            lambda c: c.sft is not None and c.sft.demonstrations is None,
        ),
        (
            "groups a step; staleness = 0 waits",
            lambda c: (grpo(c).limits.per_step, grpo(c).limits.staleness) == (16, 0),
        ),
    ],
    "two_worlds": [
        ("Two worlds in one run", lambda c: len(c.world) == 2),
        ("a policy of two million parameters", lambda c: round(parameters(c) / 1e6) == 2),
        (
            "two groups and demonstrations of the storefront for each one",
            lambda c: c.world[0].weight == 2 * c.world[1].weight,
        ),
        (
            "a world pack of one's own",
            lambda c: (pack := c.world[1].pack) is not None and (FOLDER.parents[1] / pack).is_dir(),
        ),
    ],
}
"""Sentences of each file's comments, and what makes them true."""


def test_every_file_is_held_to_its_comments() -> None:
    assert {path.stem for path in FOLDER.glob("*.toml")} == CLAIMS.keys()


@pytest.mark.parametrize(
    ("name", "said", "holds"), [(name, *claim) for name, claims in CLAIMS.items() for claim in claims]
)
def test_a_file_does_what_it_says(name: str, said: str, holds: Claim) -> None:
    path = FOLDER / f"{name}.toml"
    assert said in path.read_text(encoding="utf-8"), "the comment was changed: change what it is held to"
    assert holds(load_config(path)), said


@pytest.mark.parametrize("name", sorted(CLAIMS.keys() - {"pages", "smollm2_imitation"}))  # they have no policy gradient
def test_a_device_is_all_that_a_command_line_has_to_say(name: str) -> None:
    path = FOLDER / f"{name}.toml"
    before, after = (load_config(path, settings=settings) for settings in ([], ["grpo.learner.device=cuda"]))
    changed = grpo(after).learner
    assert changed.device == "cuda"
    assert (changed.lr, changed.layout) == (grpo(before).learner.lr, grpo(before).learner.layout)
