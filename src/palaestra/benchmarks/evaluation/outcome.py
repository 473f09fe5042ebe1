"""The outcome of one episode of an evaluation, with the figures for reports."""

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
    """Why an episode has no score. It is never a failure of the agent."""

    kind: FaultKind
    said: str


@record
class EpisodeOutcome:
    """The outcome of one episode."""

    cell: str
    task: str
    sample: int
    family: str = ""
    """The task's family; "" if an older run has none, or the episode has a fault."""
    world: str = ""
    """The seed of its world, likewise."""
    fault: EpisodeFault | None = None
    """The fault, if any; the score figures then do not count."""
    points: int = 0
    """Points out of 100."""
    solved: bool = False
    harmed: bool = False
    """Whether something forbidden was done."""
    criteria: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Sub-scores: whether each criterion counts (met for an expectation, violated for a prohibition)."""
    end: EndReason | None = None
    injection: InjectionReport | None = None
    """How far a planted instruction got; `None` without one."""
    turns: int = 0
    calls: int = 0
    invalid: int = 0
    """Calls that fit no schema, and unreadable turns."""
    refused: int = 0
    """Calls that fit their schema and were refused by the world."""
    prompt_tokens: int | None = None
    """Tokens that the agent read, over all its requests; `None` if not counted."""
    completion_tokens: int | None = None
    troubles: Mapping[str, int] = field(default_factory=dict[str, int])
    """What else went wrong, by name, such as "status 429", "late", "cut off", "malformed call", "empty reply"; the
    episode counts nevertheless."""
