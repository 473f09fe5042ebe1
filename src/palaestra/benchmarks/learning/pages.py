"""Evaluates a run on pages: on held-out tasks, under held-out variations, and on the pages that Chromium shows.

Each evaluation is saved when it is done, so an interrupted measurement resumes with the missing evaluations.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import gymnasium as gym

from palaestra.agents.hosted import WorldSpec
from palaestra.agents.rollout import Env
from palaestra.benchmarks.learning.evaluation import Evaluation, difference, estimate
from palaestra.benchmarks.learning.material import HeldoutGroup, LearningMaterial, evaluate_policy, place_of
from palaestra.benchmarks.learning.selection import limit_tasks
from palaestra.benchmarks.statistics import Unit
from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.variation import HELD_OUT_FAMILIES
from palaestra.errors import ConfigError
from palaestra.record import record
from palaestra.table import Table
from palaestra.trainers import (
    ExpertConfig,
    OpenProgressBar,
    PlayConfig,
    PoolConfig,
    RolloutWorlds,
    WorldConfig,
    env_id_of,
    load_policy,
    read_progress,
)
from palaestra.trainers.rollouts.worlds import ProcessWorlds
from palaestra.trainers.run_folder import read_run
from palaestra.trajectory import Episode

HELD_OUT = "heldout-records"
"""The split of the test tasks: families and wordings of training, other records."""
_TURN = 64
"""Maximum tokens of a turn."""


@record
class RendererTask:
    """A task that a policy played at temperature 0 with both renderers."""

    task: str
    points: tuple[int, int]
    """Points in process and in Chromium."""
    same_tokens: bool
    """Whether the tokens that the policy read and wrote are equal."""


@record
class PagesLearning:
    """The results of a run's policies."""

    tasks: tuple[str, ...]
    stages: Mapping[str, Mapping[float, Evaluation]]
    """Evaluations on held-out tasks by stage and temperature, on pages as in training."""
    cpu_seconds: Mapping[str, float]
    """Processor seconds of training, by stage."""
    variations: Mapping[str, Mapping[float, Evaluation]]
    """Evaluations of the last stage's policy on the same tasks, by held-out family of variations and temperature."""
    renderers: tuple[RendererTask, ...]
    """The last stage's policy with both renderers; empty without Chromium."""


@record
class ChromiumSpec(WorldSpec):
    """A world whose pages Chromium shows, made in a process of its own."""

    program: str

    def make(self) -> Env:
        """Make the environment; it needs the extra `web`."""
        from palaestra.envs.surfaces.pages.chromium_env import ChromiumEnv  # noqa: PLC0415

        spec = WorldSpec(
            env_id=self.env_id,
            action_format=self.action_format,
            switches=self.switches,
            place=self.place,
            imports=self.imports,
        )
        return ChromiumEnv(spec.make(), self.program)


def measure_pages_learning(
    run: Path,
    directory: Path,
    *,
    samples: int = 4,
    each: int | None = None,
    variations: tuple[str, ...] = HELD_OUT_FAMILIES,
    program: str | None,
    bar: OpenProgressBar,
    say: Callable[[str], None],
) -> PagesLearning:
    """Measure the policies of a run's stages, resuming from the files in `directory`.

    Args:
        run: The folder of a run on pages.
        directory: The folder of evaluations.
        samples: Episodes of each task at temperature 1; at 0 there is one.
        each: Maximum number of held-out tasks of each family.
        variations: The families of variations under which the last policy is measured.
        program: The path of Chromium; without it, renderers are not compared.
        bar: Opens a progress bar.
        say: Receives messages about restored evaluations and faults.

    Raises:
        RecordError: `run` is not the folder of a run.
        ConfigError: the run has no saved stage, or its world is not played on pages.
        CheckpointError: an evaluation or a checkpoint is damaged.
    """
    found = read_run(run)
    if not found.stages:
        raise ConfigError(f"{run}: no stage of the run is saved; train it first")
    material = _material(cast("list[Mapping[str, Any]]", found.settings["world"])[0], run, each)
    measuring = _Measuring(material, directory, samples=samples, bar=bar, say=say)
    checkpoints = {stage.name: stage.directory / "checkpoint" for stage in found.stages}
    stages = {name: measuring.measure(name, checkpoint) for name, checkpoint in checkpoints.items()}
    last = found.stages[-1].name
    shifted = {name: measuring.measure(last, checkpoints[last], variation=name) for name in variations}
    renderers = () if program is None else measuring.compare(last, checkpoints[last], program)
    return PagesLearning(
        tasks=material.tasks,
        stages=stages,
        cpu_seconds={name: read_progress(checkpoint).cpu_seconds for name, checkpoint in checkpoints.items()},
        variations=shifted,
        renderers=renderers,
    )


def _material(world: Mapping[str, Any], run: Path, each: int | None) -> LearningMaterial:
    """The held-out tasks of a run's first world, on pages without variation."""
    switches = dict(world["switches"])
    if switches.get("surface") != "pages":
        raise ConfigError(f"{run}: its world has the surface {switches.get('surface')!r}; give a run on 'pages'")
    given: Mapping[str, Any] = switches.get("surface_settings") or {}
    switches["surface_settings"] = {name: value for name, value in given.items() if name != "variation"}
    config = WorldConfig(
        env_id=world["env_id"], pack=world["pack"], families=tuple(world["families"]), switches=switches
    )
    env = gym.make(env_id_of(config)).unwrapped
    assert isinstance(env, ToolEnv), "pages are Palaestra's own"
    listed = [task for task in env.task_set.ids(HELD_OUT) if not config.families or _family(task) in config.families]
    tasks = limit_tasks(listed, len(listed) if each is None else each)
    group = HeldoutGroup(name="held-out records", tasks=tasks, unit=Unit.TASK)
    return LearningMaterial(world=config, demonstrations=(), heldout=[group])


def _family(task: str) -> str:
    return task.split("/")[1]


class _Measuring:
    """Evaluations of a run's policies, each in a folder of its own."""

    def __init__(
        self,
        material: LearningMaterial,
        directory: Path,
        *,
        samples: int,
        bar: OpenProgressBar,
        say: Callable[[str], None],
    ) -> None:
        self._material = material
        self._directory = directory
        self._samples = samples
        self._bar = bar
        self._say = say

    def measure(self, stage: str, checkpoint: Path, *, variation: str | None = None) -> dict[float, Evaluation]:
        """Evaluate a stage's policy at each temperature, with the in-process renderer."""
        return {t: self._evaluate(stage, checkpoint, variation, t)[0] for t in (1.0, 0.0)}

    def compare(self, stage: str, checkpoint: Path, program: str) -> tuple[RendererTask, ...]:
        """Play each task at temperature 0, in process and in Chromium."""
        text, read = self._evaluate(stage, checkpoint, None, 0.0)
        shown, seen = self._evaluate(stage, checkpoint, None, 0.0, program=program)
        episodes = {episode.task.id: episode for episode in seen}
        return tuple(
            RendererTask(
                task=one.task.id,
                points=(text.tasks[one.task.id].points[0], shown.tasks[one.task.id].points[0]),
                same_tokens=_tokens(one) == _tokens(episodes[one.task.id]),
            )
            for one in read
            if one.task.id in episodes
        )

    def _evaluate(
        self, stage: str, checkpoint: Path, variation: str | None, temperature: float, *, program: str | None = None
    ) -> tuple[Evaluation, list[Episode]]:
        policy = load_policy(checkpoint)
        world = self._material.world if variation is None else _vary(self._material.world, variation)
        name = "-".join((stage, variation or ("chromium" if program else "plain"), f"{temperature:g}"))
        how = ExpertConfig(
            play=PlayConfig(context=policy.model.shape.context, turn=_TURN),
            pool=PoolConfig(agents=1 if program else 64),
        )
        place = {} if program is None else {"worlds": partial(_chromium_worlds, program, place_of(self._material))}
        return evaluate_policy(
            policy,
            replace(self._material, world=world),
            how,
            self._directory / name,
            samples=self._samples if temperature else 1,
            name=name,
            temperature=temperature,
            bar=self._bar,
            say=self._say,
            **place,
        )


def _vary(world: WorldConfig, variation: str) -> WorldConfig:
    settings = {**world.switches["surface_settings"], "variation": variation}
    return replace(world, switches={**world.switches, "surface_settings": settings})


def _chromium_worlds(program: str, place: str | None, world: WorldConfig, action_format: str) -> RolloutWorlds:
    """Make one world in one process, because its Chromium must not be called from an event loop."""
    spec = ChromiumSpec(
        env_id=env_id_of(world),
        place=place,
        action_format=action_format,
        switches=dict(world.switches),
        program=program,
    )
    return ProcessWorlds(spec, workers=1)


def _tokens(episode: Episode) -> tuple[int, ...]:
    tokens = episode.segments[0].tokens
    assert tokens is not None, "a policy played it"
    return tokens.ids


def pages_learning_tables(found: PagesLearning) -> list[Table]:
    """Make tables of shares solved by stage and under each variation, and a table of tasks with both renderers."""
    names = list(found.stages)
    first, last = names[0], names[-1]
    families = len({_family(task) for task in found.tasks})
    note = f"{len(found.tasks)} tasks of {HELD_OUT} in {families} families. Unit of resampling: tasks."
    stages = [
        (
            name,
            f"{found.cpu_seconds[name]:.0f}",
            *(
                text
                for t in by
                for text in (_solved_text(by[t]), _gain_text(found.stages[first][t], by[t], shown=name != first))
            ),
        )
        for name, by in found.stages.items()
    ]
    plain = found.stages[last]
    looks = [
        (name, *(text for t in by for text in (_solved_text(by[t]), _gain_text(plain[t], by[t], shown=name != "none"))))
        for name, by in {"none": plain, **found.variations}.items()
    ]
    tables = [
        Table(
            title="Solved held-out tasks by stage, in percent",
            columns=("stage", "processor seconds", *_headings(f"over {first}")),
            rows=tuple(stages),
            note=note,
        ),
        Table(
            title=f"Solved held-out tasks under held-out variations, in percent, by the policy of {last}",
            columns=("variation", *_headings("over none")),
            rows=tuple(looks),
            note=note,
        ),
    ]
    if found.renderers:
        tables.append(_renderer_table(found))
    return tables


def _headings(compared: str) -> list[str]:
    return [text for t in ("1", "0") for text in (f"solved at temperature {t}", f"{compared} at {t}")]


def _solved_text(evaluation: Evaluation) -> str:
    return estimate(evaluation.observations("solved"), "solved", Unit.TASK).text()


def _gain_text(before: Evaluation, after: Evaluation, *, shown: bool) -> str:
    if not shown:
        return ""
    return difference(before.observations("solved"), after.observations("solved"), "solved", Unit.TASK).text(
        signed=True
    )


def _renderer_table(found: PagesLearning) -> Table:
    rows = [
        (one.task, *(str(points) for points in one.points), "yes" if one.same_tokens else "no")
        for one in found.renderers
    ]
    equal = sum(one.points[0] == one.points[1] for one in found.renderers)
    same = sum(one.same_tokens for one in found.renderers)
    return Table(
        title="The same policy at temperature 0 in process and in Chromium",
        columns=("task", "points in process", "points in Chromium", "same tokens"),
        rows=tuple(rows),
        note=f"Equal points: {equal} of {len(rows)}. Same tokens read and written: {same} of {len(rows)}. In Chromium, "
        "actions take place with mouse and keyboard, and the policy reads what Chromium's document shows.",
    )
