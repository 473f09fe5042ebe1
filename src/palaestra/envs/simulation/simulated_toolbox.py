"""A toolbox whose calls are answered by a simulator: rows and events follow the answers, not the tools' code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from palaestra.digest import digest_bytes
from palaestra.envs.simulation.answer_rows import AnswerRow, put_row
from palaestra.envs.state import Overlay
from palaestra.records import Json, Row, RowChange, ToolCall, ToolEvent
from palaestra.tools import CallResult, JournaledState, Toolbox, ToolContext


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedAnswer:
    """What a simulator answered to a call."""

    content: str
    """JSON."""
    value: Json
    rows: tuple[AnswerRow, ...]
    ids: frozenset[str]
    """The ids that it names."""

    @property
    def error(self) -> str | None:
        """The code of a refusal; `None` where it is none."""
        error = self.value.get("error") if isinstance(self.value, dict) else None
        return str(error.get("code", "refused")) if isinstance(error, dict) else None


class SimulatedToolbox(Toolbox):
    """The tools of a world under a simulator's answers.

    The tool's code runs first. Where the answer says the same, its event and its writes stand. Otherwise the answer
    counts: a refusal takes the writes back, and a success lets the rows be as it shows them.

    Args:
        toolbox: The world's own.
        answers: By call id; filled in by who holds it. A call without an answer is answered by the code.
    """

    def __init__(self, toolbox: Toolbox, answers: Mapping[str, SimulatedAnswer]) -> None:
        super().__init__(toolbox, prose_tool=toolbox.prose_tool, actions=toolbox.actions)
        self._answers = answers

    def call(
        self,
        context: ToolContext,
        state: JournaledState,
        call_id: str,
        call: ToolCall,
        past: Sequence[ToolEvent],
    ) -> CallResult:
        """Run one call under its answer; raises as the toolbox of the world does."""
        mark = len(state.journal)
        result = super().call(context, state, call_id, call, past)
        answer = self._answers.get(call_id)
        if answer is None or orjson.loads(result.content) == answer.value:
            return result
        assert isinstance(state, Overlay), "an episode plays on one"
        if answer.error is not None:
            state.rollback(mark)
        elif call.tool in self and self[call.tool].writes:
            _follow(answer, state, mark)
        return CallResult(event=_event(result.event, answer, len(state.journal) - mark), content=answer.content)


def _follow(answer: SimulatedAnswer, state: Overlay, mark: int) -> None:
    """Let the rows be as an answer to a write shows them, with as few writes as that takes."""
    written: dict[tuple[str, str], RowChange] = {}
    for change in state.journal[mark:]:
        written.setdefault((change.table, change.key), change)
    for found in answer.rows:
        first = written.get((found.kind.table, found.key))
        if first is not None and first.before is not None and not found.differences(first.before) and found.whole:
            _take_back(state, mark, found.kind, found.key)
        else:
            put_row(state, found)


def _take_back(state: Overlay, mark: int, kind: type[Row], key: str) -> None:
    """Take back what the call wrote to one row: it never happened, so it is in no journal."""
    changes = list(state.journal[mark:])
    state.rollback(mark)
    for change in changes:
        if (change.table, change.key) == (kind.table, key):
            continue
        if change.before is None and change.after is not None:
            state.insert(change.after)
        elif change.after is not None:
            names = state.base.schema[change.table].columns
            row = state.get(type(change.after), change.key)
            state.update(row, **{name: getattr(change.after, name) for name in names if name != "id"})
        elif change.before is not None:
            state.delete(state.get(type(change.before), change.key))


def _event(event: ToolEvent, answer: SimulatedAnswer, written: int) -> ToolEvent:
    """The record of a call that was answered otherwise than by its code."""
    done = answer.error is None
    return replace(
        event,
        schema_ok=event.schema_ok or done,
        semantic_ok=done,
        executed=done,
        error=answer.error,
        result_digest=digest_bytes(answer.content.encode()),
        written=written,
        shown=tuple((row.kind.table, row.key) for row in answer.rows if row.whole),
        mentioned=answer.ids,
        columns=event.columns if done else (),
    )
