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

from decoders import tiny, varied
from palaestra.trainers.learner import LearnerConfig, crew
from palaestra.trainers.loops import load_config, plan_run, run
from palaestra.trainers.loops.saves import read_progress
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
learner = {{ lr = 2e-3 }}
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
    folder = tmp_path_factory.mktemp("crew")
    run(plan_run(load_config(settings(folder))), folder / "alone", say=lambda _: None)
    first = spread(settings(folder, grpo=1), folder / "spread")
    assert first.returncode == 0, first.stderr
    second = spread(settings(folder), folder / "spread")
    assert second.returncode == 0, second.stderr
    assert "grpo: goes on from step 1" in second.stdout
    return folder / "alone", folder / "spread"


@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_two_processes_come_to_the_weights_of_one(both: tuple[Path, Path], stage: str) -> None:
    alone, spread = (load_policy(folder / stage / "checkpoint").model.state_dict() for folder in both)
    assert alone.keys() == spread.keys()
    for name, weight in alone.items():
        # On average: where a gradient is next to nothing, Adam makes a step of its rounding.
        assert (spread[name] - weight).abs().mean() < 1e-4, name


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


class Follower(crew.ProcessGroup):
    """Hears what it is given, and nothing is sent."""

    def __init__(self, heard: Iterator[Any]) -> None:
        self._heard = heard

    def _hear(self) -> Any:
        return next(self._heard)


def test_a_follower_holds_no_whole_model_beside_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    class Share:
        """A learner that keeps nothing of the model."""

        def __init__(self, *_: object, **__: object) -> None:
            pass

        def weights(self) -> None:
            pass

    def heard() -> Iterator[Any]:
        model = varied(tiny())
        gone = ref(model.lm_head.weight)
        yield "make", (model, LearnerConfig(lr=1e-3)), {}
        del model
        yield "weights", (), {}
        assert gone() is None, "the model is held while it works"
        yield None

    monkeypatch.setattr(crew, "Learner", Share)

    def do_nothing(*_: object) -> None:
        pass

    monkeypatch.setattr(crew, "mesh_of", do_nothing)
    monkeypatch.setattr(signal, "signal", do_nothing)
    Follower(heard()).follow()
