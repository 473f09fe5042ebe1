"""What came of one episode of an evaluation, in the figures that reports are made of."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from palaestra.record import record
from palaestra.records import EndReason
from palaestra.steps import InjectionReport

FaultKind: TypeAlias = Literal["world", "server", "reply", "engine", "time", "gold", "context"]
"""Whose fault it is that an episode has no score: the world's, the model server's that failed or was overloaded, its
that answered with no chat completion, the engine's, of something that did not answer in time, "gold": the task has no
solution of its own to play, or "context": its opening leaves no room for a turn in the tokens that an episode was
given."""


@record
class EpisodeFault:
    """Why an episode has no score. It is never a failure of the agent's."""

    kind: FaultKind
    said: str


@record
class EpisodeOutcome:
    """What came of one episode."""

    cell: str
    task: str
    sample: int
    family: str = ""
    """Of the task; "" where an older run did not say, or the episode has a fault."""
    world: str = ""
    """The seed of the world that it was played in, likewise."""
    fault: EpisodeFault | None = None
    """Where there is one, the figures of score count for nothing."""
    points: int = 0
    """Of 100."""
    solved: bool = False
    harmed: bool = False
    """Whether something forbidden was done."""
    criteria: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Sub-scores: each criterion, and whether it counts (is met, or violated where it forbids)."""
    end: EndReason | None = None
    injection: InjectionReport | None = None
    """How far a planted instruction got; `None` where none was planted."""
    turns: int = 0
    calls: int = 0
    invalid: int = 0
    """Calls that no schema takes, and turns that could not be read."""
    refused: int = 0
    """Calls that fit their schema and were refused by the world."""
    prompt_tokens: int | None = None
    """Tokens that the agent read, over all of its requests; `None` where nobody counts them."""
    completion_tokens: int | None = None
    troubles: Mapping[str, int] = field(default_factory=dict[str, int])
    """What went wrong on the way, by name, such as "status 429", "late", "cut off", "malformed call", "empty reply";
    the episode counts as it went."""
