"""Another record is acted on, given as the reason, or taken for its neighbour.

A write names the rows that it acts on, and may name others that it only records: the section of the handbook and the
evidence that a case is closed under. Another row in the place of the first kind is the wrong entity, in the place of
the second the wrong reason. Neighbours are rows of the same customer, order or case: the mistake that is close by.
"""

from collections.abc import Iterator, Sequence

from palaestra.proof.arguments import ArgumentPlace, places, with_value
from palaestra.proof.trial import OracleStep, Trial
from palaestra.proof.variants import MutantKind, SolutionVariant, format_call, replace_call, variant
from palaestra.records import Row
from palaestra.seeding import Stream

NEIGHBOURS = 4
"""How many neighbours are tried for each id."""


def entity(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """Other rows in the place of those acted on: two that the agent has seen, and one that it has not."""
    for position, step, place in _ids(trial):
        if not _is_reason(step, place):
            others = _others(trial, place, stream, seen=2, unseen=1)
            yield from _with_others("entity", trial, position, place, others)


def reason(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """Other records in the place of those given as reasons: five that the agent has seen, and one that it has not."""
    for position, step, place in _ids(trial):
        if _is_reason(step, place):
            others = _others(trial, place, stream, seen=5, unseen=1)
            yield from _with_others("reason", trial, position, place, others)


def neighbour(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """Rows that point where the right one points."""
    for position, _, place in _ids(trial):
        near = stream.sample(_neighbours(trial, str(place.value)), NEIGHBOURS)
        yield from _with_others("neighbour", trial, position, place, near)


def _with_others(
    kind: MutantKind, trial: Trial, position: int, place: ArgumentPlace, others: Sequence[str]
) -> Iterator[SolutionVariant]:
    call = trial.calls[position]
    for other in others:
        calls = replace_call(trial.calls, position, with_value(call, place.path, other))
        yield variant(kind, f"{place.name}={other} in {format_call(call)}", calls)


def _ids(trial: Trial) -> Iterator[tuple[int, OracleStep, ArgumentPlace]]:
    """Every id that a write of the oracle's names."""
    for position, step in enumerate(trial.steps):
        if trial.writes(step):
            for place in places(step.call, trial.toolbox[step.call.tool], trial.directory):
                if place.table is not None and isinstance(place.value, str):
                    yield position, step, place


def _is_reason(step: OracleStep, place: ArgumentPlace) -> bool:
    """Whether a write that changes a row which it names also names this one, and leaves it alone."""
    changed = {change.key for change in step.changes}
    return place.value not in changed and not changed.isdisjoint(step.event.named)


def _others(trial: Trial, place: ArgumentPlace, stream: Stream, *, seen: int, unseen: int) -> list[str]:
    met = {i for step in trial.steps for i in step.event.mentioned}
    ids = [i for i in trial.directory.ids(place.table or "") if i != place.value]
    near = [i for i in ids if i in met]
    far = [i for i in ids if i not in met]
    return [*stream.sample(near, seen), *(stream.choice(far) for _ in range(unseen) if far)]


def _neighbours(trial: Trial, key: str) -> list[str]:
    """The rows of the table of `key` that share a reference with it, such as the other lines of its order."""
    table = trial.directory.table_of(key)
    if table is None:
        return []
    info = trial.instance.world.schema[table]
    row: Row | None = trial.instance.initial_state.peek(info.kind, key)
    if row is None:
        return []
    shared = {column: getattr(row, column) for column in info.references if getattr(row, column) is not None}
    found = [
        r.id for name, value in shared.items() for r in trial.instance.initial_state.find(info.kind, **{name: value})
    ]
    return sorted(set(found) - {key})
