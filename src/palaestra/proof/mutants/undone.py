"""A write is undone: taken back by the same tool with the values of before, or by one that takes only the row's id."""

from collections.abc import Iterator, Sequence

from palaestra.proof.arguments import leaf_paths, with_value
from palaestra.proof.equivalence import net
from palaestra.proof.trial import OracleStep, Trial
from palaestra.proof.variants import SolutionVariant, format_call, insert_calls, variant
from palaestra.records import Json, RowChange, ToolCall
from palaestra.seeding import Stream


def undone(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """Each write followed by each call that takes something of it back, where other rows are left then."""
    del stream
    for position, step in enumerate(trial.steps):
        for call in undoing(trial, step):
            calls = insert_calls(trial.calls, position + 1, *trial.said(call))
            outcome = trial.vary([(c,) for c in calls])
            ran = len(outcome.events) > position + 1 and outcome.events[position + 1].written
            if ran and net(outcome.changes) != net(trial.outcome.changes):
                yield variant("undone", f"{format_call(step.call)}, then {format_call(call)}", calls)


def undoing(trial: Trial, step: OracleStep) -> Iterator[ToolCall]:
    """Calls that may take a write of the oracle's back."""
    back = _former_values(step)
    former = step.call
    for path, value in leaf_paths(step.call.arguments):
        former = with_value(former, path, back.get(str(value), value))
    if former != step.call:
        yield former
    yield from taking_back(trial, step.changes, but=step.call.tool)


def taking_back(trial: Trial, changes: Sequence[RowChange], *, but: str) -> Iterator[ToolCall]:
    """Calls of other tools than `but` that take only the id of a row that was changed."""
    for tool in trial.own_offered:
        required = set(tool.parameters.get("required", ()))
        if not tool.writes or len(tool.references) != 1 or required != set(tool.references):
            continue
        [(name, table)] = tool.references.items()
        for change in changes:
            if change.table == table and tool.name != but:
                yield ToolCall(tool=tool.name, arguments={name: change.key})


def _former_values(step: OracleStep) -> dict[str, Json]:
    """By the words of each value that a write put into a row: what stood there before."""
    return {
        str(getattr(c.after, n)): getattr(c.before, n)
        for c in step.changes
        if c.before and c.after
        for n in type(c.after).__dataclass_fields__
        if getattr(c.before, n) != getattr(c.after, n)
    }
