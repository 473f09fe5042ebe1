"""A run that torchrun starts in two processes, beside the same run in one: real commands, in processes of their own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
from torch import Tensor

from decoders import tiny, varied
from palaestra.errors import PalaestraError
from palaestra.trainers import process_group
from palaestra.trainers.learner import LearnerConfig
from palaestra.trainers.loops import load_config, plan_run, run
from palaestra.trainers.loops.saves import read_progress, restore
from palaestra.trainers.policy import load_policy
from worlds.registration import LIBRARY_ID

SETTINGS = """
threads = 1
trackers = ["jsonl"]

[world]
env_id = "{env_id}"
imports = ["worlds.registration"]

[policy.model]
hidden = 32
layers = 2
heads = 1
kv_heads = 1
head_dim = 32
mlp = 64
context = 512
vocabulary = 600

[sft]
steps = {sft}
batch = 4
warmup_steps = 2
learner = {{ lr = 0.02, micro_tokens = 400 }}

[grpo]
steps = {grpo}
group_size = 4
limits = {{ per_step = 2 }}
play = {{ context = 400, turn = 24 }}
pool = {{ agents = 8 }}
learner = {{ lr = 5e-4 }}
"""


PPO = """
threads = 1
trackers = ["jsonl"]

[world]
env_id = "{env_id}"
imports = ["worlds.registration"]

[policy]
checkpoint = "{checkpoint}"

[grpo]
steps = 1
group_size = 4
updates = 2
limits = {{ per_step = 2 }}
play = {{ context = 400, turn = 24 }}
pool = {{ agents = 8 }}
learner = {{ lr = 5e-4 }}

[grpo.objective]
preset = "ppo"

[grpo.objective.parts]
rewards = [{{ part = "soft-overlong", longest = 100, cache = 100 }}]  # every episode loses, and longer ones more
regularisers = [{{ part = "kl", estimator = "k3", coefficient = 0.5 }}]

[grpo.critic]
learner = {{ lr = 0.01 }}
updates = 2
"""


def settings(folder: Path, *, sft: int = 20, grpo: int = 2, lr: float = 0.02) -> Path:
    path = folder / "settings.toml"
    path.write_text(SETTINGS.format(env_id=LIBRARY_ID, sft=sft, grpo=grpo).replace("lr = 0.02", f"lr = {lr}"))
    return path


def spread(config: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """`palaestra train` in two processes."""
    return run_in_two("palaestra", "train", str(config), "--out", str(out))


def run_in_two(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A module in two processes that torchrun starts."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [*command, module, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The run in one process, and in two, stopped after its first step of GRPO and begun again."""
    folder = tmp_path_factory.mktemp("group")
    run(plan_run(load_config(settings(folder))), folder / "alone", say=lambda _: None)
    first = spread(settings(folder, grpo=1), folder / "spread")
    assert first.returncode == 0, first.stderr
    second = spread(settings(folder), folder / "spread")
    assert second.returncode == 0, second.stderr
    assert "grpo: goes on from step 1" in second.stdout
    return folder / "alone", folder / "spread"


@pytest.fixture(scope="module")
def ppo(both: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A step with reference and critic from one checkpoint, in one process and in two."""
    folder = tmp_path_factory.mktemp("ppo")
    path = folder / "ppo.toml"
    path.write_text(PPO.format(env_id=LIBRARY_ID, checkpoint=both[0] / "sft" / "checkpoint"))
    run(plan_run(load_config(path)), folder / "alone", say=lambda _: None)
    done = spread(path, folder / "spread")
    assert done.returncode == 0, done.stderr
    return folder / "alone", folder / "spread"


def weights(folder: Path, stage: str) -> dict[str, Tensor]:
    return load_policy(folder / stage / "checkpoint").model.state_dict()


def test_two_processes_come_to_the_weights_of_one(both: tuple[Path, Path]) -> None:
    alone, spread = (weights(folder, "sft") for folder in both)
    assert alone.keys() == spread.keys()
    for name, weight in alone.items():
        # On average: where a gradient is next to nothing, Adam makes a step of its rounding.
        assert (spread[name] - weight).abs().mean() < 1e-4, name


def test_two_processes_with_reference_and_critic_come_to_the_weights_of_one(
    both: tuple[Path, Path], ppo: tuple[Path, Path]
) -> None:
    before, alone, spread = weights(both[0], "sft"), weights(ppo[0], "grpo"), weights(ppo[1], "grpo")
    for name, weight in alone.items():
        moved = (weight - before[name]).abs().mean()
        assert moved > 1e-5, name
        assert (spread[name] - weight).abs().mean() < 0.02 * moved, name


def test_their_critic_is_that_of_one(ppo: tuple[Path, Path]) -> None:
    alone, spread = (restore(folder / "grpo" / "checkpoint").held["weights"] for folder in ppo)
    assert alone.keys() == spread.keys()
    assert alone["head.weight"].abs().mean() > 1e-3
    for name, weight in alone.items():
        assert (spread[name] - weight).abs().mean() < 1e-3, name


@pytest.mark.parametrize("figure", ["loss", "critic/loss", "critic/explained", "gradient_norm"])
def test_their_figures_with_reference_and_critic_are_those_of_one(ppo: tuple[Path, Path], figure: str) -> None:
    (alone,), (spread,) = (read_progress(folder / "grpo" / "checkpoint").history for folder in ppo)
    assert spread[figure] == pytest.approx(alone[figure], rel=1e-3)


@pytest.mark.parametrize(("stage", "figure"), [("sft", "loss"), ("grpo", "reward/mean")])
def test_their_figures_are_those_of_one(both: tuple[Path, Path], stage: str, figure: str) -> None:
    alone, spread = (read_progress(folder / stage / "checkpoint").history for folder in both)
    assert [row["step"] for row in spread] == list(range(1, len(alone) + 1))
    assert [row[figure] for row in spread] == pytest.approx([row[figure] for row in alone], rel=1e-3, abs=1e-4)


def test_only_the_first_writes_and_speaks(both: tuple[Path, Path]) -> None:
    lineage = {"lineage.jsonl"}  # the second run began again with more steps
    assert {path.name for path in both[0].iterdir()} | lineage == {path.name for path in both[1].iterdir()}


def test_what_ends_the_first_ends_all_with_its_error(tmp_path: Path) -> None:
    done = spread(settings(tmp_path, lr=1e30), tmp_path / "out")
    assert done.returncode != 0
    assert "both must be finite" in done.stdout + done.stderr


def test_no_thread_of_a_process_group_outlives_it(tmp_path: Path) -> None:
    """Such a thread that needs the interpreter at its end aborts it, and a run that had ended well has failed."""
    done = run_in_two("learning.process_group", str(tmp_path))
    assert done.returncode == 0, done.stderr
    for rank in ("0", "1"):
        during, after = map(int, (tmp_path / rank).read_text().split())
        assert during > 0
        assert after == 0


class Follower(process_group.ProcessGroup):
    """Receives the given calls."""

    def __init__(self, calls: Iterator[Any]) -> None:
        self._given = calls

    def _receive(self) -> Any:
        return next(self._given)


@pytest.mark.parametrize("refused", [False, True])
def test_a_follower_holds_no_whole_model_beside_its_share(
    monkeypatch: pytest.MonkeyPatch,
    refused: bool,
) -> None:
    class Share:
        """A learner that keeps nothing of the model, or whose construction is refused."""

        def __init__(self, *_: object, **__: object) -> None:
            if refused:
                raise PalaestraError("refused")

        def weights(self) -> None:
            pass

    def calls() -> Iterator[Any]:
        model = varied(tiny())
        gone = ref(model.lm_head.weight)
        yield "learner", "make", (model, LearnerConfig(lr=1e-3)), {}
        del model
        if not refused:
            yield "learner", "weights", (), {}
        assert gone() is None, "the model is held while it works"
        yield None

    monkeypatch.setattr(process_group, "Learner", Share)

    def do_nothing(*_: object) -> None:
        pass

    monkeypatch.setattr(process_group, "mesh_of", do_nothing)
    monkeypatch.setattr(signal, "signal", do_nothing)
    Follower(calls()).follow()


def test_a_new_learner_ends_the_models_of_the_stage_before(monkeypatch: pytest.MonkeyPatch) -> None:
    class Share:
        """A model that can be watched."""

    gone: list[Any] = []

    def make(*_: object, **__: object) -> Share:
        share = Share()
        gone.append(ref(share))
        return share

    def calls() -> Iterator[Any]:
        for role in ("learner", "reference", "critic"):
            yield role, "make", (), {}
        assert all(one() is not None for one in gone)
        yield "learner", "make", (), {}
        assert [one() is None for one in gone] == [True, True, True, False]
        yield None

    def do_nothing(*_: object) -> None:
        pass

    monkeypatch.setattr(process_group, "_make", make)
    monkeypatch.setattr(signal, "signal", do_nothing)
    Follower(calls()).follow()
