"""Calls made by hand on any toolbox over any rows, outside an episode."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from palaestra.clock import Clock
from palaestra.envs.state import Overlay, Schema
from palaestra.records import ToolCall, ToolEvent
from palaestra.tools import CallResult, Toolbox, ToolContext, join_answers, run_composite


class Play:
    """A toolbox at work on rows.

    Attributes:
        events: One for every call, and for every action of a composite one.
    """

    def __init__(self, schema: Schema, toolbox: Toolbox, state: Overlay, *, role: str = "agent") -> None:
        self.state = state
        self.events: list[ToolEvent] = []
        self._toolbox = toolbox
        self._context = ToolContext(
            state=state, clock=Clock(datetime(2031, 3, 4)), role=role, actor="EMP-1", ids_in=schema.ids_in
        )

    def call(self, tool: str, arguments: Any) -> Any:
        """The answer to one call."""
        call = ToolCall(tool=tool, arguments=arguments)
        mark = len(self.events)
        if tool in self._toolbox.composites:
            results: list[CallResult] = []
            for result in run_composite(self._toolbox, self._context, self.state, f"call_{mark}", call, self.events):
                self.events.append(result.event)
                results.append(result)
            return json.loads(join_answers(results))
        result = self._toolbox.call(self._context, self.state, f"call_{mark}", call, self.events)
        self.events.append(result.event)
        return json.loads(result.content)

    def shown(self, calls: Sequence[ToolCall]) -> set[tuple[str, str]]:
        """The rows that calls, none of which is refused, show whole."""
        mark = len(self.events)
        for call in calls:
            self.call(call.tool, dict(call.arguments))
        assert [event.error for event in self.events[mark:]] == [None] * len(calls), self.events[mark:]
        return {row for event in self.events[mark:] for row in event.shown}
