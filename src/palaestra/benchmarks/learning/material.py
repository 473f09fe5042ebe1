"""Training and test material, and evaluations that are saved and restored when a run resumes."""

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
    """The unit over which a claim about one policy generalises."""
    samples: int | None = None
    """Maximum number of episodes of each task, where it is smaller than the evaluation's number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningMaterial:
    """The training and test material of a measurement."""

    world: WorldConfig
    """The world, with the training families."""
    demonstrations: Sequence[Episode]
    heldout: Sequence[HeldoutGroup]
    """Groups of held-out tasks; no task is in two groups."""
    twins: Mapping[str, str] = field(default_factory=dict[str, str])
    """The refusal twin of a held-out task, where both are held out."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """All held-out tasks, group by group."""
        return tuple(task for group in self.heldout for task in group.tasks)

    def samples(self, most: int) -> dict[str, int]:
        """The number of episodes of each held-out task, at most `most`."""
        return {
            task: most if group.samples is None else min(most, group.samples)
            for group in self.heldout
            for task in group.tasks
        }


def place_of(material: LearningMaterial) -> str | None:
    """The place by which other processes register the material's world; `None` if importing Palaestra does that."""
    env_id = env_id_of(material.world)
    return PACKS.find(env_id).place if env_id in PACKS else None


def groups_by_training(trained: Sequence[str], heldout: Sequence[str]) -> tuple[HeldoutGroup, ...]:
    """Divide held-out tasks into those of training families and those of unseen families.

    Args:
        trained: Ids of the training tasks.
        heldout: Ids of the test tasks.
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
    """Write the first demonstrations of each family to a file that training reads; return its path."""
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
    """Evaluate a policy and save the result in `directory`, or restore the saved evaluation.

    Args:
        policy: The policy that plays.
        material: The material with the test tasks.
        how: The stage whose rollout limits also apply to the evaluation.
        directory: The folder of the evaluation.
        samples: Maximum number of episodes of each held-out task; a group may have fewer.
        name: The name in the progress bar and in records.
        temperature: The sampling temperature.
        worlds: See `evaluate`.
        bar: Opens a progress bar.
        say: Receives a message if the evaluation is restored.

    Raises:
        CheckpointError: the saved evaluation is damaged.
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
