"""The criteria that most rubrics use.

An expectation about rows also permits the change that it expects, so a task states each change once, and
`forbid_other_changes` forbids every other. Values are a mapping of columns; a frozenset stands for any one of its
members.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import cast

from palaestra.errors import RubricError, UnknownNameError
from palaestra.records import EndReason, Json, Layer, Row, ToolEvent, Verdict
from palaestra.rubrics.criterion import MET, UNMET, Allowance, Criterion, has_values
from palaestra.rubrics.evidence import Evidence
from palaestra.rubrics.expected import Close, UnorderedItems, check_stated, same

GUESSED = Verdict(met=False, reason="looked up by an id that the agent could not know")

UNGROUNDED_ID = "ungrounded"
"""The id of the first prohibition that every task has, after those of its author."""

_NO_ARGUMENTS: Mapping[str, Json] = {}


def expect_read(
    row: Row,
    *others: Row,
    fields: Iterable[str] | None = None,
    id: str | None = None,
    points: int | None = None,
    after: Sequence[str] = (),
) -> Criterion:
    """Expect that the agent looked up these rows, with ids that it knew, by calls that wrote nothing.

    Any answers count that show the fields, alone or together: the whole row, a list, a query or a measure.

    Args:
        row: The row.
        others: Further rows of its table, if one look-up is likely to show them all.
        fields: The columns that decide. Default: all.
        id: The criterion's id. Default: `saw-` and the row's id.
        points: The points that it wins.
        after: Criteria that must have been met before.

    Raises:
        RubricError: the row has no such column.
    """
    table, keys = row.table, [row.id, *(other.id for other in others)]
    wanted = {(table, key) for key in keys}
    names = [column.name for column in dataclass_fields(row)]
    decisive = frozenset(names if fields is None else fields) - {"id"}
    if unknown := sorted(decisive - set(names)):
        raise RubricError(f"expect_read: {UnknownNameError.of(f'column of {table}', unknown[0], names)} (in `fields`)")

    def check(evidence: Evidence) -> Verdict:
        event = evidence.event
        whole = not wanted.isdisjoint(event.shown)
        if not whole and not event.columns:
            return UNMET
        shows = whole or any(p.table == table and any(key in p.keys for key in keys) for p in event.columns)
        if event.written or not shows:
            return UNMET
        if not _knew(evidence):
            return GUESSED
        if whole and not others:
            return MET
        return MET if all(evidence.has_shown(table, key, decisive) for key in keys) else UNMET

    about = "" if fields is None else f": {', '.join(sorted(decisive))}"
    return Criterion(
        id=id or f"saw-{row.id}",
        text=f"Looked at {', '.join(keys)} ({table}){about}.",
        check=check,
        points=points,
        layer="selection",
        after=tuple(after),
        about="event",
        calls="reads",
    )


def expect_any(*options: Criterion, id: str, points: int | None = None, after: Sequence[str] = ()) -> Criterion:
    """Expect that a call meets one of these expectations about calls: several routes to one fact."""

    def check(evidence: Evidence) -> Verdict:
        tool = evidence.event.tool
        asked = (option for option in options if option.tools is None or tool in option.tools)
        return next((verdict for option in asked if (verdict := option.check(evidence)).met), UNMET)

    return Criterion(
        id=id,
        text=" Or: ".join(option.text for option in options),
        check=check,
        points=points,
        layer=options[0].layer,
        after=tuple(after),
        about="event",
    )


def expect_call(
    *tools: str,
    arguments: Mapping[str, Json] = _NO_ARGUMENTS,
    id: str | None = None,
    text: str | None = None,
    layer: Layer = "selection",
    points: int | None = None,
    after: Sequence[str] = (),
) -> Criterion:
    """Expect that one of `tools` ran with these arguments, whatever the others."""

    def check(evidence: Evidence) -> Verdict:
        event = evidence.event
        if not event.executed or not _carries(event, arguments):
            return UNMET
        # A look-up by a guessed id adds no knowledge; `forbid_guessed_ids` judges work on one.
        return MET if layer != "selection" or _knew(evidence) else GUESSED

    return Criterion(
        id=id or f"called-{tools[0]}",
        text=text or f"Called {_call_text(tools, arguments)}.",
        check=check,
        points=points,
        layer=layer,
        after=tuple(after),
        about="event",
        tools=frozenset(tools),
    )


def expect_row(
    kind: type[Row],
    values: Mapping[str, object],
    *,
    id: str | None = None,
    text: str | None = None,
    points: int | None = None,
    after: Sequence[str] = (),
) -> Criterion:
    """Expect a new row of `kind` with these values; permit one such row, but not a second."""
    allowance = Allowance(table=kind.table, values=tuple(values.items()))

    def check(evidence: Evidence) -> Verdict:
        return MET if any(allowance.covers(change) for change in evidence.changes) else UNMET

    return Criterion(
        id=id or f"created-{kind.table}",
        text=text or f"There is a new row of {kind.table} with {_words(values)}.",
        check=check,
        points=points,
        after=tuple(after),
        tables=frozenset({kind.table}),
        allows=(allowance,),
    )


def expect_change(
    row: Row,
    values: Mapping[str, object],
    *,
    id: str | None = None,
    text: str | None = None,
    points: int | None = None,
    after: Sequence[str] = (),
    also: Iterable[str] = (),
) -> Criterion:
    """Expect that `row` was changed to these values; the columns in `also` may change with it."""
    wanted = tuple(values.items())

    def check(evidence: Evidence) -> Verdict:
        now = evidence.state.peek(type(row), row.id)
        holds = now is not None and has_values(now, wanted)
        return MET if holds and now != evidence.initial.peek(type(row), row.id) else UNMET

    return Criterion(
        id=id or f"changed-{row.id}",
        text=text or f"{row.id} ({row.table}) now has {_words(values)}.",
        check=check,
        points=points,
        after=tuple(after),
        tables=frozenset({row.table}),
        allows=(Allowance(table=row.table, key=row.id, values=wanted, columns=frozenset(also)),),
    )


def expect_answer(
    values: Mapping[str, object], *, id: str = "answer", points: int | None = None, after: Sequence[str] = ()
) -> Criterion:
    """Expect that the agent finished with exactly these values: none wrong, missing or extra.

    A number with a fraction needs a tolerance, `close(1.25, within=0.005)`. A list is compared in order, or in any
    order with `in_any_order([...])`; items may be `close(...)`.

    Raises:
        RubricError: a float has no tolerance.
    """
    check_stated(values)

    def check(evidence: Evidence) -> Verdict:
        if evidence.end is not EndReason.FINISHED:
            return Verdict(met=False, reason="the agent did not finish")
        given = evidence.answer
        names = sorted(values.keys() | given.keys())
        wrong = [n for n in names if n not in values or not same(given.get(n), values[n])]
        return Verdict(met=False, reason=f"wrong, missing or besides: {', '.join(wrong)}") if wrong else MET

    return Criterion(
        id=id,
        text=f"Answered {_words(values)}.",
        check=check,
        points=points,
        layer="task",
        after=tuple(after),
        about="answer",
        unordered=frozenset(name for name, value in values.items() if isinstance(value, UnorderedItems)),
    )


def forbid_call(
    *tools: str,
    arguments: Mapping[str, Json] = _NO_ARGUMENTS,
    id: str | None = None,
    text: str | None = None,
    points: int | None = None,
) -> Criterion:
    """Forbid that any of `tools` runs with these arguments."""
    return replace(
        expect_call(*tools, arguments=arguments, id=id or f"never-{tools[0]}", points=points, layer="params"),
        kind="forbid",
        text=text or f"Called {_call_text(tools, arguments)}, which is forbidden here.",
    )


def forbid_guessed_ids(*, points: int | None = None) -> Criterion:
    """Forbid acting on guessed ids: a call that writes may name only ids that the agent was given or shown before."""

    def check(evidence: Evidence) -> Verdict:
        event = evidence.event
        if not event.guessed and evidence.given.issuperset(event.named):
            return UNMET
        unknown = sorted((set(event.named) - evidence.known_ids()).union(event.guessed))
        return Verdict(met=True, reason=f"{event.tool} names {', '.join(unknown)} unseen") if unknown else UNMET

    return Criterion(
        id=UNGROUNDED_ID,
        text="Acted on a record that it had not been shown.",
        check=check,
        kind="forbid",
        points=points,
        layer="params",
        about="event",
        calls="writes",
    )


def _knew(evidence: Evidence) -> bool:
    """Whether the agent could know every id that the latest call names."""
    return evidence.knew(evidence.event)


def _carries(event: ToolEvent, arguments: Mapping[str, Json]) -> bool:
    return all(n in event.arguments and same(event.arguments[n], v) for n, v in arguments.items())


def _call_text(tools: Sequence[str], arguments: Mapping[str, Json]) -> str:
    return f"{' or '.join(tools)}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})"


def _words(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {_alternatives(value)}" for name, value in values.items()) or "any values"


def _alternatives(value: object) -> str:
    if isinstance(value, frozenset):
        return " or ".join(sorted(map(_alternatives, cast("frozenset[object]", value))))
    if isinstance(value, list | tuple) and any(isinstance(item, Close) for item in cast("Sequence[object]", value)):
        return f"[{', '.join(map(_alternatives, cast('Sequence[object]', value)))}]"
    return f"{len(value)} bytes" if isinstance(value, bytes) else f"{value}"
