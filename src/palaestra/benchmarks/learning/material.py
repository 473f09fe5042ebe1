"""What is learnt from and measured on, and evaluations that are saved and found again when a run resumes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
from pydantic import ValidationError

from palaestra.benchmarks.learning.evaluation import EVALUATION, Evaluation, OpenWorlds, evaluate
from palaestra.benchmarks.statistics import Unit
from palaestra.digest import digest
from palaestra.durable import find_whole_save, saving, sweep, write_file
from palaestra.errors import CheckpointError, RecordError
from palaestra.packs import PACKS
from palaestra.trainers import GroupStageConfig, OpenProgressBar, Policy, WorldConfig, env_id_of, worlds_of
from palaestra.trajectory import Episode, dump_episode, read_episodes, write_episodes


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldoutGroup:
    """Held-out tasks that are new to the policy in the same respect."""

    name: str
    tasks: tuple[str, ...]
    unit: Unit = Unit.FAMILY
    """What a claim about one policy generalises over."""
    samples: int | None = None
    """Episodes of each task at most, where that is fewer than an evaluation asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningMaterial:
    """What is learnt from and measured on."""

    world: WorldConfig
    """With the families to learn from."""
    demonstrations: Sequence[Episode]
    heldout: Sequence[HeldoutGroup]
    """No task is in two of them."""
    twins: Mapping[str, str] = field(default_factory=dict[str, str])
    """The refusal twin of a held-out task, where both are held out."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Every held-out task, group by group."""
        return tuple(task for group in self.heldout for task in group.tasks)

    def samples(self, most: int) -> dict[str, int]:
        """Episodes of each held-out task, where an evaluation asks for so many at most."""
        return {
            task: most if group.samples is None else min(most, group.samples)
            for group in self.heldout
            for task in group.tasks
        }


def place_of(material: LearningMaterial) -> str | None:
    """What another process registers the material's world by; `None` where importing Palaestra registers it."""
    env_id = env_id_of(material.world)
    return PACKS.find(env_id).place if env_id in PACKS else None


def groups_by_training(trained: Sequence[str], heldout: Sequence[str]) -> tuple[HeldoutGroup, ...]:
    """The held-out tasks of families that are trained on, and those of families that never are.

    Args:
        trained: Ids of the tasks to learn from.
        heldout: Ids of the tasks to measure on.
    """
    families = {task.rpartition("/")[0] for task in trained}
    seen = tuple(task for task in heldout if task.rpartition("/")[0] in families)
    unseen = tuple(task for task in heldout if task.rpartition("/")[0] not in families)
    groups = (
        HeldoutGroup(name="families trained on", tasks=seen, unit=Unit.TASK),
        HeldoutGroup(name="families never seen", tasks=unseen),
    )
    return tuple(group for group in groups if group.tasks)


def write_demonstrations(material: LearningMaterial, most: int, directory: Path) -> Path:
    """A file of the first demonstrations of each family, which training reads."""
    counts: dict[str, int] = {}
    chosen: list[Episode] = []
    for episode in material.demonstrations:
        family = episode.task.family
        counts[family] = counts.get(family, 0) + 1
        if counts[family] <= most:
            chosen.append(episode)
    file = directory / f"demonstrations-{most}.jsonl"
    write_file(file, b"".join(dump_episode(episode) + b"\n" for episode in chosen))
    return file


def evaluate_policy(
    policy: Policy,
    material: LearningMaterial,
    how: GroupStageConfig,
    directory: Path,
    *,
    samples: int,
    name: str,
    temperature: float = 1.0,
    worlds: OpenWorlds = worlds_of,
    bar: OpenProgressBar,
    say: Callable[[str], None],
) -> tuple[Evaluation, list[Episode]]:
    """The evaluation that is saved in `directory`, or a new one, which is then saved.

    Args:
        policy: Who plays.
        material: What.
        how: The stage whose rollouts' limits are the evaluation's too.
        directory: Where it is kept.
        samples: Episodes of each held-out task at most; a group may have fewer.
        name: For the bar and for the record.
        temperature: At which turns are drawn.
        worlds: See `evaluate`.
        bar: Opens a progress bar.
        say: Told whether it was done before.

    Raises:
        CheckpointError: what is there is damaged.
    """
    sweep(directory)
    play = replace(how.play, name=name, temperature=temperature)
    counts = material.samples(samples)
    switches = material.world.switches
    decides = [policy.digest(), list(counts.items()), play, how.pool, how.engine, *([switches] if switches else [])]
    fingerprint = digest(decides)
    if directory.exists():
        try:
            whole = find_whole_save(directory)
            if (whole / "fingerprint").read_text() == fingerprint:
                episodes = list(read_episodes(whole / "trajectories.jsonl"))
                evaluation = EVALUATION.validate_json((whole / "evaluation.json").read_bytes())
                say(f"evaluation {name}: done before")
                return evaluation, episodes
        except (RecordError, OSError, ValidationError) as error:
            raise CheckpointError(f"{error}; or remove {directory} to evaluate anew") from error
    with bar(f"evaluation {name}", sum(counts.values())) as shown:
        evaluation, episodes = evaluate(
            policy,
            env_id_of(material.world),
            counts,
            play=play,
            pool=how.pool,
            engine=how.engine,
            switches=switches,
            worlds=worlds,
            progress=shown.step,
            say=say,
        )
    with saving(directory) as temporary:
        (temporary / "fingerprint").write_text(fingerprint)
        (temporary / "evaluation.json").write_bytes(orjson.dumps(evaluation))
        write_episodes(temporary / "trajectories.jsonl", episodes)
    return evaluation, episodes
