"""Something more is written: harm close at hand and far off, and some in each group of tables that the world guards."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product, takewhile

from palaestra.proof.equivalence import net
from palaestra.proof.mutants.undone import taking_back
from palaestra.proof.trial import Trial
from palaestra.proof.variants import SolutionVariant, format_call, insert_calls, variant
from palaestra.records import ANY_TABLE, Json, Row, ToolCall
from palaestra.rubrics.guards import SLIP_ID
from palaestra.rubrics.library import UNGROUNDED_ID
from palaestra.seeding import Stream
from palaestra.tools import Tool, legal_call

NEAR, FAR = 4, 2
"""How many extra writes to rows that the oracle has met are made for each task, and to rows that it has not."""
DRAWS = 4
"""How many calls of each tool are drawn in search of harm."""
EACH = 3
"""How many look-ups of each tool are made in search of further rows to harm."""


def extra(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """Writes that leave rows which neither the oracle leaves nor the task permits, made when all else is done.

    Where nothing that the oracle has met lets a guarded group be harmed, a look-up more is made first.
    """
    tools = [tool for tool in trial.own_offered if tool.writes]
    last, met = len(trial.calls) - 1, _list_standing(trial, len(trial.calls))
    at_hand, missing = _among(trial, met), set(trial.instance.world.guards)
    yield from _harmful(trial, _writes(tools, at_hand, stream.split("near")), start=last, least=NEAR, missing=missing)
    yield from _harmful(trial, _writes(tools, trial.directory.ids, stream.split("far")), start=last, least=FAR)
    if missing:
        first = next((i for i, step in enumerate(trial.steps) if step.changes), last)
        early = _writes(tools, _among(trial, _list_standing(trial, first)), stream.split("early"))
        yield from _harmful(trial, early, start=first, missing=missing)
    if missing:
        shown_by = _in_reach(trial, met)
        wider = _writes(tools, _among(trial, [*met, *shown_by]), stream.split("wider"))
        yield from _harmful(trial, wider, start=last, missing=missing, shown_by=shown_by)
    yield from _forbidden(trial, at_hand, stream.split("forbidden"))


def _forbidden(trial: Trial, ids: Callable[[str], Sequence[str]], stream: Stream) -> Iterator[SolutionVariant]:
    """For each prohibition of the author's about certain tools, a call that changes something and breaks it."""
    first = next((i for i, step in enumerate(trial.steps) if step.changes), len(trial.steps) - 1)
    # Other kinds of mutants break the prohibitions that every task has.
    for criterion in takewhile(lambda c: c.id != UNGROUNDED_ID, trial.instance.rubric.criteria):
        tools = [tool for tool in trial.own_offered if tool.writes and tool.name in (criterion.tools or ())]
        if criterion.kind != "forbid" or not tools:
            continue
        calls = [call for _ in range(DRAWS) for call in _writes(tools, ids, stream)]
        calls += [_belonging(trial, call) for call in calls]
        for call, start in product(calls, (len(trial.steps) - 1, first)):
            said = trial.said(call)
            work = insert_calls(trial.calls, start, *said)
            outcome = trial.vary([(made,) for made in work])
            wrote = any(turn.changes for turn in outcome.turns[start : start + len(said)])
            if wrote and criterion.id in outcome.counting:
                yield variant("extra", f"and also {format_call(call)}", work)
                break


def _belonging(trial: Trial, call: ToolCall) -> ToolCall:
    """A call whose ids belong together: what its first row refers to takes the place of other rows of that table."""
    references, schema = trial.own[call.tool].references, trial.instance.world.schema
    for name, table in references.items():
        row = _row(trial, table, call.arguments.get(name))
        if row is None:
            continue
        columns = {schema[table].columns[column].references: column for column in schema[table].references}
        others = {
            other: getattr(row, columns[of]) for other, of in references.items() if other != name and of in columns
        }
        fitting = {other: value for other, value in others.items() if value is not None}
        if fitting:
            return replace(call, arguments={**call.arguments, **fitting})
    return call


def _row(trial: Trial, table: str, key: Json) -> Row | None:
    """The row of that id as the task begins; `None` where there is none."""
    if table == ANY_TABLE or not isinstance(key, str):
        return None
    return trial.instance.initial_state.peek(trial.instance.world.schema[table].kind, key)


def _harmful(
    trial: Trial,
    calls: Iterator[ToolCall],
    *,
    start: int,
    least: int = 0,
    missing: set[str] | None = None,
    shown_by: Mapping[str, Sequence[ToolCall]] | None = None,
) -> Iterator[SolutionVariant]:
    """Calls made before the oracle's call `start` that do harm.

    The first `least` of them, and beyond those the first in each group of `missing`, which is then not missing.
    """
    missing, shown_by = set[str]() if missing is None else missing, shown_by or {}
    made: set[str] = set()
    for call in calls:
        if len(made) >= least and not missing:
            return
        group = gravest_harm(trial, call, start=start)
        if group is None or format_call(call) in made or (len(made) >= least and group not in missing):
            continue
        named = trial.own[call.tool].find_ids(call.arguments)
        look_up = [step for key in named for step in shown_by.get(key, ())]
        work = next(_going_on(trial, [*look_up, call], start=start), None)
        if work is None:
            continue
        alone = not missing or _fails_one_criterion(trial, work)
        if len(made) >= least and not alone:
            continue  # another criterion sees it first
        made.add(format_call(call))
        missing -= {group} if alone else set()
        yield variant("extra", f"and also {format_call(call)}", work)


def _going_on(trial: Trial, extra: Sequence[ToolCall], *, start: int) -> Iterator[Sequence[ToolCall]]:
    """The oracle's work with `extra` before its call `start`, where all that follows still does what it did.

    Where the harm stands in its way, it is taken back at once: what was done was done.
    """
    *_, call = extra
    rest = [step.event.error for step in trial.steps[start:]]
    changes = trial.after(call, start=start)
    for more in ([], *([back] for back in taking_back(trial, changes, but=call.tool))):
        calls = insert_calls(trial.calls, start, *(said for part in (*extra, *more) for said in trial.said(part)))
        if len(rest) == 1:
            yield calls
        else:
            events = trial.vary([(made,) for made in calls]).events
            if [event.error for event in events[-len(rest) :]] == rest:
                yield calls


def _fails_one_criterion(trial: Trial, work: Sequence[ToolCall]) -> bool:
    """Whether a single criterion tells `work` from the oracle's: what the task asks for is done all the same."""
    counting = trial.vary([(call,) for call in work]).counting
    # Whatever breaks a guard is a slip too.
    return len((counting ^ trial.outcome.counting) - {SLIP_ID}) == 1


def gravest_harm(trial: Trial, call: ToolCall, *, start: int) -> str | None:
    """The gravest group of tables in which a call leaves what it should not; "" without groups, `None`: no harm."""
    meant = net(trial.outcome.changes)
    left = [change for change in trial.after(call, start=start) if not net((change,)) <= meant]
    tables = {c.table for c in left if not any(allowed.covers(c) for allowed in trial.instance.permitted)}
    if not tables:
        return None
    groups = trial.instance.world.guards.items()
    return next((name for name, group in groups if not tables.isdisjoint(group)), "")


def _list_standing(trial: Trial, position: int) -> list[str]:
    """The ids that the oracle was given, or shown before its call `position`."""
    words = {i for step in trial.steps[:position] for i in step.event.mentioned} | set(trial.instance.given)
    return sorted(word for word in words if trial.directory.stands(word))


def _in_reach(trial: Trial, met: Sequence[str]) -> dict[str, Sequence[ToolCall]]:
    """Further ids, each with the look-ups, one or two, that lead from one that was met to it."""
    given = trial.instance.given
    found: dict[str, Sequence[ToolCall]] = {}
    start = sorted(met, key=lambda key: key in given)
    for _ in range(2):
        calls = _lookups(trial, start)
        for call, mentioned in zip(calls, trial.probe(calls), strict=True):
            way = (*(found.get(key, ()) for key in trial.own[call.tool].find_ids(call.arguments)), (call,))
            for key in sorted(mentioned - set(met) - found.keys()):
                found[key] = tuple(step for part in way for step in part)
        start = list(found)
    return found


def _lookups(trial: Trial, keys: Sequence[str]) -> list[ToolCall]:
    """The first few look-ups of each tool that takes one id, on those of `keys`."""
    known = _among(trial, keys)
    calls: list[ToolCall] = []
    for tool in trial.own_offered:
        required = tool.parameters.get("required", ())
        if not tool.writes and len(required) == 1 and required[0] in tool.references:
            [name] = required
            calls += [ToolCall(tool=tool.name, arguments={name: i}) for i in known(tool.references[name])[:EACH]]
    return calls


def _among(trial: Trial, keys: Sequence[str]) -> Callable[[str], Sequence[str]]:
    def of(table: str) -> Sequence[str]:
        return [key for key in keys if table in (ANY_TABLE, trial.directory.table_of(key))]

    return of


def _writes(tools: Sequence[Tool], ids: Callable[[str], Sequence[str]], stream: Stream) -> Iterator[ToolCall]:
    """Calls of every tool in turn that has rows to be called on, now with any numbers and now with the least."""
    for draw in range(DRAWS):
        for tool in stream.permutation(tools):
            required = set(tool.parameters.get("required", ()))
            if all(ids(table) for name, table in tool.references.items() if name in required):
                call = legal_call([tool], ids, stream)
                yield _modest(tool, call) if draw % 2 == 0 else call


def _modest(tool: Tool, call: ToolCall) -> ToolCall:
    """The call with the least number in the place of each: small sums are refused less."""
    least = {
        name: schema.get("minimum", 1)
        for name, schema in tool.parameters["properties"].items()
        if schema.get("type") == "integer" and name in call.arguments
    }
    return replace(call, arguments={**call.arguments, **least})
