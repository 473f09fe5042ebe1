"""Recorded episodes: an episode is a list of segments, a segment a prompt and the turns that followed it.

A context that is rewritten opens a new segment; nothing is ever edited. On disk an episode is one line of JSON.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.digest import Chain
from palaestra.errors import RecordError
from palaestra.records import (
    CodeCall,
    CriterionSpec,
    EndReason,
    JsonObject,
    Layer,
    Message,
    Score,
    TaskSpec,
    ToolCall,
    ToolEvent,
)
from palaestra.steps import InjectionReport
from palaestra.validation import plain_rule

SpanKind: TypeAlias = Literal["turn", "plan", "switch", "action"]
Stop: TypeAlias = Literal["end", "length"]
"""Why a turn's text stops: the policy ended it, or it reached a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of a segment's tokens with a meaning."""

    kind: SpanKind
    """A whole turn, or a part of it: planning, switching to another subgoal, or acting."""
    start: int
    end: int
    """The position after the last token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemperatureChoices:
    """A temperature head's choices, aligned with the tokens; 0 for tokens that the policy did not sample."""

    temperatures: tuple[float, ...]
    """The temperature at which each token was sampled."""
    latents: tuple[float, ...]
    """The position of the temperature in the head's range, above 0 and below 1; 0 if the previous token's was kept."""
    logprobs: tuple[float, ...]
    """The log-probability of each choice, under the head that made it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """A segment's tokens as the policy read and wrote them: aligned, appended once, never tokenised again."""

    ids: tuple[int, ...]
    sampled: tuple[bool, ...]
    """Which tokens the policy sampled; the others come from the prompt, the tools and the users."""
    logprobs: tuple[float, ...]
    """The log-probability of each sampled token, under the distribution that it was drawn from; 0 for the others."""
    versions: tuple[int, ...]
    """The version of the weights that sampled each token; 0 for the others. A turn or an episode may have several."""
    spans: tuple[Span, ...] = ()
    """A span of kind "turn" for each turn, in order, each followed by those of its parts, if any."""
    stops: tuple[Stop, ...] = ()
    """Why each turn's text stopped."""
    shared_turns: int = 0
    """The number of first turns that another trajectory sampled and this one continues; none of their tokens counts as
    sampled."""
    choices: TemperatureChoices | None = None
    """The temperature head's choices, if one chose the temperature of each token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One action of the agent and the world's response."""

    text: str | None
    """The raw text, if the agent gave text."""
    calls: tuple[ToolCall, ...]
    """The calls of the action; empty if it could not be read."""
    events: tuple[ToolEvent, ...]
    changes: tuple[JsonObject, ...]
    """The journal of this turn: table, key, before, after."""
    observation: tuple[Message, ...]
    """The messages that were new to the agent afterwards."""
    reward: float
    components: Mapping[Layer, int]
    """Points won or lost in this turn, by layer."""
    met: tuple[str, ...]
    """Expectations met after this turn."""
    violated: tuple[str, ...]
    """Prohibitions violated after this turn."""
    state_hash: str
    anchor: str
    code: tuple[CodeCall, ...] | None = None
    """The calls that the turn's code made, and what it read; `None` if the turn was not code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """An immutable prompt and the turns appended to it."""

    prompt: tuple[Message, ...]
    turns: tuple[Turn, ...]
    tokens: Tokens | None = None
    """The tokens, if a policy of Palaestra acted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A complete episode: enough to read it, score it again and replay it."""

    env_id: str
    task: TaskSpec
    agent: str
    seed: int
    tools: tuple[JsonObject, ...]
    rubric: tuple[CriterionSpec, ...]
    segments: tuple[Segment, ...]
    end: EndReason | None
    """Why the episode ended; `None` if the rollout stopped before the episode did."""
    score: Score
    valid_for_baseline: bool
    """False if the world failed: the episode then counts neither as a success nor as a failure."""
    id: str = ""
    """The id of the trajectory within its run; empty if the run does not tell trajectories apart."""
    group: str = ""
    """The group, which the trajectories that it is compared with share."""
    injection: InjectionReport | None = None
    """How far a planted instruction got; `None` without one."""

    @property
    def turns(self) -> Iterator[Turn]:
        """Every turn, over all segments."""
        return (turn for segment in self.segments for turn in segment.turns)

    @property
    def episode_return(self) -> float:
        """The sum of rewards; with the `checklist` reward, the score."""
        return sum(turn.reward for turn in self.turns)

    def digest(self) -> str:
        """A hash chain over (state, action, observation, reward) of every turn."""
        chain = Chain()
        for turn in self.turns:
            chain.add(turn.state_hash, turn.text, turn.calls, turn.observation, turn.reward)
        return chain.head


_EPISODE: TypeAdapter[Episode] = TypeAdapter(Episode)


def dump_episode(episode: Episode) -> bytes:
    """The episode as one line of JSON, without the newline."""
    # A set has no order of its own; the file must have one.
    return orjson.dumps(episode, option=orjson.OPT_NON_STR_KEYS, default=sorted)


def write_episodes(path: str | Path, episodes: Iterable[Episode]) -> int:
    """Write `episodes` as JSON lines and return their number."""
    count = 0
    with Path(path).open("wb") as file:
        for episode in episodes:
            file.write(dump_episode(episode) + b"\n")
            count += 1
    return count


def read_episodes(path: str | Path) -> Iterator[Episode]:
    """Read the episodes of a JSON-lines file.

    Raises:
        RecordError: the file or a line of it cannot be read; the message names the line and the field.
    """
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror}); give a file of trajectories") from error
    for number, line in enumerate(lines, 1):
        try:
            yield _EPISODE.validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the line"
            raise RecordError(
                f"{path}, line {number}: {where}: {plain_rule(first['msg'])}; a line is one whole episode as JSON. "
                "Delete the line to read the rest"
            ) from error
