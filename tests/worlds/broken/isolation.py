"""Broken in what reaches them, and what a refused call reaches."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

from palaestra.envs.env import ToolEnv
from palaestra.errors import ToolRefusal
from palaestra.protocols import Action
from palaestra.records import Message, ToolCall
from palaestra.tools import CallResult, JournaledState, Toolbox, ToolContext, tool
from worlds.broken.late import LATE, Observation, Reset, Stepped
from worlds.library import LIBRARY, Book


class Overheard(ToolEnv):
    """Speaks of the episode that was begun last, in whichever environment."""

    _latest: ClassVar[int] = 0

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Reset:
        returned = super().reset(seed=seed, options=options)
        Overheard._latest = self.episode.seed
        return returned

    def step(self, action: Action) -> Stepped:
        observation, reward, terminated, truncated, info = super().step(action)
        info["overheard"] = Overheard._latest != self.episode.seed and self.episode.turn > 1
        return observation, reward, terminated, truncated, info


class Lends(ToolEnv):
    """Hands out its own messages."""

    def _copy_observation(self) -> Observation:
        return self.episode.observation if self.episode.turn >= LATE else super()._copy_observation()


@tool(writes=True)
def spoil(context: ToolContext) -> object:
    """Write, then refuse."""
    book = context.state.find(Book)[0]
    context.state.update(book, copies=book.copies + 1)
    raise ToolRefusal("not_allowed", "no")


class Unforgiving:
    """A state that takes nothing back."""

    def __init__(self, state: JournaledState) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def rollback(self, length: int) -> None:
        del length


class NoRollback(Toolbox):
    def call(self, context: ToolContext, state: JournaledState, call_id: str, call: ToolCall, past: Any) -> CallResult:
        return super().call(context, cast("JournaledState", Unforgiving(state)), call_id, call, past)


class ForgetsRefusals(ToolEnv):
    """Keeps no event of a call of an unknown tool."""

    def _run(self, calls: tuple[ToolCall, ...]) -> list[Message]:
        messages = super()._run(calls)
        self.episode.evidence.events = [e for e in self.episode.evidence.events if e.error != "unknown_tool"]
        return messages


class TimelessRefusals(ToolEnv):
    """A call of an unknown tool takes no time."""

    def _run(self, calls: tuple[ToolCall, ...]) -> list[Message]:
        elapsed = self.episode.clock.elapsed
        messages = super()._run(calls)
        if self.episode.evidence.event.error == "unknown_tool":
            self.episode.clock.set_elapsed(elapsed)
        return messages


UNROLLED = replace(LIBRARY, toolbox=NoRollback((*LIBRARY.toolbox, spoil), prose_tool="reply"))
