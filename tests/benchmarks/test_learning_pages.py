"""What a run on pages has learnt: what is refused, what the tables say, and a small run measured in both renderers."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from typer.testing import CliRunner

from crash.loops import POLICY, SFT
from palaestra.benchmarks.learning import (
    PagesLearning,
    RendererTask,
    measure_pages_learning,
    pages_learning_tables,
)
from palaestra.benchmarks.learning.evaluation import Evaluation, TaskResult
from palaestra.cli.app import app
from palaestra.errors import ConfigError, RecordError
from palaestra.records import EndReason
from palaestra.trainers import TrainConfig, WorldConfig, plan_run, run
from palaestra.trainers.progress import silent

CHROMIUM = which("chromium") or "/usr/bin/chromium"
PAGES: Mapping[str, Any] = {"surface": "pages", "surface_settings": {"dialect": "compact", "variation": 5}}


def train_policy(folder: Path, switches: Mapping[str, Any]) -> Path:
    """A run of one step: it has learnt nothing."""
    config = TrainConfig(
        threads=1,
        device="cpu",
        world=(WorldConfig(families=("cancel-order",), switches=switches),),
        policy=replace(POLICY, model=replace(POLICY.model, context=2048, vocabulary=4096)),
        stages={"sft": replace(SFT, steps=1, batch=1)},
        trackers=("jsonl",),
    )
    run(plan_run(config), folder)
    return folder


def evaluation(*solved: tuple[bool, ...]) -> Evaluation:
    return Evaluation(
        tasks={
            f"storefront/{'ab'[place % 2]}/{place}": TaskResult(
                points=tuple(100 * one for one in own),
                solved=own,
                harmed=(False,) * len(own),
                turns=(3,) * len(own),
                ends=(EndReason.FINISHED,) * len(own),
            )
            for place, own in enumerate(solved)
        },
        faults=0,
    )


def test_a_run_that_is_none_or_is_not_on_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="give the folder of a run"):
        measure_pages_learning(tmp_path, tmp_path / "out", program=None, bar=silent, say=print)
    elsewhere = train_policy(tmp_path / "run", {})
    with pytest.raises(ConfigError, match="its world has the surface None; give a run on 'pages'"):
        measure_pages_learning(elsewhere, tmp_path / "out", program=None, bar=silent, say=print)


def test_the_tables_compare_stages_variations_and_renderers() -> None:
    low, high = evaluation((False, True), (False, False)), evaluation((True, True), (False, True))
    found = PagesLearning(
        tasks=tuple(low.tasks),
        stages={"sft": {1.0: low, 0.0: low}, "grpo": {1.0: high, 0.0: low}},
        cpu_seconds={"sft": 12.4, "grpo": 3.0},
        variations={"cards": {1.0: low, 0.0: high}},
        renderers=(
            RendererTask(task="storefront/a/0", points=(100, 100), same_tokens=True),
            RendererTask(task="storefront/b/1", points=(100, 5), same_tokens=False),
        ),
    )
    stages, looks, renderers = pages_learning_tables(found)
    assert [row[:2] for row in stages.rows] == [("sft", "12"), ("grpo", "3")]
    assert [row[2].partition(",")[0] for row in stages.rows] == ["25.0", "75.0"]
    assert stages.rows[1][3].startswith("+50.0")
    assert [row[0] for row in looks.rows] == ["none", "cards"]
    assert looks.rows[1][2].startswith("-50.0")
    assert looks.rows[1][4].startswith("+50.0")
    assert renderers.rows[1] == ("storefront/b/1", "100", "5", "no")
    assert "Equal points: 1 of 2. Same tokens read and written: 1 of 2." in renderers.note


def test_a_run_is_measured_in_both_renderers_and_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    folder = train_policy(tmp_path / "run", PAGES)
    command = [
        "bench", "pages-policy", str(folder), "--samples", "2", "--each", "1", "--variation", "cards", "--chromium",
        CHROMIUM, "--markdown", str(tmp_path / "policy.md"),
    ]  # fmt: skip
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    written = (tmp_path / "policy.md").read_text()
    assert "Equal points: 1 of 1. Same tokens read and written: 1 of 1." in written
    names = {path.name for path in (folder / "evaluation").iterdir()}
    assert names == {f"sft-{name}" for name in ("plain-1", "plain-0", "cards-1", "cards-0", "chromium-0")}
    again = CliRunner().invoke(app, command)
    assert again.output.count("done before") == 6  # the one at temperature 0 is compared as well
    assert (tmp_path / "policy.md").read_text() == written
