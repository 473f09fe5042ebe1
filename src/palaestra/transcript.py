"""Transcripts: what an agent may see of an episode, that is messages, tool schemas and its own actions.

An `Episode` is for people and programs that judge: it names task, family, split and seeds, and holds rubric, points and
rows. To show an episode to an agent, as a demonstration, an example or a memory, give it the transcript.
"""

from dataclasses import dataclass

from palaestra.records import JsonObject, Message, ToolCall
from palaestra.trajectory import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptTurn:
    """One action of the agent, and what it read next."""

    text: str | None
    """The raw text, if the agent gave text."""
    calls: tuple[ToolCall, ...]
    """The calls of the action; empty if it could not be read."""
    observation: tuple[Message, ...]
    """The messages that were new to the agent afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTranscript:
    """An episode as its agent saw it."""

    tools: tuple[JsonObject, ...]
    """The schemas of the tools offered at the beginning."""
    prompt: tuple[Message, ...]
    turns: tuple[TranscriptTurn, ...]


def transcript_of(episode: Episode, *, segment: int = 0) -> AgentTranscript:
    """The transcript of an episode.

    Args:
        episode: The episode.
        segment: The number of a segment; an episode whose context was never rewritten has only one.

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
