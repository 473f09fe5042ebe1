"""The Insurer's tools by hand: call one, and see which rows it wrote or how it said no."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from palaestra.clock import Clock
from palaestra.envs.state import Base, Overlay
from palaestra.envs.worlds.insurer.population import ACTOR_ID, populate, world_start
from palaestra.envs.worlds.insurer.rules import RULES
from palaestra.envs.worlds.insurer.schema import SCHEMA
from palaestra.envs.worlds.insurer.tools import TOOLBOX
from palaestra.protocols import R
from palaestra.records import Json, Row, ToolCall, ToolEvent
from palaestra.tools import ToolContext

SEED = 1000


@cache
def base() -> Base:
    """The world that every department stands in."""
    return populate(SEED, RULES.own)


class ClaimsDepartment:
    """A fresh world and its tools."""

    def __init__(self) -> None:
        self.state = Overlay(base())
        self.clock = Clock(world_start(SEED))
        self.context = ToolContext(
            state=self.state, clock=self.clock, role="adjuster", actor=ACTOR_ID, ids_in=SCHEMA.ids_in, rules=RULES.own
        )
        self.events: list[ToolEvent] = []

    def call(self, tool: str, **arguments: Json) -> Any:
        """The answer of a call, or its error."""
        call = ToolCall(tool=tool, arguments=arguments)
        result = TOOLBOX.call(self.context, self.state, f"call_{len(self.events)}", call, self.events)
        self.events.append(result.event)
        return json.loads(result.content)

    def write(self, tool: str, **arguments: Json) -> list[Row]:
        """The rows that a call wrote, as they are then."""
        before = len(self.state.journal)
        answer = self.call(tool, **arguments)
        assert self.events[-1].executed, answer
        return [change.after for change in self.state.journal[before:] if change.after is not None]

    def refusal(self, tool: str, **arguments: Json) -> str:
        """The code of the refusal of a call, which leaves the rows as they are."""
        before = self.state.state_hash()
        answer = self.call(tool, **arguments)
        assert self.events[-1].error is not None, answer
        assert self.state.state_hash() == before
        code: str = answer["error"]["code"]
        return code

    def pick(self, kind: type[R], where: Callable[[R], bool] = lambda _: True) -> R:
        """The first row for which `where` holds."""
        return next(row for row in self.state.find(kind) if where(row))
