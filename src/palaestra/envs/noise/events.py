"""What happens in the world by itself while the agent works: a parcel arrives, a piece is sold.

A world event is a write of the world. It is in the journal and in the log, as an event of its own, and is no change of
the agent's. It keeps clear of every record that the task turns on and of every record that the agent wrote.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from palaestra.envs.later import log_world_event
from palaestra.envs.noise.material import WorldEvent
from palaestra.envs.state import Overlay
from palaestra.records import RowChange, ToolEvent
from palaestra.rubrics import Evidence
from palaestra.seeding import Stream

HOUR = 3_600
TRIES = 16
"""How many rows are looked at for one to which a world event can happen."""


class WorldEvents:
    """What happens by itself.

    Args:
        rate: How many things in an hour, on average.
        stream: When they happen and to what; each second of the clock has its own draws.
        events: What can happen.
        avoid: The ids of records to which nothing may happen.
    """

    def __init__(self, rate: int, stream: Stream, events: Sequence[WorldEvent[Any]], avoid: frozenset[str]) -> None:
        self._rate = rate
        self._stream = stream
        self._events = events
        self._avoid = avoid
        self._until = 0

    def due(self, elapsed: int) -> list[int]:
        """The seconds since the last time at which something happens, up to `elapsed`."""
        seconds = range(self._until + 1, elapsed + 1)
        self._until = elapsed
        return [s for s in seconds if self._stream.split("when", s).below(HOUR) < self._rate]

    def happen(self, second: int, state: Overlay, evidence: Evidence, now: datetime) -> ToolEvent | None:
        """Let something happen at that second; `None` where nothing was found that it could happen to."""
        draw = self._stream.split("what", second)
        agents = {(change.table, change.key) for change in evidence.changes}
        for world_event in draw.permutation(self._events):
            written = self._apply(world_event, draw, state, agents, now)
            if written:
                return log_world_event(f"world_{second}", world_event.name, written)
        return None

    def _apply(
        self, world_event: WorldEvent[Any], draw: Stream, state: Overlay, agents: set[tuple[str, str]], now: datetime
    ) -> int:
        """Let `world_event` happen to some row; how many rows it wrote, 0 where none was found."""
        keys, mark = state.keys(world_event.kind.table), len(state.journal)
        for key in (draw.choice(keys) for _ in range(TRIES if keys else 0)):
            row = state.get(world_event.kind, key)
            if world_event.where(row):
                world_event.move(state, row, draw, now)
                written = state.journal[mark:]
                if all(self._is_free(change, state, agents) for change in written):
                    return len(written)
                state.rollback(mark)
        return 0

    def _is_free(self, change: RowChange, state: Overlay, agents: set[tuple[str, str]]) -> bool:
        """Whether neither the task nor the agent has to do with the row that a world event wrote."""
        ids_in = state.base.schema.ids_in
        rows = [row for row in (change.before, change.after) if row is not None]
        return (change.table, change.key) not in agents and all(self._avoid.isdisjoint(ids_in(row)) for row in rows)

    def save(self) -> int:
        """What `load` needs."""
        return self._until

    def load(self, saved: int) -> None:
        """Be as when `saved` was saved."""
        self._until = saved
