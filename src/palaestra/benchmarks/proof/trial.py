"""Playing a variant of the oracle's work: from the point at which it departs, on an environment that was there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from palaestra.envs import Snapshot, ToolEnv
from palaestra.records import EndReason, Message, RowChange, Score, ToolCall, ToolEvent

Turn = Sequence[ToolCall]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one turn of the oracle did."""

    call: ToolCall
    event: ToolEvent
    observation: tuple[Message, ...]
    changes: tuple[RowChange, ...]
    met: frozenset[str]
    """The criteria that this turn met first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a variant ended."""

    score: Score
    events: tuple[ToolEvent, ...]
    changes: tuple[RowChange, ...]
    """The net difference that it made."""
    counting: frozenset[str]
    """The criteria that count: expectations met, prohibitions violated."""
    end: EndReason | None

    @property
    def passed(self) -> bool:
        """Whether the rubric calls it solved."""
        return self.score.passed


class Trial:
    """The oracle's run of one task, and variants of it that begin where they depart from it.

    Args:
        env: An environment of the task's world; the trial moves it as it likes.
        task_id: The task.
    """

    def __init__(self, env: ToolEnv, task_id: str) -> None:
        self.env = env
        env.reset(seed=0, options={"task": task_id})
        self.instance = env.instance
        self._at: list[Snapshot] = [env.snapshot()]
        self.steps: list[Step] = []
        known: frozenset[str] = frozenset()
        for call in self.instance.oracle:
            observation, _, _, _, info = env.step(as_turn([call]))
            self.steps.append(
                Step(
                    call=call,
                    event=info["events"][0],
                    observation=observation,
                    changes=info["changes"],
                    met=frozenset(info["met"]) - known,
                )
            )
            known = frozenset(info["met"])
            self._at.append(env.snapshot())
            if info["end"] is not None:
                break
        self.outcome = self._outcome()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The oracle's calls, as far as they ran."""
        return tuple(step.call for step in self.steps)

    def play(self, turns: Iterable[Turn], *, start: int = 0) -> Outcome:
        """Play `turns` from where the oracle stood before its call `start`."""
        self.env.restore(self._at[start])
        for turn in turns:
            info = self.env.step(as_turn(turn))[4]
            if info["end"] is not None:
                break
        return self._outcome()

    def play_calls(self, calls: Sequence[ToolCall]) -> Outcome:
        """Play `calls`, one a turn; the part that equals the oracle's beginning is not played again."""
        shared = 0
        for mine, theirs in zip(calls, self.calls, strict=False):
            if mine != theirs:
                break
            shared += 1
        return self.play(([call] for call in calls[shared:]), start=shared)

    def _outcome(self) -> Outcome:
        score = self.env.score()
        return Outcome(
            score=score,
            events=self.env.events,
            changes=self.env.changes,
            counting=frozenset(self.env.counting),
            end=self.env.end,
        )


def as_turn(calls: Turn) -> list[dict[str, object]]:
    """Calls as an action of the environment."""
    return [{"tool": call.tool, "arguments": dict(call.arguments)} for call in calls]
