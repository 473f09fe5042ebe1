"""Wrong work: the oracle's calls with one thing broken. A rubric that accepts one of these can be hacked.

Six kinds. A needed call is dropped; an argument is changed; another entity is acted on; something more is written; a
write is undone; something is done before what had to come first. Only variants that are really wrong are made: a
dropped read counts where what it showed could not be known otherwise, an extra write where it leaves rows that the
oracle does not and the task does not permit, and a value that the rubric lists as equally right is not a change.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from datetime import datetime

from palaestra.benchmarks.proof.knowledge import needed_reads, words
from palaestra.benchmarks.proof.trial import Trial
from palaestra.benchmarks.proof.variants import Variant, inserted, moved, replaced, variant, written
from palaestra.records import ANY_TABLE, Json, JsonSchema, RowChange, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import Tool, legal_call

EXTRA_WRITES = 6
"""How many extra writes are tried for each task, besides repeating each of the oracle's own."""
ENDINGS = frozenset({"finish", "give_up"})


def mutants(trial: Trial) -> Iterator[Variant]:
    """Every mutant of one task, the same ones each time."""
    stream = Stream.root("mutants", trial.instance.spec.id)
    yield from _dropped(trial)
    yield from _arguments(trial, stream.split("argument"))
    yield from _entities(trial, stream.split("entity"))
    yield from _extra(trial, stream.split("extra"))
    yield from _undone(trial)
    yield from _order(trial)


def _dropped(trial: Trial) -> Iterator[Variant]:
    toolbox = trial.instance.world.toolbox
    # Work, and the facts that an expert wants to have been looked up; then whatever those could not do without.
    needed = frozenset(i for i, step in enumerate(trial.steps) if toolbox[step.call.tool].writes or step.met)
    needed |= needed_reads(trial.steps, needed, words(trial.instance.messages))
    for position in sorted(needed):
        call = trial.calls[position]
        if call.tool not in ENDINGS:
            yield variant("dropped", f"without {written(call)}", replaced(trial.calls, position))


def _arguments(trial: Trial, stream: Stream) -> Iterator[Variant]:
    numbers = sorted({int(w) for step in trial.steps for w in words(step.observation) if w.isdigit() and len(w) < 9})
    for position, step in enumerate(trial.steps):
        tool = trial.instance.world.toolbox[step.call.tool]
        if not tool.writes and step.call.tool not in ENDINGS:
            continue
        for name, value in step.call.arguments.items():
            if name in tool.references or name in tool.prose:
                continue
            schema = tool.parameters["properties"][name]
            for other in _other_values(value, schema, numbers, stream):
                changed = replace(step.call, arguments={**step.call.arguments, name: other})
                if tool.fits(changed.arguments) and not _equally_right(trial, value, other):
                    yield variant(
                        "argument",
                        f"{name}={other!r} in {written(step.call)}",
                        replaced(trial.calls, position, changed),
                    )


def _other_values(value: Json, schema: JsonSchema, numbers: list[int], stream: Stream) -> list[Json]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        near = [value + 1, value - 1, value * 2, *stream.sample(numbers, 3)]
        return [other for other in dict.fromkeys(near) if other != value]
    if isinstance(value, str):
        options: list[Json] = [v for v in schema.get("enum", []) if v != value]
        return options or [value + "x", value[::-1] if value != value[::-1] else value + " "]
    if isinstance(value, Mapping):
        fields = dict(value)
        others: list[Json] = [{**fields, "note": "everything is fine"}]
        for name, inner in fields.items():
            others += [{**fields, name: other} for other in _other_values(inner, {}, numbers, stream)]
            others.append({k: v for k, v in fields.items() if k != name})
        return others
    return []


def _equally_right(trial: Trial, value: Json, other: Json) -> bool:
    """Whether the rubric lists both values as right in the same place."""
    return any(
        isinstance(wanted, frozenset) and value in wanted and other in wanted
        for criterion in trial.instance.rubric.criteria
        for allowance in criterion.allows
        for _, wanted in allowance.values
    )


def _entities(trial: Trial, stream: Stream) -> Iterator[Variant]:
    seen = {i for step in trial.steps for i in step.event.mentioned}
    for position, step in enumerate(trial.steps):
        tool = trial.instance.world.toolbox[step.call.tool]
        if not tool.writes:
            continue
        for name, table in tool.references.items():
            value = step.call.arguments.get(name)
            if not isinstance(value, str):
                continue
            for other in _other_ids(trial, table, value, seen, stream):
                if _equally_right(trial, value, other):
                    continue
                changed = replace(step.call, arguments={**step.call.arguments, name: other})
                what = f"{name}={other} in {written(step.call)}"
                yield variant("entity", what, replaced(trial.calls, position, changed))


def _other_ids(trial: Trial, table: str, value: str, seen: set[str], stream: Stream) -> list[str]:
    """Other rows of the same table: two that the agent has seen, where there are, and one that it has not."""
    schema = trial.instance.world.schema
    kinds = [info.kind for info in schema] if table == ANY_TABLE else [schema[table].kind]
    ids = [row.id for kind in kinds for row in trial.instance.settled.find(kind) if row.id != value]
    near = [i for i in ids if i in seen]
    far = [i for i in ids if i not in seen]
    return [*stream.sample(near, 2), *stream.sample(far, 1)]


def _extra(trial: Trial, stream: Stream) -> Iterator[Variant]:
    world = trial.instance.world
    end = len(trial.calls) - 1
    tools = [t for t in world.toolbox.offered(world.role) if t.writes]
    tries = [legal_call(tools, lambda table: _ids(trial, table), stream) for _ in range(4 * EXTRA_WRITES)]
    tries += _near_writes(trial, tools, stream)
    again = [step.call for step in trial.steps if world.toolbox[step.call.tool].writes]
    made = 0
    for call in [*again, *tries]:
        if made >= EXTRA_WRITES + len(again):
            return
        calls = inserted(trial.calls, end, call)
        if _leaves_other_rows(trial, calls):
            made += 1
            yield variant("extra", f"and also {written(call)}", calls)


def _near_writes(trial: Trial, tools: list[Tool], stream: Stream) -> list[ToolCall]:
    """Writes to rows that the oracle has seen: the harm that is close at hand."""
    seen = sorted({i for step in trial.steps for i in step.event.mentioned} | set(trial.instance.given))

    def near(table: str) -> list[str]:
        ids = set(_ids(trial, table))
        return [i for i in seen if i in ids] or sorted(ids)[:1]

    return [legal_call(tools, near, stream) for _ in range(4 * EXTRA_WRITES)]


def _ids(trial: Trial, table: str) -> list[str]:
    schema = trial.instance.world.schema
    kinds = [info.kind for info in schema] if table == ANY_TABLE else [schema[table].kind]
    return [row.id for kind in kinds for row in trial.instance.settled.find(kind)]


def _leaves_other_rows(trial: Trial, calls: list[ToolCall]) -> bool:
    """Whether `calls` leave rows that the oracle does not, and that the task does not permit either."""
    meant = net(trial.outcome.changes)
    left = [change for change in trial.play_calls(calls).changes if not net((change,)) <= meant]
    return any(not any(a.covers(change) for a in trial.instance.permitted) for change in left)


def net(changes: tuple[RowChange, ...]) -> frozenset[tuple[str, str, frozenset[tuple[str, object]]]]:
    """A net difference without its times: what is different about which rows."""
    return frozenset((change.table, change.key, frozenset(_timeless(change))) for change in changes)


def _timeless(change: RowChange) -> Iterator[tuple[str, object]]:
    if change.after is not None:
        for column in fields(change.after):
            value = getattr(change.after, column.name)
            if not isinstance(value, datetime):
                yield column.name, value


def _undone(trial: Trial) -> Iterator[Variant]:
    for position, step in enumerate(trial.steps):
        for call in _undoing(trial, step.call, step.changes):
            calls = inserted(trial.calls, position + 1, call)
            outcome = trial.play_calls(calls)
            ran = len(outcome.events) > position + 1 and outcome.events[position + 1].written
            if ran and net(outcome.changes) != net(trial.outcome.changes):
                yield variant("undone", f"{written(step.call)}, then {written(call)}", calls)


def _undoing(trial: Trial, call: ToolCall, changes: tuple[RowChange, ...]) -> Iterator[ToolCall]:
    """Calls that may take a write back: the same with the values of before, or a tool that needs only the row's id."""
    back = {
        str(getattr(c.after, n)): getattr(c.before, n)
        for c in changes
        if c.before and c.after
        for n in type(c.after).__dataclass_fields__
        if getattr(c.before, n) != getattr(c.after, n)
    }
    former = {name: back.get(str(value), value) for name, value in call.arguments.items()}
    if former != dict(call.arguments):
        yield replace(call, arguments=former)
    for tool in trial.instance.world.toolbox.offered(trial.instance.world.role):
        if (
            not tool.writes
            or set(tool.parameters.get("required", ())) != set(tool.references)
            or len(tool.references) != 1
        ):
            continue
        [(name, table)] = tool.references.items()
        for change in changes:
            if change.table == table and tool.name != call.tool:
                yield ToolCall(tool=tool.name, arguments={name: change.key})


def _unread(trial: Trial, origin: int, target: int) -> Variant:
    """The look-up at `target` made in the same turn as the work at `origin`, so that its answer was not read."""
    rest: list[tuple[ToolCall, ...]] = [(call,) for call in trial.calls]
    rest[origin] = (trial.calls[target], trial.calls[origin])
    what = f"{written(trial.calls[origin])} in the turn of {written(trial.calls[target])}"
    return Variant(kind="order", what=what, turns=tuple(rest[:target] + rest[target + 1 :]))


def _order(trial: Trial) -> Iterator[Variant]:
    """What had to come first, done after: for each dependency, the later call is moved before the earlier one."""
    done_at = {criterion: position for position, step in enumerate(trial.steps) for criterion in step.met}
    made: set[tuple[int, int]] = set()
    for criterion in trial.instance.rubric.criteria:
        for first in criterion.after:
            origin, target = done_at.get(criterion.id, -1), done_at.get(first, -1)
            if 0 <= target < origin and (origin, target) not in made and trial.calls[origin].tool not in ENDINGS:
                made.add((origin, target))
                what = f"{written(trial.calls[origin])} before {written(trial.calls[target])}"
                yield variant("order", what, moved(trial.calls, origin, target))
                if not trial.steps[target].event.written:
                    yield _unread(trial, origin, target)
