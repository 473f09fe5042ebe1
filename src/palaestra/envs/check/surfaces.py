"""Other surfaces: what a conventional call is translated to shows the rows that the call itself shows."""

from collections.abc import Sequence

from palaestra.envs.check.subject import Subject, as_action
from palaestra.envs.env import ToolEnv
from palaestra.envs.world import CONVENTIONAL
from palaestra.records import ToolCall, ToolEvent
from palaestra.seeding import Stream
from palaestra.tools import CONTROL, Tool, legal_call

_DRAWS = 6
"""Calls drawn of each reading tool."""
_KEPT = frozenset(tool.name for tool in CONTROL)


def check_surfaces(subject: Subject) -> None:
    """For legal calls of every tool that reads, the calls of each other surface show the same rows.

    Rows that a list only names, the other surface may show whole.
    """
    own = subject.make(surface=CONVENTIONAL, surface_settings=None, noise=None)
    for name in own.world.surfaces:
        other = subject.make(surface=name, surface_settings=None, noise=None)
        readers = [tool for tool in own.offered_tools if not tool.writes and tool.name not in _KEPT]
        for seed in subject.seeds:
            for tool in readers:
                _check_tool(subject, own, other, tool, seed)


def _check_tool(subject: Subject, own: ToolEnv, other: ToolEnv, tool: Tool, seed: int) -> None:
    stream = Stream.root("check-surfaces", seed, tool.name)
    for _ in range(_DRAWS):
        own.reset(seed=seed)
        other.reset(seed=seed)
        call = legal_call([tool], own.table_ids, stream)
        [event] = _events(own, [call])
        translated = other.world.surface(other.surface).translate([call], other.instance.initial_state)
        events = _events(other, translated)
        if event.error is not None or any(e.error is not None for e in events):
            continue
        shown = {row for e in events for row in e.shown}
        missing = set(event.shown) - shown
        besides = {key for _, key in shown} - event.mentioned
        if missing or besides:
            row = min(missing)[1] if missing else min(besides)
            raise subject.fault(
                f"{call.tool}({dict(call.arguments)!r:.100}) {'shows' if missing else 'does not name'} {row!r}, which "
                f"its translation to the surface {other.surface!r} {'does not show' if missing else 'shows'}",
                "a translated call shows the same rows",
                "Declare what the tool shows: tool(reads=palaestra.tools.Reads(...))",
            )


def _events(env: ToolEnv, calls: Sequence[ToolCall]) -> list[ToolEvent]:
    before = len(env.events)
    env.step([as_action(call) for call in calls])
    return list(env.events[before:])
