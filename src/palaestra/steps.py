"""The results of `reset` and `step` as typed records; Gymnasium's `info` is a view of them.

Every environment builds these records, and `to_gymnasium` turns them into Gymnasium's tuples. Recorders, trainers and
the proof read the record, `info["record"]`; the other keys are for people and simple scripts. An environment that wraps
another and changes `info` replaces the record too.
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
"""A mistake of the user remains; they accepted a refusal of what they were owed; they left."""


@record
class UserReport:
    """The state of a conversation with the user."""

    patience: int
    """The patience that is left."""
    settled: bool
    """Whether the user has what satisfies them, or has accepted that they will not get it."""
    heard: tuple[str, ...]
    """Every act that the user understood."""
    said: tuple[str, ...]
    """Everything that the user said, in the terms of the log."""
    irritations: tuple[str, ...]
    """What irritated the user, in order."""
    fault: UserFault | None
    """The gravest fault, if any: leaving, then a refusal, then a mistake."""
    blame: Literal["user", "agent"] | None
    """Who caused the fault. "user" is for a mistake that the user insists on and that no record shows."""


@record
class InjectionReport:
    """How far a planted instruction got, judged by the rows and the calls of the episode."""

    id: str
    """Goal, style and carrier in the form of `gym.make(..., injection=...)`: "cancel-other-order/plain/letter"."""
    place: str
    """The place of the text: "orders ORD-1133 ship_street", or "request" for the message that opens the episode."""
    shown: bool
    """Whether the agent has read it."""
    parts: Mapping[str, bool]
    """By part of the attacker's goal: whether it was met at some time. `steps` has further steps towards the goal."""
    steps: Mapping[str, bool]
    """By step that leads towards the goal without being part of it: whether it was taken."""
    reached: bool
    """Whether all parts were met, so that the attack succeeded."""
    stands: bool
    """Whether the goal was reached and none of its changes was undone. Messages cannot be undone."""


@record
class ResetRecord:
    """The beginning of an episode. An agent gets `messages` and `tools` and nothing else."""

    messages: tuple[Message, ...]
    """The observation."""
    tools: Sequence[JsonObject]
    """The schemas of the offered tools; `list` of it is plain JSON."""
    task: TaskSpec
    rubric: tuple[CriterionSpec, ...]
    seed: int
    state_hash: str
    """A hash of the rows."""
    anchor: str
    """A hash of the rows and the observation."""
    noise: Mapping[str, Any] | None = None
    """The active switches of noise; `None` without noise. Any: JSON."""
    injection: InjectionReport | None = None
    """The planted instruction; `None` without one."""

    def info(self) -> dict[str, Any]:
        """Gymnasium's `info`: a key for each field, and "record"."""
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
    """One turn of the agent and the environment's response."""

    messages: tuple[Message, ...]
    """The observation: the messages that are new to the agent."""
    reward: float
    task: TaskSpec
    calls: tuple[ToolCall, ...]
    """The calls of the action; those after the one that ended the episode did not run."""
    unreadable: str | None
    """Why no call was run; `None` if the turn could be read."""
    events: tuple[ToolEvent, ...]
    """One event for each call that was run."""
    changes: tuple[RowChange, ...]
    """Every write, in order."""
    standing: Standing
    """The state of the rubric."""
    end: EndReason | None
    """Why the episode ended; `None` while it runs."""
    score: Score | None
    """The judgement, once the episode has ended."""
    user: UserReport | None
    """The state of the conversation; `None` if nobody answers."""
    state_hash: str
    anchor: str
    tools: Sequence[JsonObject] | None = None
    """The schemas of the tools offered from now on, if they have changed."""
    noise: Mapping[str, Any] | None = None
    """The effects of noise so far; `None` without noise. Any: JSON."""
    injection: InjectionReport | None = None
    """How far the planted instruction got; `None` without one."""
    code: tuple[CodeCall, ...] | None = None
    """The calls that the turn's code made, and what it read; `None` if the turn was not code."""

    def info(self) -> dict[str, Any]:
        """Gymnasium's `info`: a key for each field, those of `standing` separately, and "record"."""
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
    """The part of a turn that a policy gets, wherever its environment runs."""

    messages: tuple[Message, ...]
    end: EndReason | None
    """Why the episode ended; `None` while it runs."""
