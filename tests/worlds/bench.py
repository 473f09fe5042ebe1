"""An episode by hand: a checklist, evidence over the library, and calls that write what a test says."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from palaestra.envs.state import Overlay
from palaestra.records import EndReason, Row, ToolEvent
from palaestra.rubrics import Checklist, Criterion, Evidence, Rubric
from worlds.library import populate

EVENT = ToolEvent(
    call_id="call_0_0", tool="look", arguments={}, schema_ok=True, semantic_ok=True, executed=True, result_digest="",
    error=None, cost=1, latency=1, duplicate_of=None, named=(), written=0, shown=(), mentioned=frozenset(),
)  # fmt: skip

BASE = populate(1)

Write: TypeAlias = Callable[[Overlay], object]


class Bench:
    """A rubric at work on an episode that a test writes by hand."""

    def __init__(self, *criteria: Criterion, given: frozenset[str] = frozenset()) -> None:
        self.rubric = Rubric(criteria)
        self.checklist = Checklist(self.rubric)
        initial = Overlay(BASE)
        self.state = initial.fork()
        self.evidence = Evidence(
            initial=initial,
            state=self.state,
            journal=lambda: self.state.journal,
            net=self.state.changes,
            given=given,
        )

    def call(self, tool: str = "look", write: Write = lambda _: None, **fields: Any) -> int:
        """Do one call, a turn of its own; the points it won or lost."""
        before, mark = self.checklist.points, len(self.state.journal)
        self.evidence.turn_start = len(self.evidence.events)
        write(self.state)
        written = len(self.state.journal) - mark
        self.evidence.events.append(replace(EVENT, tool=tool, written=written, **fields))
        self.checklist.update(self.evidence)
        return self.checklist.points - before

    def see(self, row: Row, **fields: Any) -> int:
        """A call that shows a row whole."""
        return self.call(shown=((row.table, row.id),), mentioned=frozenset({row.id}), **fields)

    def finish(self, answer: dict[str, Any] | None = None, end: EndReason = EndReason.FINISHED) -> int:
        """End the episode; the points that this won."""
        before = self.checklist.points
        self.evidence.answer, self.evidence.end = answer or {}, end
        self.checklist.finish(self.evidence)
        return self.checklist.points - before


BenchFactory: TypeAlias = Callable[..., Bench]
