"""The prompt of a policy that rephrases a solution: RePO (arXiv:2602.10819).

Only the policy that plays this trajectory reads it. The recorded trajectory, which is trained on, has the plain prompt.
"""

from collections.abc import Mapping, Sequence

from palaestra.errors import ConfigError
from palaestra.records import JsonSchema, Message
from palaestra.tools import ChatFormat
from palaestra.trainers.codec import Codec
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.transcript import AgentTranscript

HEADING = "solution, to be put in other words:"
"""The line before the solution. It is short, since a tokenizer trained on episodes needs many tokens for it."""


def opening_with_solution(
    messages: Sequence[Message], tools: Sequence[JsonSchema], solution: AgentTranscript, form: ChatFormat
) -> list[str]:
    """The prompt with a solution at the end of its system message, as pieces of text and marks.

    The solution is given as its author's turns, one after another, as text in the format; the world's answers are left
    out. Handles of ids are those of an episode that proceeds as the solution did.

    Args:
        messages: The prompt without the solution; if it has no system message, one is put first.
        tools: The schemas of the tools.
        solution: An episode of the same task.
        form: The policy's format.
    """
    rendering = form.rendering()
    rendering.opening(messages, tools)
    for turn in solution.turns:
        rendering.write_turn(turn.calls)
        rendering.following(turn.observation)
    text = "\n".join([HEADING, *(form.render(turn.calls) for turn in solution.turns)])
    return rendering.opening(_with_system(messages, text), tools)


def check_room(solutions: Mapping[str, AgentTranscript], codec: Codec, *, play: PlayConfig, context: int) -> None:
    """Refuse solutions that do not fit beside a trajectory of full length.

    Args:
        solutions: The solutions by task.
        codec: The codec of the policy.
        play: The settings with the maximum length of trajectories.
        context: The maximum number of tokens that the engine takes.

    Raises:
        ConfigError: the longest solution does not fit.
    """
    added = {task: _count_added(solution, codec) for task, solution in solutions.items()}
    if not added:
        return
    longest = max(added, key=lambda task: added[task])
    if play.context + added[longest] > context:
        raise ConfigError(
            f"play.context={play.context}: the rollout that rephrases a solution reads that solution as well, "
            f"{added[longest]} tokens for {longest}, and the engine's trajectories have {context} tokens at most; "
            "lower it, or take a model and an engine of a longer context"
        )


def _count_added(solution: AgentTranscript, codec: Codec) -> int:
    """The number of tokens that a solution adds to the prompt."""
    plain = codec.format.rendering().opening(solution.prompt, solution.tools)
    with_it = opening_with_solution(solution.prompt, solution.tools, solution, codec.format)
    return len(codec.encode(with_it)) - len(codec.encode(plain))


def _with_system(messages: Sequence[Message], text: str) -> list[Message]:
    if messages and messages[0]["role"] == "system":
        first: Message = {**messages[0], "content": f"{messages[0]['content']}\n{text}"}
        return [first, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]
