"""`palaestra bench engine`, `train`, `async` and `replicas`, as they are but for how much they measure."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from palaestra.benchmarks.speed import training
from palaestra.benchmarks.speed.training import asynchrony
from palaestra.benchmarks.speed.training.learners import LearnerStep
from palaestra.benchmarks.speed.training.scale import CUDA, FULL, QUICK, TrainingScale, scale_of
from palaestra.cli.bench import app
from palaestra.errors import ConfigError
from palaestra.trainers.data.layouts import LAYOUTS
from palaestra.trainers.loops.config import WorldConfig


@pytest.fixture(autouse=True)
def small(scale: TrainingScale, monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(device: str, *, quick: bool) -> TrainingScale:
        assert device in ("cpu", "cuda")
        assert quick
        return scale

    monkeypatch.setattr(training, "scale_of", scaled)
    monkeypatch.setattr(asynchrony, "_WORLD", WorldConfig(families=("find-warranty-end",)))


def ran(command: str, folder: Path, *options: str, threads: tuple[str, ...] = ("--threads", "1")) -> tuple[str, Any]:
    """What the command wrote, as Markdown and as JSON (Any: read, and looked into by name)."""
    written, shown = folder / "bench.json", folder / "bench.md"
    asked = [command, "--quick", *threads, "--json", str(written), "--markdown", str(shown), *options]
    done = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "a second" in done.output
    return shown.read_text(), json.loads(written.read_bytes())


def test_engines_are_compared_in_one_go_and_in_turns_beside_their_aims(tmp_path: Path) -> None:
    text, figures = ran("engine", tmp_path, "--vllm-python", str(tmp_path / "python"))
    assert [[rate["name"] for rate in section["rates"]] for section in figures["sections"]] == [
        ["native, fp32", "transformers, fp32", "native, bf16", "transformers, bf16"]
    ] * 2
    assert all(rate["per_second"] > 0 for section in figures["sections"] for rate in section["rates"])
    once, turns = figures["sections"]
    assert all(rate["limit"] > 0 for rate in once["rates"])
    aims = [{c["name"]: c["at_least"] for c in section["comparisons"]} for section in (once, turns)]
    assert aims[0]["native, fp32, over transformers, fp32"] == 2.5
    assert aims[1]["native, fp32, over transformers, fp32"] == 3.0
    assert aims[0]["log-probabilities of native, bf16, off transformers, fp32, most"] is None
    assert "vLLM: not measured: there is no" in text
    assert figures["machine"]["threads"] == 1


def test_learners_are_compared_in_each_layout(tmp_path: Path) -> None:
    _, figures = ran("train", tmp_path)
    (section,) = figures["sections"]
    names = [f"{layout}, {p}" for p in ("fp32", "bf16") for layout in ("packed", "padded", "shared")]
    assert [rate["name"] for rate in section["rates"]] == [*names, "reference, fp32"]
    assert [c["name"] for c in section["comparisons"]] == [
        *(f"{name}, over reference, fp32" for name in names),
        *(f"shared, {p}, over packed, {p}" for p in ("fp32", "bf16")),
        "tokens of packed over tokens of shared",
    ]
    assert [c["at_least"] for c in section["comparisons"]] == [1.5, None, 1.5, None, None, None, None, None, None]


def test_a_tree_of_prefixes_saves_the_tokens_that_the_formula_states(scale: TrainingScale) -> None:
    """G trajectories of R tokens behind a prompt of P: G (P + R) / (P + G R)."""
    step = LearnerStep(scale.train)
    groups, prompt = scale.train.groups, scale.train.prompt
    own = sum(len(tokens.ids) - prompt for tokens in step.trajectories)
    alike = groups * scale.train.group_size * prompt
    packed, shared = (len(LAYOUTS[name](step.batch).ids_N) for name in ("packed", "shared"))
    # The last token of a trajectory is read by no other, and of a group's prompt every member needs the whole.
    last = len(step.trajectories)
    assert (packed, shared) == (alike + own - last, groups * prompt + own - last)


def test_loops_are_compared_with_those_that_wait(tmp_path: Path) -> None:
    _, figures = ran("async", tmp_path)
    (section,) = figures["sections"]
    assert [rate["name"] for rate in section["rates"]] == list(asynchrony.RUNS)
    shares = [c for c in section["comparisons"] if c["unit"] == "% of the time"]
    assert len(shares) == len(asynchrony.RUNS)
    assert all(0 < share["value"] <= 100 for share in shares)
    assert [c["at_least"] for c in section["comparisons"]] == [2.7, 2.7, None, 90.0, None, None, None, None]


def test_replicas_are_compared_with_one_engine_by_wall_and_processor_time(tmp_path: Path) -> None:
    _, figures = ran("replicas", tmp_path, threads=())
    names = ["1 engine in the process that asks", "1 replica", "2 replicas"]
    for section in figures["sections"]:
        assert [rate["name"] for rate in section["rates"]] == names
        assert all(rate["per_second"] > 0 for rate in section["rates"])
        assert [c["name"] for c in section["comparisons"]] == [f"{name}, over {names[0]}" for name in names[1:]]
    assert [section["title"].partition(":")[0] for section in figures["sections"]] == [
        "Rollouts by wall time",
        "Rollouts by processor time",
    ]


@pytest.mark.parametrize("command", ["engine", "train"])
def test_without_an_accelerator_there_is_nothing_to_measure_on_one(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    done = CliRunner().invoke(app, [command, "--quick", "--device", "cuda"])
    assert isinstance(done.exception, ConfigError)


def test_quick_is_little_and_accelerators_get_a_model_of_their_own_size() -> None:
    assert scale_of("cpu", quick=True) == scale_of("cuda", quick=True) == QUICK
    assert scale_of("cpu", quick=False) == FULL
    assert scale_of("cuda", quick=False) == CUDA
    assert 5e8 < CUDA.engine.shape.parameters < 7e8
