"""Evaluations that are saved, and found again when a run goes on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
from pydantic import ValidationError

from palaestra.benchmarks.learning.evaluation import EVALUATION, Evaluation, evaluate
from palaestra.digest import digest
from palaestra.durable import saving, sweep, verified
from palaestra.errors import CheckpointError, RecordError
from palaestra.trainers import GrpoConfig, OpenProgressBar, Policy
from palaestra.trajectory import Episode, read_episodes, write_episodes


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningMaterial:
    """What is learnt from and measured on."""

    env_id: str
    demonstrations: Sequence[Episode]
    train: Sequence[str]
    heldout: Sequence[str]


def evaluate_policy(
    policy: Policy,
    material: LearningMaterial,
    grpo: GrpoConfig,
    directory: Path,
    *,
    samples: int,
    name: str,
    bar: OpenProgressBar,
    say: Callable[[str], None],
) -> tuple[Evaluation, list[Episode]]:
    """The evaluation that is saved in `directory`, or a new one, which is then saved.

    Args:
        policy: Who plays.
        material: What.
        grpo: Whose rollouts' limits are the evaluation's too.
        directory: Where it is kept.
        samples: Episodes of each held-out task.
        name: For the bar and for the record.
        bar: Opens a progress bar.
        say: Told whether it was done before.

    Raises:
        CheckpointError: what is there is damaged.
    """
    sweep(directory)
    fingerprint = digest([policy.digest(), material.heldout, samples, grpo.play, grpo.pool, grpo.engine])
    if directory.exists():
        try:
            whole = verified(directory)
            if (whole / "fingerprint").read_text() == fingerprint:
                episodes = list(read_episodes(whole / "trajectories.jsonl"))
                evaluation = EVALUATION.validate_json((whole / "evaluation.json").read_bytes())
                say(f"evaluation {name}: done before")
                return evaluation, episodes
        except (RecordError, OSError, ValidationError) as error:
            raise CheckpointError(f"{error}; or remove {directory} to evaluate anew") from error
    with bar(f"evaluation {name}", len(material.heldout) * samples) as shown:
        evaluation, episodes = evaluate(
            policy,
            material.env_id,
            material.heldout,
            samples=samples,
            play=replace(grpo.play, name=name),
            pool=grpo.pool,
            engine=grpo.engine,
            progress=shown.step,
            say=say,
        )
    with saving(directory) as temporary:
        (temporary / "fingerprint").write_text(fingerprint)
        (temporary / "evaluation.json").write_bytes(orjson.dumps(evaluation))
        write_episodes(temporary / "trajectories.jsonl", episodes)
    return evaluation, episodes
