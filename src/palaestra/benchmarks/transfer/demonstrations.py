"""The demonstrations of the arms, and the tokenizer that all arms share.

Demonstrations are the oracle's solutions. An arm's demonstrations have a given number of tokens, spread evenly over its
worlds and over the families of each world. With few worlds, most demonstrations are instances beyond the listed ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from palaestra.agents import oracle, rollout
from palaestra.benchmarks.transfer.config import TransferConfig
from palaestra.benchmarks.transfer.groups import training_world
from palaestra.contamination import Guard
from palaestra.envs.synthesis import ManyWorldsEnv, listed_numbers
from palaestra.errors import ConfigError, ContaminationError, PalaestraError
from palaestra.protocols import Action
from palaestra.records import ToolCall
from palaestra.trainers import Policy, PolicyConfig, demonstrations_of, initial_policy
from palaestra.trainers.codec import Codec
from palaestra.trainers.data.demonstration import demonstration
from palaestra.trajectory import Episode, Tokens
from palaestra.transcript import transcript_of


def first_policy(config: TransferConfig, seed: int) -> Policy:
    """The initial policy of all arms with a seed: fresh weights, and the tokenizer that all arms share.

    The tokenizer is trained on one solution of each family of the first worlds listed for training. With one solution
    each, no sentence of a single world recurs often enough to become a token.
    """
    worlds = min(config.codec_worlds, len(listed_numbers("train")))
    env = ManyWorldsEnv(split="train", worlds=worlds)
    firsts = [task for families in _families(env.task_set.ids("train")) for task in families.values()]
    corpus = demonstrations_of(training_world(worlds), tasks=firsts)
    return initial_policy(PolicyConfig(format=config.format, model=config.model), corpus, seed=seed)


def draw_demonstrations(worlds: int, tokens: int, codec: Codec, context: int) -> list[Episode]:
    """Solutions of training instances, until the oracle's turns have the given number of tokens.

    Left out are instances that their family cannot make, that the oracle does not solve, or that begin with words of
    test tasks.

    Args:
        worlds: Number of worlds; the first that are listed for training are used.
        tokens: Minimum number of tokens of the oracle's turns.
        codec: The codec of the policies.
        context: Number of tokens that the policies read.

    Raises:
        CapabilityError: fewer worlds are listed.
        ConfigError: a solution is longer than the policies read.
    """
    env = ManyWorldsEnv(split="train", worlds=worlds)
    sources = [_solutions(env, families) for families in _families(env.task_set.ids("train"))]
    found: list[Episode] = []
    own = 0
    while own < tokens:
        episode = next(sources[len(found) % len(sources)])
        read = as_tokens(episode, codec)
        if len(read.ids) > context:
            raise ConfigError(
                f"context={context}: the solution of {episode.task.id} has {len(read.ids):,} tokens; raise it"
            )
        found.append(episode)
        own += sum(read.sampled)
    return found


def as_tokens(episode: Episode, codec: Codec) -> Tokens:
    """The tokens of a solution as a policy reads and writes them."""
    return demonstration(transcript_of(episode), codec)


def _families(tasks: Sequence[str]) -> list[dict[str, str]]:
    """For each world, the first task of each family."""
    worlds: dict[str, dict[str, str]] = {}
    for task in tasks:
        worlds.setdefault(task.partition("/")[0], {}).setdefault(task.rpartition("/")[0], task)
    return list(worlds.values())


def _solutions(env: ManyWorldsEnv, families: Iterable[str]) -> Iterator[Episode]:
    """Yield the solutions of a world: the first instance of each family, then the second of each family, and so on."""
    for place in count():
        for family in families:
            indices = env.task_set.indices(family, "train")
            if (episode := _solve(env, f"{family}/{indices[place % len(indices)]:04d}")) is not None:
                yield episode


def _solution(env: ManyWorldsEnv) -> Sequence[Action | ToolCall]:
    """The solution of the current task, in whichever world it is."""
    return env.playing.oracle()


def _solve(env: ManyWorldsEnv, task: str) -> Episode | None:
    try:
        episode = rollout(env, oracle(lambda: _solution(env)), name="oracle", seed=0, task=task)
        Guard().check_episodes([episode])
    except ContaminationError:
        return None
    except PalaestraError:  # the family cannot make the task
        return None
    return episode if episode.score.passed else None
