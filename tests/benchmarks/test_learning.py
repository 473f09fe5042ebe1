"""What is told of a training run: from records written by hand, every number found a second time; and a run itself."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import orjson
import pytest

from crash.loops import POLICY, SFT, SYNC, WORLD, demonstrations
from palaestra.benchmarks.curves import png, svg
from palaestra.benchmarks.learning import (
    LearningConfig,
    LearningMaterial,
    LearningResult,
    MeasuredPolicy,
    learn,
    learning_document,
    learning_panels,
    learning_tables,
)
from palaestra.benchmarks.learning.evaluation import EVALUATION, Evaluation, TaskResult
from palaestra.benchmarks.statistics import Observation, Unit, estimate_mean, paired_difference
from palaestra.errors import CheckpointError
from palaestra.records import EndReason
from palaestra.table import Table
from palaestra.trainers import Policy, ProgressBar, StageProgress, initial_policy, recorded_batches, tasks_of
from worlds.registration import LIBRARY_ID

Points = dict[str, tuple[int, ...]]

SEEN, UNSEEN = "families trained on", "families never seen"
FIRST: dict[str, Points] = {
    "before": {"a": (0, 10), "b": (20, 30), "u": (5, 5)},
    "after-grpo": {"a": (100, 40), "b": (20, 60), "u": (0, 100)},
    "control": {"a": (0, 20), "b": (30, 30), "u": (-20, 5)},
}
SECOND: dict[str, Points] = {
    "before": {"a": (0, 0), "b": (100, 30), "u": (5, 15)},
    "after-grpo": {"a": (90, 50), "b": (100, 100), "u": (0, 0)},
    "control": {"a": (10, 10), "b": (0, 0), "u": (0, 5)},
}


def evaluation(points: Points) -> Evaluation:
    """Tasks named `u` are of unseen families; 100 points are a solved task, and less than none a harmed one."""
    return Evaluation(
        tasks={
            task: TaskResult(
                unseen=task == "u",
                points=own,
                solved=tuple(p == 100 for p in own),
                harmed=tuple(p < 0 for p in own),
                turns=(4,) * len(own),
                ends=(EndReason.FINISHED,) * len(own),
            )
            for task, own in points.items()
        },
        faults=0,
    )


@pytest.fixture(scope="module")
def policy() -> Policy:
    """Any."""
    return initial_policy(POLICY, list(demonstrations()), seed=0)


@pytest.fixture(scope="module")
def runs(policy: Policy) -> list[LearningResult]:
    """Two seeds."""

    def measured(points: Points, steps: int, seconds: float) -> MeasuredPolicy:
        rows = [
            {"step": float(n), "seconds": seconds * n / steps, "loss": 4 / n, "reward/mean": 10.0 * n}
            for n in range(1, steps + 1)
        ]
        progress = StageProgress(config="", step=steps, seconds=seconds, history=rows)
        return MeasuredPolicy(policy=policy, progress=progress, evaluation=evaluation(points), episodes=())

    return [
        LearningResult(
            seed=seed,
            before=measured(found["before"], 30, 61.2 + seed),
            after=measured(found["after-grpo"], 4, 120.4),
            control=measured(found["control"], 50, 120.6),
        )
        for seed, found in enumerate((FIRST, SECOND))
    ]


def row(table: Table, tasks: str, seed: str) -> dict[str, str]:
    (found,) = (cells for cells in table.rows if cells[:2] == (tasks, seed))
    return dict(zip(("tasks", "seed", "before", "after", "gain", "control", "its own"), found, strict=True))


def together(*parts: Points, unseen: bool) -> list[Observation]:
    """The values of several training seeds."""
    return [
        Observation(value=float(point), task=task, training_seed=seed)
        for seed, part in enumerate(parts)
        for task, points in part.items()
        if (task == "u") == unseen
        for point in points
    ]


@pytest.mark.parametrize("unseen", [False, True])
@pytest.mark.parametrize(("seed", "found"), [("0", [FIRST]), ("1", [SECOND]), ("all", [FIRST, SECOND])])
def test_scores_are_what_separate_statistics_find(
    runs: list[LearningResult], seed: str, found: list[dict[str, Points]], unseen: bool
) -> None:
    unit = Unit.TRAINING_SEED if seed == "all" else Unit.FAMILY if unseen else Unit.TASK
    cells = row(learning_tables(runs)[0], UNSEEN if unseen else SEEN, seed)
    before, after, control = (
        together(*(one[part] for one in found), unseen=unseen) for part in ("before", "after-grpo", "control")
    )
    means = [f"{estimate_mean(part, unit).mean:.1f}" for part in (before, after, control)]
    assert [cells["before"], cells["after"], cells["control"]] == means
    assert cells["gain"] == paired_difference(before, after, unit).text(signed=True)
    assert cells["its own"] == paired_difference(before, control, unit).text(signed=True)


def test_scores_by_hand(runs: list[LearningResult]) -> None:
    cells = row(learning_tables(runs)[0], SEEN, "0")
    # Task means before: 5 and 25; after: 70 and 40; two tasks are too few for an interval.
    assert (cells["before"], cells["after"], cells["gain"]) == ("15.0", "55.0", "+40.0, 2 tasks: +65.0, +15.0")
    cells = row(learning_tables(runs)[0], UNSEEN, "all")
    # One family: before 5 and 5, then 5 and 15; after 0 and 100, then 0 and 0. The unit is the training seed.
    assert (cells["before"], cells["after"], cells["gain"]) == (
        "7.5",
        "25.0",
        "+17.5, 2 training seeds: +45.0, -10.0",
    )


def test_shares_solved_by_hand(runs: list[LearningResult]) -> None:
    table = learning_tables(runs)[1]
    # Before, seed 0 solves nothing; afterwards one of two episodes of `a` and none of `b`.
    cells = row(table, SEEN, "0")
    assert (cells["before"], cells["after"], cells["gain"]) == ("0.0", "25.0", "+25.0, 2 tasks: +50.0, +0.0")
    cells = row(table, UNSEEN, "0")
    assert (cells["before"], cells["after"], cells["gain"]) == ("0.0", "50.0", "+50.0, 1 family")


def test_shares_of_harm_by_hand(runs: list[LearningResult]) -> None:
    # One of two episodes of the control of seed 0, and none of seed 1.
    (table,) = (table for table in learning_tables(runs) if "forbidden" in table.title)
    assert [row(table, UNSEEN, seed)["its own"] for seed in ("0", "1", "all")] == [
        "+50.0, 1 family",
        "+0.0, 1 family",
        "+25.0, 2 training seeds: +50.0, +0.0",
    ]


def test_a_claim_about_training_takes_several_training_seeds(runs: list[LearningResult]) -> None:
    assert "no interval about training" in learning_tables(runs[:1])[0].note
    assert "their unit is the training seed" in learning_tables(runs)[0].note


def test_several_seeds_have_a_row_for_all_and_one_has_none(runs: list[LearningResult]) -> None:
    for table in learning_tables(runs)[:3]:
        assert [cells[:2] for cells in table.rows] == [
            (tasks, seed) for tasks in (SEEN, UNSEEN) for seed in ("0", "1", "all")
        ]
    for table in learning_tables(runs[1:])[:3]:
        assert [cells[:2] for cells in table.rows] == [(SEEN, "1"), (UNSEEN, "1")]


def test_the_note_counts_tasks_and_episodes(runs: list[LearningResult]) -> None:
    assert "2 tasks of 1 family trained on, 1 task of 1 family never seen, 2 episodes" in learning_tables(runs)[0].note


def test_the_cost_is_steps_and_seconds_of_each_stage(runs: list[LearningResult]) -> None:
    (table,) = (table for table in learning_tables(runs) if "took" in table.title)
    assert table.columns[1::2] == ("warm-up steps", "GRPO steps", "control steps")
    assert table.rows == (("0", "30", "61", "4", "120", "50", "121"), ("1", "30", "62", "4", "120", "50", "121"))


def test_every_table_has_as_many_cells_as_columns(runs: list[LearningResult]) -> None:
    for table in learning_tables(runs):
        assert {len(cells) for cells in table.rows} == {len(table.columns)}


def test_the_curves_are_the_history(runs: list[LearningResult]) -> None:
    loss, score, _ = learning_panels(runs)
    assert [curve.label for curve in loss.curves] == ["seed 0", "seed 1"]
    for panel, name, part in ((loss, "loss", "before"), (score, "reward/mean", "after-grpo")):
        for curve, run in zip(panel.curves, runs, strict=True):
            rows = run.parts()[part].progress.history
            assert list(curve.x) == [r["step"] for r in rows]
            assert list(curve.y) == [r[name] for r in rows]


def test_the_estimates_are_those_of_training_seeds(runs: list[LearningResult]) -> None:
    estimates = {(e.group, e.label): e for e in learning_panels(runs)[2].estimates}
    assert len(estimates) == 6
    for unseen, group in ((False, SEEN), (True, UNSEEN)):
        for part, points in FIRST.items():
            found = estimate_mean(together(points, SECOND[part], unseen=unseen), Unit.TRAINING_SEED)
            shown = estimates[group, part]
            assert (shown.mean, shown.low, shown.high) == (found.mean, found.mean, found.mean)


def test_the_panels_draw(runs: list[LearningResult]) -> None:
    for some in (runs, runs[:1]):
        panels = learning_panels(some)
        assert png(panels).startswith(b"\x89PNG")
        drawn = svg(panels)
        assert all(panel.title.partition(":")[0] in drawn for panel in panels)


def test_the_document_holds_every_number(runs: list[LearningResult], policy: Policy) -> None:
    read = orjson.loads(orjson.dumps(learning_document(runs)))
    for found, run in zip(read, runs, strict=True):
        assert found["seed"] == run.seed
        assert found["policies"] == dict.fromkeys(FIRST, policy.digest())
        for name, part in run.parts().items():
            assert found["history"][name] == part.progress.history
            assert EVALUATION.validate_python(found["evaluation"][name], strict=False) == part.evaluation


# a run


CONFIG = LearningConfig(model=POLICY.model, sft=SFT, grpo=SYNC, samples=2, threads=1)
SHORT = replace(CONFIG, sft=replace(SFT, steps=2), grpo=replace(SYNC, steps=1), samples=1)
TRAIN, HELDOUT = tasks_of(WORLD), tasks_of(replace(WORLD, split="heldout"))


def silent(text: str) -> None:
    del text


class Interrupted(Exception):  # noqa: N818  it is what a person does, not a fault
    """Somebody interrupted the run."""


def learnt(
    directory: Path, *, config: LearningConfig = CONFIG, said: list[str] | None = None, until: str = ""
) -> LearningResult:
    """A run in the library, interrupted when the bar `until` would open."""
    material = LearningMaterial(env_id=LIBRARY_ID, demonstrations=demonstrations(), train=TRAIN, heldout=HELDOUT)

    class Nothing:
        def step(self, at: str) -> None:
            assert at

    @contextmanager
    def bar(title: str, total: int) -> Generator[ProgressBar]:
        assert total > 0
        if title == until:
            raise Interrupted
        yield Nothing()

    return learn(material, config, seed=0, directory=directory, bar=bar, say=silent if said is None else said.append)


def found(run: LearningResult) -> list[object]:
    """What is the same whenever the run is the same; the control is given time, so only its beginning is."""

    def untimed(row: Mapping[str, float]) -> dict[str, float]:
        return {name: value for name, value in row.items() if name != "seconds" and not name.startswith("speed/")}

    return [
        (part.policy.digest(), list(map(untimed, part.progress.history)), part.evaluation, part.episodes)
        for part in (run.before, run.after)
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[LearningResult, Path]:
    directory = tmp_path_factory.mktemp("learning") / "seed-0"
    return learnt(directory), directory


@pytest.mark.parametrize(
    "until", ["evaluation seed 0, before", "grpo", "evaluation seed 0, after-grpo", "evaluation seed 0, control"]
)
def test_an_interrupted_run_goes_on_to_the_same_end(
    tmp_path: Path, whole: tuple[LearningResult, Path], until: str
) -> None:
    with pytest.raises(Interrupted):
        learnt(tmp_path / "run", until=until)
    said: list[str] = []
    assert found(learnt(tmp_path / "run", said=said)) == found(whole[0])
    assert said[0].startswith("warm-up: done before")


def test_a_run_that_is_done_is_read(whole: tuple[LearningResult, Path]) -> None:
    run, directory = whole
    written = {path: path.stat().st_mtime_ns for path in directory.rglob("*")}
    said: list[str] = []
    again = learnt(directory, said=said)
    assert len(said) == 6
    assert all("done before" in text for text in said)
    assert found(again) == found(run)
    assert again.control.evaluation == run.control.evaluation
    assert again.control.policy.digest() == run.control.policy.digest()
    assert {path: path.stat().st_mtime_ns for path in directory.rglob("*")} == written


def test_an_evaluation_of_other_settings_is_done_anew(tmp_path: Path) -> None:
    learnt(tmp_path / "run", config=SHORT)
    said: list[str] = []
    more = learnt(tmp_path / "run", config=replace(SHORT, samples=2), said=said)
    assert not [text for text in said if text.startswith("evaluation")]
    assert {len(result.points) for result in more.before.evaluation.tasks.values()} == {2}


def test_a_damaged_evaluation_is_told_with_the_way_out_and_kept(tmp_path: Path) -> None:
    learnt(tmp_path / "run", config=SHORT)
    broken = tmp_path / "run" / "evaluation-before"
    (broken / "evaluation.json").write_text("{}")
    with pytest.raises(CheckpointError) as raised:
        learnt(tmp_path / "run", config=SHORT)
    assert f"{broken}: evaluation.json is not what was saved" in str(raised.value)
    assert f"remove {broken} to evaluate anew" in str(raised.value)
    assert (broken / "evaluation.json").read_text() == "{}"


def test_the_three_parts_are_measured_on_the_same_tasks(whole: tuple[LearningResult, Path]) -> None:
    run = whole[0]
    for name, part in run.parts().items():
        assert list(part.evaluation.tasks) == HELDOUT
        assert [episode.task.id for episode in part.episodes] == HELDOUT
        assert {episode.agent for episode in part.episodes} == {f"seed 0, {name}"}
    assert len({part.policy.digest() for part in run.parts().values()}) == 3


def test_the_control_has_the_time_that_grpo_took(whole: tuple[LearningResult, Path]) -> None:
    run = whole[0]
    taken = run.control.progress.history
    assert run.control.progress.seconds >= run.after.progress.seconds
    assert taken[-2]["seconds"] < run.after.progress.seconds + 0.001, "rows are rounded to milliseconds"


def test_the_curve_of_rollouts_is_their_mean_score_in_points(whole: tuple[LearningResult, Path]) -> None:
    run, directory = whole
    (curve,) = learning_panels([run])[1].curves
    episodes = [[e for group in batch.groups for e in group.episodes] for batch in recorded_batches(directory / "grpo")]
    assert list(curve.y) == pytest.approx([fmean(e.score.points for e in step) for step in episodes])
    assert max(map(abs, curve.y)) > 1, "a share of the points would be below"
