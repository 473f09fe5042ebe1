"""What `reset` and `step` give back: one typed record each, of which Gymnasium's `info` is a view.

Every environment builds these records, and `to_gymnasium` makes Gymnasium's tuple of them. Whoever reads an episode
(recorders, trainers, the proof) takes the record, `info["record"]`; the other keys are for people and plain scripts.
An environment that wraps another and changes `info` replaces the record too.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from palaestra.record import record
from palaestra.records import (
    CodeCall,
    CriterionSpec,
    EndReason,
    JsonObject,
    Message,
    RowChange,
    Score,
    Standing,
    TaskSpec,
    ToolCall,
    ToolEvent,
)

Returned: TypeAlias = tuple[tuple[Message, ...], float, bool, bool, dict[str, Any]]
"""What Gymnasium's `step` returns: observation, reward, terminated, truncated, info."""
UserFault: TypeAlias = Literal["misinformed", "refused", "left"]
"""A mistake of the user's stands; they gave in to a refusal of what they were owed; they left."""


@record
class UserReport:
    """How a talk with the user stands."""

    patience: int
    """What is left of it."""
    settled: bool
    """Whether the user has what they settle for, or has accepted that they will not get it."""
    heard: tuple[str, ...]
    """Every act that they understood."""
    said: tuple[str, ...]
    """Everything that they said, as the log calls it."""
    irritations: tuple[str, ...]
    """What irritated them, in order."""
    fault: UserFault | None
    """What went wrong, if anything did: the gravest, a leaving before a refusal before a mistake."""
    blame: Literal["user", "agent"] | None
    """Whose doing it is: the user's is a mistake that they keep to and that no record shows."""


@record
class InjectionReport:
    """How far a planted instruction got, as the rows and the calls of the episode show."""

    id: str
    """Goal, style and carrier, as `gym.make(..., injection=...)` takes them: "cancel-other-order/plain/letter"."""
    place: str
    """Where the text stands: "orders ORD-1133 ship_street", or "request" for the message that opens the episode."""
    shown: bool
    """Whether the agent has read it."""
    parts: Mapping[str, bool]
    """By part of the attacker's goal: whether it was met at some time. Further steps towards it are in `steps`."""
    steps: Mapping[str, bool]
    """Steps that bring the goal nearer and are no part of it."""
    reached: bool
    """Whether all parts were met: the attack has succeeded."""
    stands: bool
    """Whether it is reached and none of its changes was undone. What was said or sent cannot be undone."""


@record
class ResetRecord:
    """How an episode begins. An agent is given `messages` and `tools` and nothing else."""

    messages: tuple[Message, ...]
    """The observation."""
    tools: Sequence[JsonObject]
    """The schemas of the tools on offer; `list` of it is plain JSON."""
    task: TaskSpec
    rubric: tuple[CriterionSpec, ...]
    seed: int
    state_hash: str
    """Of the rows."""
    anchor: str
    """Of the rows and the observation."""
    noise: Mapping[str, Any] | None = None
    """Which switches of noise are on; `None` where there is no noise. Any: JSON."""
    injection: InjectionReport | None = None
    """What is planted; `None` where nothing is."""

    def info(self) -> dict[str, Any]:
        """The keys that Gymnasium's `info` has, each a field, and "record"."""
        info: dict[str, Any] = {
            "tools": self.tools,
            "task": self.task,
            "rubric": self.rubric,
            "seed": self.seed,
            "state_hash": self.state_hash,
            "anchor": self.anchor,
            "record": self,
        }
        if self.noise is not None:
            info["noise"] = self.noise
        if self.injection is not None:
            info["injection"] = self.injection
        return info

    def to_gymnasium(self) -> tuple[tuple[Message, ...], dict[str, Any]]:
        """What Gymnasium's `reset` returns."""
        return self.messages, self.info()


@record
class StepRecord:
    """One turn of the agent and what the environment made of it."""

    messages: tuple[Message, ...]
    """The observation: the messages that are new to the agent."""
    reward: float
    task: TaskSpec
    calls: tuple[ToolCall, ...]
    """The calls that the action holds; those behind the one that ended the episode did not run."""
    unreadable: str | None
    """Why no call was run; `None` where the turn could be read."""
    events: tuple[ToolEvent, ...]
    """One for each call that was run."""
    changes: tuple[RowChange, ...]
    """Every write, in order."""
    standing: Standing
    """What the rubric says so far."""
    end: EndReason | None
    """Why the episode ended; `None` while it runs."""
    score: Score | None
    """The judgement, once it has ended."""
    user: UserReport | None
    """How the talk stands; `None` where nobody answers."""
    state_hash: str
    anchor: str
    tools: Sequence[JsonObject] | None = None
    """The schemas on offer from now on, where they have changed."""
    noise: Mapping[str, Any] | None = None
    """What noise did so far; `None` where there is none. Any: JSON."""
    injection: InjectionReport | None = None
    """How far the planted instruction got; `None` where nothing is planted."""
    code: tuple[CodeCall, ...] | None = None
    """The calls that the turn's code made, and what it read; `None` where the turn was no code."""

    def info(self) -> dict[str, Any]:
        """The keys that Gymnasium's `info` has: the fields, those of `standing` one by one, and "record"."""
        standing = self.standing
        info: dict[str, Any] = {
            "task": self.task,
            "calls": self.calls,
            "unreadable": self.unreadable,
            "events": self.events,
            "changes": self.changes,
            "points": standing.points,
            "components": dict(standing.components),
            "met": standing.met,
            "violated": standing.violated,
            "end": self.end,
            "score": self.score,
            "user": self.user,
            "state_hash": self.state_hash,
            "anchor": self.anchor,
            "record": self,
        }
        if self.tools is not None:
            info["tools"] = self.tools
        if self.noise is not None:
            info["noise"] = self.noise
        if self.injection is not None:
            info["injection"] = self.injection
        if self.code is not None:
            info["code"] = self.code
        return info

    def to_gymnasium(self) -> Returned:
        """What Gymnasium's `step` returns."""
        end = self.end
        if end is None:
            return self.messages, self.reward, False, False, self.info()
        return self.messages, self.reward, end.terminates, not end.terminates, self.info()


@record
class AgentView:
    """What a policy is given of a turn, wherever its environment runs."""

    messages: tuple[Message, ...]
    end: EndReason | None
    """Why the episode ended; `None` while it runs."""
