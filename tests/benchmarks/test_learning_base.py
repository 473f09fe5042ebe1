"""A run that begins with a pretrained base: which one, what it learns from, how long it takes, and what it comes to."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from crash.loops import WORLD, demonstrations
from packaged import write_checkpoint
from palaestra.agents import oracle, rollout
from palaestra.benchmarks.demo import demo_families, demo_material, heldout_groups
from palaestra.benchmarks.learning import (
    BASE,
    STAGES,
    LearningConfig,
    LearningMaterial,
    LearningResult,
    choose_families,
    digest_base,
    estimate_time,
    find_base,
    groups_by_training,
    learn,
    learning_document,
    learning_tables,
    limit_tasks,
    pretrained_config,
)
from palaestra.envs import ToolEnv
from palaestra.errors import CheckpointError, ConfigError, UnknownNameError
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers import ExpertConfig, GrpoConfig, ProgressBar, SftConfig, load_policy, tasks_of
from palaestra.trainers.loops.rollout_config import GroupStageConfig
from palaestra.trajectory import Episode

CONTEXT = 6000


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    write_checkpoint(folder)
    return folder


# which base


def test_an_unknown_base_is_refused_with_those_that_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UnknownNameError, match=r"unknown base 'gpt-9'; there are: smollm2 .*the folder of a checkpoint"
    ):
        find_base("gpt-9")
    with pytest.raises(UnknownNameError, match="did you mean 'smollm2'"):
        find_base("smollm")


def test_a_base_that_is_not_installed_is_refused_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PALAESTRA_MODELS", str(tmp_path / "models"))
    with pytest.raises(ConfigError, match="palaestra models install smollm2"):
        find_base("smollm2")


def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"holds no config\.json"):
        find_base(str(tmp_path))


def test_a_checkpoint_without_a_chat_format_is_refused_with_the_file_to_write(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((checkpoint / "config.json").read_bytes())
    with pytest.raises(CheckpointError) as raised:
        find_base(str(tmp_path))
    assert str(tmp_path / "palaestra.json") in str(raised.value)
    (tmp_path / "palaestra.json").write_text('{"format": "qwen"}')
    assert find_base(str(tmp_path)) == tmp_path


def test_the_digest_of_a_base_is_that_of_its_files(checkpoint: Path, tmp_path: Path) -> None:
    for file in checkpoint.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert digest_base(str(tmp_path)) == digest_base(str(checkpoint))
    weights = bytearray((tmp_path / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(weights)
    assert digest_base(str(tmp_path)) != digest_base(str(checkpoint))


# what it learns from, and what it is measured on


def solved(families: dict[str, int]) -> dict[str, Episode]:
    """An episode of each family, longer where the number is higher."""
    env = gym.make("palaestra/Storefront-v0")
    world = env.unwrapped
    assert isinstance(world, ToolEnv)
    episode = rollout(env, oracle(world.oracle), name="oracle", seed=0, task="storefront/cancel-order/0000")
    return {family: replace(episode, agent="x" * length) for family, length in families.items()}


def test_half_of_the_families_have_a_refusal_twin() -> None:
    examples = solved({"w/a": 9, "w/b": 8, "w/c": 7, "w/d": 3, "w/e": 2, "w/f": 1})
    assert choose_families(examples, {"w/a", "w/b", "w/c"}, 4) == ("w/b", "w/c", "w/e", "w/f")
    assert choose_families(examples, {"w/a", "w/b", "w/c"}, 3) == ("w/c", "w/e", "w/f")


def test_where_one_kind_is_too_few_the_other_fills_up() -> None:
    examples = solved({"w/a": 4, "w/b": 3, "w/c": 2, "w/d": 1})
    assert choose_families(examples, (), 2) == ("w/c", "w/d")
    assert choose_families(examples, {"w/a", "w/b", "w/c"}, 3) == ("w/b", "w/c", "w/d")
    assert choose_families(examples, set(examples), 3) == ("w/b", "w/c", "w/d")
    assert choose_families(examples, {"w/a"}, 4) == ("w/a", "w/b", "w/c", "w/d")


def test_the_first_tasks_of_each_family_are_taken() -> None:
    tasks = ["w/a/0", "w/b/0", "w/a/1", "w/a/2", "w/b/1"]
    assert limit_tasks(tasks, 2) == ("w/a/0", "w/b/0", "w/a/1", "w/b/1")
    assert limit_tasks(tasks, 1) == ("w/a/0", "w/b/0")


def family(task: str) -> str:
    return task.rpartition("/")[0]


def test_few_families_of_the_storefront_keep_their_pairs() -> None:
    env = gym.make("palaestra/Storefront-v0")
    world = env.unwrapped
    assert isinstance(world, ToolEnv)
    config = pretrained_config("smollm2")
    assert config.families is not None
    assert config.heldout is not None
    chosen = demo_families(env, world, most=config.families)
    assert len(chosen) == config.families
    assert heldout_groups(world, families=demo_families(env, world)) == heldout_groups(world)
    material = demo_material(env, world, demonstrations=1, families=config.families, heldout=config.heldout)
    assert tuple(episode.task.family for episode in material.demonstrations) == chosen
    assert material.world.families == tuple(name.split("/")[1] for name in chosen)
    records, wordings, near, far = (group.tasks for group in material.heldout)
    assert {family(task) for task in records} == {family(task) for task in wordings} == set(chosen)
    twins = {f"{name}-twin" for name in chosen if f"{name}-twin" in world.task_set.families}
    assert {family(task) for task in near} == twins
    assert not {family(task) for task in far} & {*chosen, *twins}
    assert set(material.twins) <= set(wordings)
    assert set(material.twins.values()) == set(near)


# the settings of a pretrained base


def test_every_stage_trains_adapters_in_the_precision_that_the_processor_has() -> None:
    config = pretrained_config("smollm2", controls=True)
    assert (config.base, config.controls) == ("smollm2", True)
    for stage in (config.sft, config.expert, config.grpo):
        assert stage.learner.lora is not None
        assert stage.learner.precision == "auto"
        if isinstance(stage, GroupStageConfig):
            assert (stage.play.context, stage.engine.precision) == (8192, "auto")


def test_the_time_is_estimated_for_what_is_trained_and_played(monkeypatch: pytest.MonkeyPatch) -> None:
    at = "palaestra.benchmarks.learning.pretrained"

    def on(device: str, precision: str) -> None:
        def resolve_device(name: str) -> str:
            return device if name == "auto" else name

        def resolve_precision(name: str, device: str) -> str:
            assert name == "auto"
            assert device
            return precision

        monkeypatch.setattr(f"{at}.resolve_device", resolve_device)
        monkeypatch.setattr(f"{at}.resolve_precision", resolve_precision)

    monkeypatch.setattr(f"{at}.cpu_count", lambda: 2)
    on("cpu", "bf16")
    config = pretrained_config("smollm2")
    text = estimate_time(config, tasks=46)
    assert text.startswith("base smollm2: trains on ")
    assert hours(text) <= 2.0, "the defaults are to take two hours"
    assert hours(estimate_time(config, tasks=46, seeds=3)) == pytest.approx(3 * hours(text), abs=0.2)
    assert hours(estimate_time(config, tasks=460)) > hours(text)
    assert hours(estimate_time(replace(config, controls=True), tasks=46)) > 2 * hours(text)
    on("cpu", "fp32")
    assert hours(estimate_time(config, tasks=46)) > 2 * hours(text)
    on("cuda", "bf16")
    there = pretrained_config("smollm2")
    assert "trains for 40, 80, 40 s of processor time in its stages, and plays 184 episodes" in estimate_time(
        there, tasks=46
    )


def test_on_a_gpu_all_families_are_learnt_from_until_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve_device(name: str) -> str:
        return "cuda" if name == "auto" else name

    monkeypatch.setattr("palaestra.benchmarks.learning.pretrained.resolve_device", resolve_device)
    config = pretrained_config("smollm2")
    assert config.families is None
    for stage in (config.sft, config.expert, config.grpo):
        assert stage.cpu_seconds is not None
        assert stage.learner.lora is not None
        if isinstance(stage, GroupStageConfig):
            assert stage.engine.rows == stage.pool.agents == stage.limits.per_step * stage.group_size
            assert stage.engine.capacity >= stage.engine.rows * stage.play.context


def hours(text: str) -> float:
    return float(text.partition("estimated time: ")[2].split()[0])


# a run


def tiny(base: Path) -> LearningConfig:
    """The settings of a pretrained base, with as little of everything as there can be."""
    config = pretrained_config(str(base))
    play = replace(config.expert.play, context=CONTEXT, turn=6, turns=2)
    rollouts: dict[str, Any] = {
        "group_size": 2,
        "limits": replace(config.expert.limits, per_step=1),
        "play": play,
        "engine": replace(config.expert.engine, rows=4, capacity=4 * 8192),
    }
    expert: ExpertConfig = replace(config.expert, steps=1, updates=1, batch=2, **rollouts)
    grpo: GrpoConfig = replace(config.grpo, steps=1, **rollouts)
    sft: SftConfig = replace(config.sft, steps=1, batch=2)
    return replace(config, demonstrations=1, sft=sft, expert=expert, grpo=grpo, threads=1, device="cpu")


TRAIN, HELDOUT = tasks_of(WORLD), tasks_of(replace(WORLD, split="heldout"))
LIBRARY = LearningMaterial(
    world=WORLD, demonstrations=demonstrations(), heldout=groups_by_training(TRAIN, HELDOUT[:2]), twins={}
)


@contextmanager
def bar(title: str, total: int) -> Generator[ProgressBar]:
    class Nothing:
        def step(self, at: str, count: int = 1) -> None:
            assert at
            assert count <= total, title

    yield Nothing()


@pytest.fixture(scope="module")
def run(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> LearningResult:
    directory = tmp_path_factory.mktemp("learning") / "seed-0"
    return learn(LIBRARY, tiny(checkpoint), seed=0, directory=directory, bar=bar, say=lambda _: None)


def test_the_base_is_evaluated_before_what_it_comes_to(run: LearningResult, checkpoint: Path) -> None:
    assert list(run.parts) == [BASE, *STAGES.values()]
    assert run.parts[BASE].policy.digest() == load_policy(checkpoint).digest()
    assert run.parts[BASE].progress.step == 0
    assert sorted(run.parts[BASE].evaluations[0.3].tasks) == sorted(HELDOUT[:2])


def test_every_stage_goes_on_from_the_base_in_its_format(run: LearningResult) -> None:
    assert {part.policy.codec.format.name for part in run.parts.values()} == {"smollm2"}
    assert "smollm2" in CHAT_FORMATS
    base, warm = run.parts[BASE].policy, run.parts[STAGES["sft"]].policy
    assert warm.digest() != base.digest()
    assert warm.model.shape == base.model.shape


def test_tables_compare_with_the_base(run: LearningResult) -> None:
    table = learning_tables([run], LIBRARY)[0]
    assert table.columns == ("held-out tasks", "policy", "solved at temperature 0.3", "over the base at 0.3")
    assert [row[1] for row in table.rows] == [BASE, *STAGES.values()] * len(LIBRARY.heldout)
    assert all((row[3] == "") == (row[1] == BASE) for row in table.rows)
    assert list(learning_document([run])[0]["policies"]) == list(run.parts)  # type: ignore[call-overload]
