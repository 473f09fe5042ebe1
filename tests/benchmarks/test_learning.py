"""What is told of a training run: from records written by hand, every number found a second time; and a run itself."""

from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import orjson
import pytest

from crash.loops import EXPERT, POLICY, SFT, SYNC, WORLD, demonstrations
from palaestra.benchmarks.curves import png, svg
from palaestra.benchmarks.learning import (
    CONTROLS,
    STAGES,
    HeldoutGroup,
    LearningConfig,
    LearningMaterial,
    LearningResult,
    MeasuredPolicy,
    groups_by_training,
    learn,
    learn_at_once,
    learning_document,
    learning_panels,
    learning_tables,
)
from palaestra.benchmarks.learning.evaluation import EVALUATION, Evaluation, TaskResult
from palaestra.benchmarks.learning.run import Training
from palaestra.benchmarks.statistics import Observation, Unit, estimate_share, paired_difference
from palaestra.errors import CheckpointError, StorageError
from palaestra.records import EndReason
from palaestra.table import Table
from palaestra.trainers import (
    Policy,
    ProgressBar,
    StageProgress,
    initial_policy,
    load_policy,
    read_progress,
    recorded_batches,
    tasks_of,
)
from palaestra.trainers.progress import silent as no_bar
from palaestra.trajectory import read_episodes

Points = dict[str, tuple[int, ...]]

WARM, ITERATED, GRADIENT = STAGES.values()
HELD = (
    HeldoutGroup(name="new records", tasks=("w/a/0", "w/b/0"), unit=Unit.TASK),
    HeldoutGroup(name="new families", tasks=("w/a-twin/0",)),
)
FIRST: dict[str, Points] = {
    WARM: {"w/a/0": (0, 10), "w/b/0": (20, 30), "w/a-twin/0": (5, 5)},
    ITERATED: {"w/a/0": (100, 40), "w/b/0": (20, 60), "w/a-twin/0": (100, 100)},
    GRADIENT: {"w/a/0": (0, 20), "w/b/0": (30, 100), "w/a-twin/0": (-20, 5)},
}
SECOND: dict[str, Points] = {
    WARM: {"w/a/0": (0, 0), "w/b/0": (100, 30), "w/a-twin/0": (5, 15)},
    ITERATED: {"w/a/0": (90, 100), "w/b/0": (100, 100), "w/a-twin/0": (0, 0)},
    GRADIENT: {"w/a/0": (10, 10), "w/b/0": (0, 0), "w/a-twin/0": (0, 5)},
}
MATERIAL = LearningMaterial(world=WORLD, demonstrations=demonstrations(), heldout=HELD, twins={"w/a/0": "w/a-twin/0"})


def evaluation(points: Points) -> Evaluation:
    """100 points are a solved task, and less than none a harmed one."""
    return Evaluation(
        tasks={
            task: TaskResult(
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
    """Two seeds; at the lower temperature nothing is solved."""

    def measured(points: Points, steps: int, seconds: float) -> MeasuredPolicy:
        rows = [
            {"step": float(n), "seconds": seconds * n / steps, "loss": 4 / n, "solved": n / steps}
            for n in range(1, steps + 1)
        ]
        progress = StageProgress(config="", step=steps, cpu_seconds=seconds, history=rows)
        nothing = {task: (0,) * len(own) for task, own in points.items()}
        evaluations = {1.0: evaluation(points), 0.3: evaluation(nothing)}
        return MeasuredPolicy(policy=policy, progress=progress, evaluations=evaluations, episodes=())

    return [
        LearningResult(
            seed=seed,
            parts={
                WARM: measured(found[WARM], 30, 61.2 + seed),
                ITERATED: measured(found[ITERATED], 4, 120.4),
                GRADIENT: measured(found[GRADIENT], 2, 10.6),
            },
        )
        for seed, found in enumerate((FIRST, SECOND))
    ]


def table_of(runs: list[LearningResult], text: str) -> Table:
    (found,) = (table for table in learning_tables(runs, MATERIAL) if text in table.title)
    return found


def cells(table: Table, *first: str) -> tuple[str, ...]:
    (found,) = (row[len(first) :] for row in table.rows if row[: len(first)] == first)
    return found


def shares(parts: list[Points], tasks: tuple[str, ...]) -> list[Observation]:
    """100 for each episode that solved, of several training seeds."""
    return [
        Observation(value=100.0 * (point == 100), task=task, family=task.split("/")[1], training_seed=seed)
        for seed, part in enumerate(parts)
        for task in tasks
        for point in part[task]
    ]


@pytest.mark.parametrize("group", HELD, ids=lambda group: group.name)
@pytest.mark.parametrize("name", [ITERATED, GRADIENT])
@pytest.mark.parametrize("seeds", [[FIRST], [FIRST, SECOND]], ids=["one seed", "two seeds"])
def test_shares_solved_are_what_separate_statistics_find(
    runs: list[LearningResult], seeds: list[dict[str, Points]], name: str, group: HeldoutGroup
) -> None:
    found = cells(table_of(runs[: len(seeds)], "solve their task"), group.name, name)
    own, warm = (shares([seed[part] for seed in seeds], group.tasks) for part in (name, WARM))
    assert found[0] == estimate_share(own, group.unit, whole=100).text()
    assert found[1] == paired_difference(warm, own, group.unit, whole=100).text(signed=True)
    assert all(float(number.rstrip(",")) == 0 for number in (found[2].split()[0], found[3].split()[0]))


def test_shares_solved_by_hand(runs: list[LearningResult]) -> None:
    table = table_of(runs[:1], "solve their task")
    assert cells(table, "new records", WARM)[:2] == ("0.0, 2 tasks: 0.0, 0.0", "")
    assert cells(table, "new records", ITERATED)[:2] == ("25.0, 2 tasks: 50.0, 0.0", "+25.0, 2 tasks: +50.0, +0.0")
    assert cells(table, "new families", ITERATED)[:2] == ("100.0, 1 family", "+100.0, 1 family")


def test_pairs_solved_by_hand(runs: list[LearningResult]) -> None:
    # Expert iteration: of the first seed one of two samples solves both, of the second none solves the twin.
    assert cells(table_of(runs[:1], "Pairs"), ITERATED)[:2] == ("50.0, 1 family", "+50.0, 1 family")
    assert cells(table_of(runs, "Pairs"), ITERATED)[:2] == ("25.0, 1 family", "+25.0, 1 family")
    alone = replace(MATERIAL, twins={})
    assert not [table for table in learning_tables(runs, alone) if "Pairs" in table.title]


def test_what_else_there_is_by_hand(runs: list[LearningResult]) -> None:
    once, points, harmed, unfinished = cells(table_of(runs[:1], "What else"), "new records", ITERATED)
    assert once == "50.0, 2 tasks: 100.0, 0.0"
    assert points == "55.0, 2 tasks: 70.0, 40.0"
    assert (harmed, unfinished) == ("0.0, 2 tasks: 0.0, 0.0",) * 2
    assert cells(table_of(runs[:1], "What else"), "new families", GRADIENT)[2] == "50.0, 1 family"


def test_several_seeds_are_listed_one_by_one_and_one_is_not(runs: list[LearningResult]) -> None:
    table = table_of(runs, "seed by seed")
    assert [row[:2] for row in table.rows] == [
        (seed, name) for seed in ("0", "1") for name in (WARM, ITERATED, GRADIENT)
    ]
    assert cells(table, "1", ITERATED) == ("75.0", "0.0")
    assert not [one for one in learning_tables(runs[:1], MATERIAL) if "seed by seed" in one.title]


def test_the_notes_say_what_was_played_and_for_which_seeds_it_holds(runs: list[LearningResult]) -> None:
    note = table_of(runs, "solve their task").note
    assert (
        "new records: 2 tasks of 2 families, 2 episodes of each; new families: 1 task of 1 family, 2 episodes of each"
    ) in note
    assert "for the mean over training seeds 0, 1; they say nothing of other seeds" in note
    assert "for the policy of training seed 0" in table_of(runs[:1], "solve their task").note


def test_the_cost_is_steps_and_processor_time_of_each_stage(runs: list[LearningResult]) -> None:
    table = table_of(runs, "took")
    assert table.columns[1::2] == tuple(f"{name} steps" for name in (WARM, ITERATED, GRADIENT))
    assert table.rows == (("0", "30", "61", "4", "120", "2", "11"), ("1", "30", "62", "4", "120", "2", "11"))


def test_every_table_has_as_many_cells_as_columns(runs: list[LearningResult]) -> None:
    for table in learning_tables(runs, MATERIAL):
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_the_curves_are_the_history(runs: list[LearningResult]) -> None:
    curves = learning_panels(runs, MATERIAL)[:3]
    for panel, name, column in zip(curves, (WARM, ITERATED, GRADIENT), ("loss", "solved", "solved"), strict=True):
        assert [curve.label for curve in panel.curves] == ["seed 0", "seed 1"]
        for curve, run in zip(panel.curves, runs, strict=True):
            rows = run.parts[name].progress.history
            assert list(curve.x) == [row["step"] for row in rows]
            assert list(curve.y) == [row[column] for row in rows]


def test_the_estimates_are_the_shares_solved(runs: list[LearningResult]) -> None:
    panels = learning_panels(runs, MATERIAL)[3:]
    assert [panel.title for panel in panels] == ["Solved: new records", "Solved: new families"]
    for panel, group in zip(panels, HELD, strict=True):
        for shown, name in zip(panel.estimates, (WARM, ITERATED, GRADIENT), strict=True):
            own = shares([FIRST[name], SECOND[name]], group.tasks)
            assert (shown.label, shown.mean) == (name, estimate_share(own, group.unit, whole=100).mean)


def test_the_panels_draw(runs: list[LearningResult]) -> None:
    for some in (runs, runs[:1]):
        panels = learning_panels(some, MATERIAL)
        assert png(panels).startswith(b"\x89PNG")
        drawn = svg(panels)
        assert all(panel.title.partition(":")[0] in drawn for panel in panels)


def test_the_document_holds_every_number(runs: list[LearningResult], policy: Policy) -> None:
    read = orjson.loads(orjson.dumps(learning_document(runs)))
    for found, run in zip(read, runs, strict=True):
        assert found["seed"] == run.seed
        assert found["policies"] == dict.fromkeys(FIRST, policy.digest())
        for name, part in run.parts.items():
            assert found["history"][name] == part.progress.history
            for temperature, own in part.evaluations.items():
                shown = found["evaluation"][name][f"{temperature:g}"]
                assert EVALUATION.validate_python(shown, strict=False) == own


def test_held_out_tasks_are_grouped_by_whether_their_families_are_trained_on() -> None:
    groups = groups_by_training(["w/a/0", "w/b/0"], ["w/a/7", "w/c/7", "w/b/7"])
    assert [(group.tasks, group.unit) for group in groups] == [
        (("w/a/7", "w/b/7"), Unit.TASK),
        (("w/c/7",), Unit.FAMILY),
    ]
    assert len(groups_by_training(["w/a/0"], ["w/a/7"])) == 1


# a run


CONFIG = LearningConfig(
    model=POLICY.model,
    demonstrations=2,
    sft=SFT,
    expert=replace(EXPERT, steps=2),
    grpo=SYNC,
    controls=True,
    samples=2,
    temperatures=(1.0, 0.5),
    threads=1,
)
SHORT = replace(
    CONFIG,
    sft=replace(SFT, steps=2),
    expert=replace(EXPERT, steps=1, updates=1),
    grpo=replace(SYNC, steps=1),
    controls=False,
    samples=1,
    temperatures=(1.0,),
)
NAMES = [WARM, ITERATED, GRADIENT, "more-steps", "more-demonstrations", "rejection-sampling"]
TRAIN, HELDOUT = tasks_of(WORLD), tasks_of(replace(WORLD, split="heldout"))
LIBRARY = LearningMaterial(world=WORLD, demonstrations=demonstrations(), heldout=groups_by_training(TRAIN, HELDOUT))


def silent(text: str) -> None:
    del text


class Interrupted(Exception):  # noqa: N818  it is what a person does, not a fault
    """Somebody interrupted the run."""


def learnt(
    directory: Path, *, config: LearningConfig = CONFIG, said: list[str] | None = None, until: str = ""
) -> LearningResult:
    """A run in the library, interrupted when the bar `until` would open."""

    class Nothing:
        def step(self, at: str, count: int = 1) -> None:
            assert at
            assert count

    @contextmanager
    def bar(title: str, total: int) -> Generator[ProgressBar]:
        assert total > 0
        if title == until:
            raise Interrupted
        yield Nothing()

    return learn(LIBRARY, config, seed=0, directory=directory, bar=bar, say=silent if said is None else said.append)


def found(run: LearningResult) -> list[object]:
    """What is the same whenever the run is the same; two controls are given time, so they are left out."""

    def untimed(row: Mapping[str, float]) -> dict[str, float]:
        timed = ("seconds", "speed/", "rollouts/")
        return {name: value for name, value in row.items() if not name.startswith(timed)}

    return [
        (part.policy.digest(), list(map(untimed, part.progress.history)), part.evaluations, part.episodes)
        for name, part in run.parts.items()
        if not name.startswith("more-")
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[LearningResult, Path]:
    directory = tmp_path_factory.mktemp("learning") / "seed-0"
    return learnt(directory), directory


def test_each_policy_is_what_its_stage_came_to(whole: tuple[LearningResult, Path]) -> None:
    run, directory = whole
    assert list(run.parts) == NAMES
    for stage, name in STAGES.items():
        assert run.parts[name].policy.digest() == load_policy(directory / "run" / stage / "checkpoint").digest()
    assert len({part.policy.digest() for part in run.parts.values()}) == len(NAMES)


@pytest.mark.parametrize(
    "until",
    [
        "expert",
        "grpo",
        f"evaluation seed 0, {ITERATED}, temperature 1",
        f"evaluation seed 0, {GRADIENT}, temperature 0.5",
        "rejection",
    ],
)
def test_an_interrupted_run_goes_on_to_the_same_end(
    tmp_path: Path, whole: tuple[LearningResult, Path], until: str
) -> None:
    with pytest.raises(Interrupted):
        learnt(tmp_path / "run", until=until)
    assert found(learnt(tmp_path / "run")) == found(whole[0])


def test_a_run_that_is_done_is_read(whole: tuple[LearningResult, Path]) -> None:
    run, directory = whole
    kept = [path for path in directory.rglob("*") if "evaluation" in str(path) or "checkpoint" in str(path)]
    written = {path: path.stat().st_mtime_ns for path in kept}
    again = learnt(directory)
    assert found(again) == found(run)
    for name, part in again.parts.items():
        assert part.policy.digest() == run.parts[name].policy.digest()
        assert part.evaluations == run.parts[name].evaluations
    assert {path: path.stat().st_mtime_ns for path in kept} == written


def test_processes_of_their_own_come_to_the_same_policies_seed_by_seed(
    tmp_path: Path, whole: tuple[LearningResult, Path]
) -> None:
    shown: dict[str, list[str]] = {}

    class Steps:
        def __init__(self, title: str) -> None:
            self._title = title

        def step(self, at: str, count: int = 1) -> None:
            shown.setdefault(self._title, []).extend([at] * count)

    @contextmanager
    def bar(title: str, total: int) -> Generator[ProgressBar]:
        assert total
        yield Steps(title)

    runs = learn_at_once(LIBRARY, CONFIG, seeds=2, directory=tmp_path, jobs=2, bar=bar, say=silent)
    measured = [f"{name}, temperature {one:g}" for name in NAMES for one in CONFIG.temperatures]
    parts = ("stages", *CONTROLS, *measured)
    assert sorted(shown.pop("policies")) == sorted(f"seed {seed}, {part}" for seed in (0, 1) for part in parts)
    assert not shown.keys() - {"openings"}, "nothing is left to train or to evaluate in this process"
    assert [run.seed for run in runs] == [0, 1]
    assert all(list(run.parts) == NAMES for run in runs)
    assert found(runs[0]) == found(whole[0])
    assert found(runs[1]) != found(whole[0])


def test_a_process_that_fails_is_told_and_the_others_are_finished(tmp_path: Path) -> None:
    (tmp_path / "seed-0").mkdir()
    (tmp_path / "seed-0" / "run").write_text("in the way")
    said: list[str] = []

    @contextmanager
    def bar(title: str, total: int) -> Generator[ProgressBar]:
        class Nothing:
            def step(self, at: str, count: int = 1) -> None:
                del at, count

        yield Nothing()

    with pytest.raises(StorageError):
        learn_at_once(LIBRARY, SHORT, seeds=2, directory=tmp_path, jobs=2, bar=bar, say=said.append)
    assert [text.partition(":")[0] for text in said] == ["seed 0, stages"]
    assert read_progress(tmp_path / "seed-1" / "run" / "grpo" / "checkpoint").step == 1


def test_an_evaluation_of_other_settings_is_done_anew(tmp_path: Path) -> None:
    learnt(tmp_path / "run", config=SHORT)
    said: list[str] = []
    more = learnt(tmp_path / "run", config=replace(SHORT, samples=2), said=said)
    assert not [text for text in said if text.startswith("evaluation")]
    assert {len(result.points) for result in more.parts[WARM].evaluations[1.0].tasks.values()} == {2}


def test_a_damaged_evaluation_is_told_with_the_way_out_and_kept(tmp_path: Path) -> None:
    learnt(tmp_path / "run", config=SHORT)
    broken = tmp_path / "run" / f"evaluation-{WARM}-1"
    (broken / "evaluation.json").write_text("{}")
    with pytest.raises(CheckpointError) as raised:
        learnt(tmp_path / "run", config=SHORT)
    assert f"{broken}: evaluation.json is not what was saved" in str(raised.value)
    assert f"remove {broken} to evaluate anew" in str(raised.value)
    assert (broken / "evaluation.json").read_text() == "{}"


def test_all_policies_are_measured_on_the_same_tasks_at_the_same_temperatures(
    whole: tuple[LearningResult, Path],
) -> None:
    for name, part in whole[0].parts.items():
        assert list(part.evaluations) == [1.0, 0.5]
        assert all(sorted(one.tasks) == sorted(HELDOUT) for one in part.evaluations.values())
        assert sorted(episode.task.id for episode in part.episodes) == sorted(HELDOUT)
        assert {episode.agent for episode in part.episodes} == {f"seed 0, {name}, temperature 1"}


def test_controls_get_as_much_as_the_stages_after_the_warm_start(whole: tuple[LearningResult, Path]) -> None:
    run, directory = whole
    seconds = {name: part.progress.cpu_seconds for name, part in run.parts.items()}
    later = seconds[ITERATED] + seconds[GRADIENT]
    for name, given in (("more-steps", later), ("more-demonstrations", later + seconds[WARM])):
        steps = run.parts[name].progress.step
        assert seconds[name] >= given
        assert steps == 1 or (steps - 1) / steps * seconds[name] < 2 * given, "it ends with the step that reaches it"
    rounds, updates = CONFIG.expert.steps, CONFIG.expert.updates
    assert run.parts["rejection-sampling"].progress.step == rounds + rounds * updates
    shown = [list(read_episodes(directory / f"demonstrations-{count}.jsonl")) for count in (2, 6)]
    for count, episodes in zip((2, 6), shown, strict=True):
        assert max(Counter(episode.task.family for episode in episodes).values()) <= count
    assert len(shown[1]) > len(shown[0])


def test_rejection_sampling_gets_the_rounds_that_expert_iteration_took(tmp_path: Path) -> None:
    """Where time ends that, its settings do not say how many."""
    expert = replace(CONFIG.expert, steps=3, cpu_seconds=1e-6, patience=None)
    training = Training(LIBRARY, replace(CONFIG, expert=expert), seed=0, directory=tmp_path, bar=no_bar, say=silent)
    training.train_stages()
    assert read_progress(training.checkpoint(ITERATED)).step == 1
    training.train_control("rejection-sampling")
    assert read_progress(training.checkpoint("rejection-sampling")).step == 1 + expert.updates
    settings = orjson.loads((tmp_path / "rejection-sampling" / "config.json").read_bytes())["rejection"]
    assert settings["patience"] is None


def test_names_of_many_policies_stand_on_lines_of_their_own(
    whole: tuple[LearningResult, Path], runs: list[LearningResult]
) -> None:
    panels = learning_panels([whole[0]], LIBRARY)[3:]
    assert all(panel.sideways and panel.x_label == "percent" for panel in panels)
    assert png(learning_panels([whole[0]], LIBRARY)).startswith(b"\x89PNG")
    assert not any(panel.sideways for panel in learning_panels(runs, MATERIAL)[3:])


def test_the_curve_of_rollouts_is_the_share_that_solved(whole: tuple[LearningResult, Path]) -> None:
    run, directory = whole
    panels = learning_panels([run], LIBRARY)[:3]
    for panel, stage in zip(panels[1:], ("expert", "grpo"), strict=True):
        batches = recorded_batches(directory / "run" / stage)
        episodes = [[e for group in batch.groups for e in group.episodes] for batch in batches]
        assert list(panel.curves[0].y) == pytest.approx([fmean(e.score.passed for e in step) for step in episodes])
