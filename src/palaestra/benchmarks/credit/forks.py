"""Continuations of a recorded episode as whole trajectories, and the jobs that play them."""

from dataclasses import replace

from palaestra.trainers import RolloutJob
from palaestra.trainers.data.prefix import SharedPrefix, prefix_of
from palaestra.trainers.engines.noise import noise_key
from palaestra.trajectory import Episode, Tokens


def task_job(task: str, *names: str | int, world_seed: int, prefix: SharedPrefix | None = None) -> RolloutJob:
    """Make a job that plays a task from its beginning or from a fork.

    Args:
        task: The id of the task.
        names: Parts that distinguish the trajectory from all others of the task; the measurement's seed is first.
        world_seed: The seed of the episode; all trajectories of a task share it.
        prefix: The state to continue from.
    """
    name = "/".join(map(str, ("credit", task, *names)))
    return RolloutJob(
        trajectory=name,
        group=f"credit/{task}",
        task=task,
        seed=world_seed,
        noise=noise_key("credit", task, *names),
        prefix=prefix,
    )


def fork_at(reference: Episode, turns: int) -> SharedPrefix:
    """The state behind the first `turns` turns of an episode.

    Raises:
        RecordError: the episode does not have more turns than that.
    """
    return prefix_of(reference.id, own_tokens_of(reference), turns=turns)


def whole_trajectory(episode: Episode, reference: Episode) -> Episode:
    """Convert a continuation to a trajectory that sampled its shared turns itself.

    Its return is that of the whole episode. The tokens of the shared turns count as sampled, with the reference's
    log-probabilities.
    """
    tokens, before = own_tokens_of(episode), own_tokens_of(reference)
    end = next((place for place, own in enumerate(tokens.sampled) if own), len(tokens.sampled))
    joined = replace(
        tokens,
        sampled=(*before.sampled[:end], *tokens.sampled[end:]),
        logprobs=(*before.logprobs[:end], *tokens.logprobs[end:]),
        versions=(*before.versions[:end], *tokens.versions[end:]),
        shared_turns=0,
    )
    (segment,) = episode.segments
    return replace(episode, segments=(replace(segment, tokens=joined),))


def return_behind(episode: Episode, turns: int) -> float:
    """The sum of the rewards after the first `turns` turns."""
    return sum(turn.reward for turn in list(episode.turns)[turns:])


def own_tokens_of(episode: Episode) -> Tokens:
    """The tokens of an episode that a native policy played, in its only segment."""
    (segment,) = episode.segments
    assert segment.tokens is not None, "a policy of ours played it"
    return segment.tokens
