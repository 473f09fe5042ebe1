"""Checks that prompts, trajectories and demonstrations fit the context of the model and the engine.

A prompt without room for a turn would give a trajectory without turns. A demonstration that is too long would train
positions that the model never reads. Both are refused before the run's folder is made.
"""

from collections.abc import Sequence

from palaestra.errors import ConfigError
from palaestra.steps import ResetRecord
from palaestra.trainers.codec import Codec
from palaestra.trainers.data.demonstration import demonstration
from palaestra.trainers.loops.rollout_config import GroupStageConfig
from palaestra.trainers.loops.worlds import RunWorlds
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.policy import Policy
from palaestra.trajectory import Episode
from palaestra.transcript import transcript_of

_SHORTER = (
    "take a chat format that shows tools in fewer tokens, such as smollm2 in place of smollm2-described, give the "
    'world fewer tools, such as world.switches = { surface = "generic" }, or take a policy that reads more'
)


def check_context(name: str, config: GroupStageConfig, shape: DecoderShape) -> None:
    """Refuse trajectories of stage `name` that are longer than model or engine allow.

    Raises:
        ConfigError: a limit is too high; the message names the setting to change.
    """
    play, engine = config.play, config.engine
    if play.context > shape.context:
        raise ConfigError(
            f"{name}.play.context={play.context}: the policy takes {shape.context} tokens; lower it"
            " (a new policy's limit is policy.model.context)"
        )
    if config.vllm is not None:
        return
    longest = min(engine.context or shape.context, shape.context)
    if play.context > longest:
        raise ConfigError(
            f"{name}.play.context={play.context}: {name}.engine.context={engine.context} is less; raise it"
        )
    if engine.capacity < longest:
        raise ConfigError(
            f"{name}.engine.capacity={engine.capacity}: one trajectory may have {longest} tokens; raise the capacity, "
            f"or set {name}.engine.context={play.context}, as long as trajectories are"
        )


def check_prompts(name: str, config: GroupStageConfig, policy: Policy, worlds: RunWorlds) -> None:
    """Refuse worlds whose prompts leave no room for a turn, judged by a few tasks of several families.

    Raises:
        ConfigError: a prompt is too long; the message gives its tokens and what to do.
    """
    context, reads = config.play.context, policy.model.shape.context
    for opening in worlds.sample_openings():
        tokens = prompt_tokens(opening, policy.codec)
        if tokens < context:
            continue
        way_out = f"raise it (the policy reads {reads:,})" if tokens < reads else _SHORTER
        raise ConfigError(
            f"{name}.play.context={context}: the prompt of {opening.task.id} has {tokens:,} tokens in the format "
            f"{policy.codec.format.name}, which leaves no room for a turn; {way_out}"
        )


def prompt_tokens(opening: ResetRecord, codec: Codec) -> int:
    """The number of tokens of a prompt, up to the start of the policy's turn."""
    return len(codec.encode(codec.format.rendering().opening(opening.messages, opening.tools)))


def check_demonstrations(demonstrations: Sequence[Episode], policy: Policy) -> None:
    """Refuse demonstrations that are longer than the policy's context.

    Raises:
        ConfigError: a demonstration is too long; the message names the longest and its tokens.
    """
    reads = policy.model.shape.context
    sizes = [len(demonstration(transcript_of(episode), policy.codec).ids) for episode in demonstrations]
    longest = max(sizes)
    if longest > reads:
        count = sum(size > reads for size in sizes)
        task = demonstrations[sizes.index(longest)].task.id
        raise ConfigError(
            f"{count} of {len(sizes)} demonstrations have more than the {reads:,} tokens that the policy reads; that "
            f"of {task} has {longest:,} in the format {policy.codec.format.name}; {_SHORTER}"
            " (a new policy's limit is policy.model.context); to imitate the others alone, give `demonstrations` "
            "a file without the long ones"
        )
