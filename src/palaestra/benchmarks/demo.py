"""The demo: roll out agents, prove tasks, train a policy, and write a report."""

import errno
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import gymnasium as gym
import orjson
from pydantic import TypeAdapter, ValidationError

import palaestra
from palaestra.agents import oracle, rollout
from palaestra.benchmarks.curves import png, svg
from palaestra.benchmarks.learning import (
    HeldoutGroup,
    LearningConfig,
    LearningMaterial,
    LearningResult,
    choose_families,
    digest_base,
    estimate_time,
    groups_by_training,
    learn_at_once,
    learning_document,
    learning_panels,
    learning_tables,
    limit_tasks,
)
from palaestra.benchmarks.viewer import render_page
from palaestra.contamination import Guard
from palaestra.digest import digest, digest_bytes
from palaestra.durable import find_whole_save, saving, sweep, write_file
from palaestra.envs import ToolEnv
from palaestra.envs.target import find_world
from palaestra.errors import CheckpointError, ContaminationError, DrawError, RecordError, StorageError
from palaestra.packs import PACKS, Pack
from palaestra.proof import Proof, proof_document, proof_tables, prove
from palaestra.proof.baselines import baselines
from palaestra.table import Table
from palaestra.trainers import OpenProgressBar, WorldConfig
from palaestra.trajectory import Episode, read_episodes, write_episodes

PROVED = "dev"
"""The split in which the demo proves its training families; `palaestra tasks prove` proves all splits."""
_PROOF = TypeAdapter(Proof)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """The results of the demo."""

    episodes: list[Episode]
    """The rollouts of the bundled agents."""
    proof: Proof
    material: LearningMaterial
    runs: list[LearningResult]
    tables: list[Table]


def run_demo(
    out: Path,
    *,
    seeds: int = 1,
    world: str | None = None,
    config: LearningConfig | None = None,
    jobs: int = 1,
    bar: OpenProgressBar,
    say: Callable[[str], None] = lambda _: None,
) -> DemoReport:
    """Roll out agents, prove tasks, train policies, and write the results.

    Each finished part is saved in `NAME.parts` beside `out`, and training also while it runs; an interrupted demo
    resumes from there. The parts are removed once `out` is written.

    Args:
        out: The directory to write: `trajectories.jsonl`, `proof.json`, `learning.json`, `tables.md`, `curves.png`,
            `index.html`, and for each seed the policy of each stage and control, each with its trajectories. The
            previous content is kept beside it as `NAME.previous`.
        seeds: Number of training runs, with the seeds 0, 1, ...
        world: The world, by id or by the folder of its pack. Default: the default world.
        config: The training settings; the default trains for about a quarter of an hour on one core.
        jobs: Policies to train at once, each in a process; if above 1, `config.threads` is 1.
        bar: Opens a progress bar with a title and a number of steps.
        say: Receives a message where a part resumes.

    Raises:
        StorageError: `out` could not be written; its previous content is unchanged.
        CheckpointError: the parts of an interrupted demo have other settings or are damaged; or the base is not a
            checkpoint.
        ConfigError: the base is not installed.
        UnknownNameError: no such world is registered, or no such base exists.
        PackError: the world's pack cannot be read or loaded.
    """
    env_id = find_world(world)
    env = gym.make(env_id)
    tool_env = env.unwrapped
    assert isinstance(tool_env, ToolEnv), f"{env_id} is Palaestra's own"
    config = config or LearningConfig()
    parts = out.with_name(f"{out.name}.parts")
    sweep(out)
    _begin(parts, config, PACKS.find(env_id), say)
    with saving(out) as directory:  # opened first, so that an unwritable place is detected before the work
        if config.base is not None:
            families = demo_families(env, tool_env, most=config.families)
            groups = heldout_groups(tool_env, families=families, each=config.heldout)
            say(estimate_time(config, tasks=sum(len(group.tasks) for group in groups), seeds=seeds))
        episodes, proof = _prove(env, tool_env, parts / "proof", bar, say)
        material = demo_material(
            env,
            tool_env,
            demonstrations=config.most_demonstrations,
            families=config.families,
            heldout=config.heldout,
        )
        runs = learn_at_once(material, config, seeds=seeds, directory=parts, jobs=jobs, bar=bar, say=say)
        tables = [*learning_tables(runs, material), rollout_table(episodes), *proof_tables(proof)]
        report = DemoReport(episodes=episodes, proof=proof, material=material, runs=runs, tables=tables)
        _write(directory, report)
    shutil.rmtree(parts)
    return report


def _begin(parts: Path, config: LearningConfig, pack: Pack, say: Callable[[str], None]) -> None:
    """Remove parts of other code or settings; keep parts of the current code and settings."""
    base = [] if config.base is None else [digest_base(config.base)]
    begun = digest([config, pack.env_id, _source_digests(pack), *base])
    label = parts / "begun"
    if parts.exists() and not label.exists() and any(not path.name.startswith(".begun.") for path in parts.iterdir()):
        raise StorageError(
            errno.EEXIST, f"{parts} holds something else, and the demo keeps its parts there; choose another --out"
        )
    if parts.exists() and not (label.exists() and label.read_text() == begun):
        say(f"{parts} was left by other code or settings: beginning anew")
        shutil.rmtree(parts)
    elif parts.exists():
        say(f"going on with what an interrupted demo left in {parts}")
    write_file(label, begun.encode())


def _source_digests(pack: Pack) -> list[tuple[str, str]]:
    """The names and digests of the source files of the package and the world."""
    places = [Path(palaestra.__file__).parent, pack.folder or Path(pack.place)]
    files = {
        file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place] * place.is_file())
    }
    return sorted((file.name, digest_bytes(file.read_bytes())) for file in files)


def _prove(
    env: gym.Env[Any, Any], world: ToolEnv, directory: Path, bar: OpenProgressBar, say: Callable[[str], None]
) -> tuple[list[Episode], Proof]:
    """The rollouts of the bundled agents and the proof of a split: restored where they are saved, otherwise new."""
    sweep(directory)
    if directory.exists():
        try:
            whole = find_whole_save(directory)
            kept = list(read_episodes(whole / "trajectories.jsonl"))
            proof = _PROOF.validate_json((whole / "proof.json").read_bytes())
        except (RecordError, OSError, ValidationError) as error:
            raise CheckpointError(f"{error}; or remove {directory} to prove anew") from error
        say("proof: done before")
        return kept, proof
    episodes = _roll_out_agents(env, world, bar)
    ids = proved_task_ids(world)
    with bar("proving", len(ids)) as progress:
        proof = prove(world, ids, jobs=os.cpu_count() or 1, progress=progress.step)
    with saving(directory) as temporary:
        write_episodes(temporary / "trajectories.jsonl", episodes)
        (temporary / "proof.json").write_bytes(_PROOF.dump_json(proof))
    return episodes, proof


def demo_material(
    env: gym.Env[Any, Any],
    world: ToolEnv,
    *,
    demonstrations: int,
    families: int | None = None,
    heldout: int | None = None,
) -> LearningMaterial:
    """The oracle's episodes of the training families, and the held-out tasks.

    Args:
        env: The environment that the oracle plays in.
        world: The same environment, unwrapped.
        demonstrations: Maximum demonstrations per family.
        families: Maximum number of training families; see `demo_families`.
        heldout: Maximum held-out tasks per family and group.
    """
    chosen = demo_families(env, world, most=families)
    shown = [one for family in chosen for one in islice(_demonstrations(env, world, family), demonstrations)]
    groups = heldout_groups(world, families=chosen, each=heldout)
    measured = {task for group in groups for task in group.tasks}
    twin_families = _twin_families(world)
    twins: dict[str, str] = {}
    for task in sorted(measured):
        family, _, index = task.rpartition("/")
        if (twin := f"{twin_families.get(family)}/{index}") in measured:
            twins[task] = twin
    return LearningMaterial(
        world=WorldConfig(env_id=world.env_id, families=_names(chosen) if families else world.world.demo),
        demonstrations=shown,
        heldout=groups,
        twins=twins,
    )


def _demonstrations(env: gym.Env[Any, Any], world: ToolEnv, family: str) -> Iterator[Episode]:
    """The oracle's episodes of a family: first the listed tasks of `train`, then further instances.

    Instances that the family cannot make, or whose words occur in held-out tasks, are left out.
    """
    expert, guard = oracle(world.oracle), Guard()
    for index in world.task_set.indices(family, "train"):
        try:
            episode = rollout(env, expert, name="oracle", seed=0, task=f"{family}/{index:04d}")
            guard.check_episodes([episode])
        except (DrawError, ContaminationError):
            continue
        yield episode


def demo_families(env: gym.Env[Any, Any], world: ToolEnv, *, most: int | None = None) -> tuple[str, ...]:
    """The ids of the demo's training families.

    Args:
        env: The environment that the oracle plays in.
        world: The same environment, unwrapped.
        most: Maximum number of families; those with short solutions are chosen, see `choose_families`.
    """
    families = tuple(dict.fromkeys(task.rpartition("/")[0] for task in demo_task_ids(world, "train")))
    if most is None or len(families) <= most:
        return families
    examples = {family: next(_demonstrations(env, world, family)) for family in families}
    return choose_families(examples, _twin_families(world), most)


def _twin_families(world: ToolEnv) -> dict[str, str]:
    """The refusal twin of each family that has one."""
    return {one.twin_of: one.id for one in world.task_set.families.values() if one.twin_of is not None}


def _names(families: Iterable[str]) -> tuple[str, ...]:
    """The names of families without the name of their world."""
    return tuple(family.split("/")[1] for family in families)


def heldout_groups(
    world: ToolEnv, *, families: Collection[str] | None = None, each: int | None = None
) -> tuple[HeldoutGroup, ...]:
    """The held-out tasks in groups with new records, with new wordings as well, or with new families as well.

    If a world names no families for the demo, only tasks of `heldout` count.

    Args:
        world: The world.
        families: The ids of the training families. Default: all of the demo's. The demo's other families are left out
            with their refusal twins; the twins of training families stay.
        each: Maximum tasks per family.
    """
    trained = {task.rpartition("/")[0] for task in demo_task_ids(world, "train")}
    chosen = trained if families is None else set(families)
    twins = _twin_families(world)
    left_out = trained - chosen
    left_out |= {twins[family] for family in left_out if family in twins} - chosen
    left_out -= {twins[family] for family in chosen if family in twins}
    groups = [
        replace(group, tasks=tuple(task for task in group.tasks if task.rpartition("/")[0] not in left_out))
        for group in _all_groups(world, chosen)
    ]
    if each is not None:
        groups = [replace(group, tasks=limit_tasks(group.tasks, each)) for group in groups]
    return tuple(group for group in groups if group.tasks)


def _all_groups(world: ToolEnv, trained: Collection[str]) -> tuple[HeldoutGroup, ...]:
    """All held-out tasks in groups, for the training families `trained`."""
    unseen = world.world.demo_unseen
    if not unseen:
        shown = [task for task in world.task_set.ids("train") if task.rpartition("/")[0] in trained]
        return groups_by_training(shown, world.task_set.ids("heldout"))
    return (
        HeldoutGroup(name="new records", tasks=tuple(demo_task_ids(world, "heldout-records"))),
        HeldoutGroup(name="new wordings", tasks=tuple(demo_task_ids(world, "heldout")), samples=1),
        *(
            HeldoutGroup(name=f"new families: {name}", tasks=_tasks_of(world, "heldout", families), samples=1)
            for name, families in unseen.items()
        ),
    )


def proved_task_ids(world: ToolEnv) -> tuple[str, ...]:
    """The ids of the tasks that the demo proves."""
    return tuple(demo_task_ids(world, PROVED))


def demo_task_ids(world: ToolEnv, split: str) -> list[str]:
    """The ids of a split's tasks that belong to the demo's training families."""
    families = world.world.demo
    return list(_tasks_of(world, split, families) if families else world.task_set.ids(split))


def _tasks_of(world: ToolEnv, split: str, families: Collection[str]) -> tuple[str, ...]:
    return tuple(task for task in world.task_set.ids(split) if task.split("/")[1] in families)


def _roll_out_agents(env: gym.Env[Any, Any], world: ToolEnv, bar: OpenProgressBar) -> list[Episode]:
    """Play the first instance of each of the demo's families with every agent."""
    ids = [task for split in ("train", "heldout") for task in demo_task_ids(world, split)]
    first = {task.rpartition("/")[0]: task for task in reversed(ids)}
    agents = baselines(world)
    episodes: list[Episode] = []
    with bar("rolling out", len(first) * len(agents)) as progress:
        for task in sorted(first.values()):
            for name, agent in agents.items():
                episodes.append(rollout(env, agent, name=name, seed=0, task=task))
                progress.step(f"{name} {task}")
    return episodes


def _write(directory: Path, report: DemoReport) -> None:
    write_episodes(directory / "trajectories.jsonl", report.episodes)
    proof = orjson.dumps(proof_document(report.proof), option=orjson.OPT_INDENT_2)
    (directory / "proof.json").write_bytes(proof)
    (directory / "learning.json").write_bytes(orjson.dumps(learning_document(report.runs)))
    for run in report.runs:
        for name, part in run.parts.items():
            with saving(directory / f"seed-{run.seed}" / name) as checkpoint:
                part.policy.save(checkpoint)
                write_episodes(checkpoint / "trajectories.jsonl", part.episodes)
    document = "\n\n".join(f"### {t.title}\n\n{t.markdown()}\n\n{t.note}".rstrip() for t in report.tables)
    (directory / "tables.md").write_text(document + "\n", encoding="utf-8")
    panels = learning_panels(report.runs, report.material)
    (directory / "curves.png").write_bytes(png(panels))
    page = render_page(
        [*_select_shown(report.runs[0]), *report.episodes],
        title="Palaestra: the demo",
        tables=report.tables,
        figures=[svg(panels)],
    )
    (directory / "index.html").write_text(page, encoding="utf-8")


def _select_shown(run: LearningResult) -> Iterator[Episode]:
    """Each policy's episode on the first held-out task of each family, for the page."""
    for part in run.parts.values():
        families: set[str] = set()
        for episode in part.episodes:
            if episode.task.family not in families:
                families.add(episode.task.family)
                yield episode


def rollout_table(episodes: list[Episode]) -> Table:
    """The table of scores of each agent on the first task of each family."""
    agents = list(dict.fromkeys(e.agent for e in episodes))
    families = list(dict.fromkeys(e.task.family for e in episodes))
    by_place = {(e.task.family, e.agent): e for e in episodes}
    rows: list[tuple[str, ...]] = []
    for family in families:
        played = [by_place[family, agent] for agent in agents]
        seen = "no" if played[0].task.unseen else "yes"
        rows.append(
            (
                family.partition("/")[2],
                str(played[0].task.level),
                seen,
                *(str(e.score.points) for e in played),
            )
        )
    return Table(
        title="Score of each agent on the first task of each family",
        columns=("family", "level", "in train", *agents),
        rows=tuple(rows),
        note="Points of 100; what harms takes points away. Only the oracle solves any of them."
        if all(e.score.passed == (e.agent == "oracle") for e in episodes)
        else "Points of 100; what harms takes points away.",
    )
