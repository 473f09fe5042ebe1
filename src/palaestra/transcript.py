"""What an agent may see of an episode: messages, tool schemas and its own actions, and nothing else.

An `Episode` is for people and programs that judge: it names task, family, split and seeds, and holds rubric, points
and rows. Whoever gives an episode to an agent, as a demonstration, an example or a memory, gives its transcript.
"""

from dataclasses import dataclass

from palaestra.records import JsonObject, Message, ToolCall
from palaestra.trajectory import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptTurn:
    """One action of the agent, and what it read next."""

    text: str | None
    """The raw text, where the agent gave text."""
    calls: tuple[ToolCall, ...]
    """The calls that the action holds; none where it could not be read."""
    observation: tuple[Message, ...]
    """The messages that were new to the agent afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTranscript:
    """An episode as its agent saw it."""

    tools: tuple[JsonObject, ...]
    """The schemas of the tools that were on offer at the beginning."""
    prompt: tuple[Message, ...]
    turns: tuple[TranscriptTurn, ...]


def transcript_of(episode: Episode, *, segment: int = 0) -> AgentTranscript:
    """What the agent of an episode saw of it.

    Args:
        episode: The episode.
        segment: Which of its segments; an episode whose context was never rewritten has one.

    Raises:
        IndexError: the episode has no such segment.
    """
    chosen = episode.segments[segment]
    return AgentTranscript(
        tools=episode.tools,
        prompt=chosen.prompt,
        turns=tuple(
            TranscriptTurn(text=turn.text, calls=turn.calls, observation=turn.observation) for turn in chosen.turns
        ),
    )
