"""Continuations of a recorded episode as whole trajectories, and the jobs that play them."""

from dataclasses import replace

from palaestra.trainers import RolloutJob
from palaestra.trainers.data.prefix import SharedPrefix, prefix_of
from palaestra.trainers.engines.noise import noise_key
from palaestra.trajectory import Episode, Tokens


def task_job(task: str, *names: str | int, world_seed: int, prefix: SharedPrefix | None = None) -> RolloutJob:
    """A job that plays a task from its beginning, or from a fork.

    Args:
        task: Its id.
        names: What tells the trajectory from all others of the task, the measurement's seed first.
        world_seed: Of the episode: all trajectories of a task have the same.
        prefix: Where it goes on from.
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
    """The state behind the first turns of an episode.

    Raises:
        RecordError: the episode does not have more turns than that.
    """
    return prefix_of(reference.id, own_tokens_of(reference), turns=turns)


def whole_trajectory(episode: Episode, reference: Episode) -> Episode:
    """A continuation as if it had drawn the turns itself that it shares with the reference.

    Its return is that of the whole episode, and the shared turns' tokens are sampled, with the reference's
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
    """What the turns behind the first `turns` were paid."""
    return sum(turn.reward for turn in list(episode.turns)[turns:])


def own_tokens_of(episode: Episode) -> Tokens:
    """The tokens of an episode that a policy of ours played, in its one segment."""
    (segment,) = episode.segments
    assert segment.tokens is not None, "a policy of ours played it"
    return segment.tokens
