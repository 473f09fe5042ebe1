"""An argument is changed: a sum, a choice, a date, a value of the answer; never an id, never prose."""

from collections.abc import Iterator, Mapping, Sequence

from palaestra.proof.arguments import ArgumentPlace, choices, places, with_value
from palaestra.proof.knowledge import words
from palaestra.proof.trial import ENDINGS, Trial
from palaestra.proof.variants import SolutionVariant, format_call, replace_call, variant
from palaestra.records import Json
from palaestra.seeding import Stream


def argument(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """Near values and seen ones in the place of each that a write or the end carries."""
    numbers = sorted({int(w) for step in trial.steps for w in words(step.observation) if w.isdigit() and len(w) < 9})
    for position, step in enumerate(trial.steps):
        tool = trial.toolbox[step.call.tool]
        if not trial.writes(step) and tool.name not in ENDINGS:
            continue
        found = [p for p in places(step.call, tool, trial.directory) if not p.table and not p.prose]
        changes = [(p, other) for p in found for other in _others(p, numbers, stream)]
        changes += [
            (_top(name, value), other) for name, value in step.call.arguments.items() for other in _reshape(value)
        ]
        for place, other in changes:
            call = with_value(step.call, place.path, other)
            if tool.fits(call.arguments):
                what = f"{place.name}={other!r} in {format_call(step.call)}"
                yield variant("argument", what, replace_call(trial.calls, position, call))


def _top(name: str, value: Json) -> ArgumentPlace:
    return ArgumentPlace(path=(name,), value=value, table=None, prose=False, money=False, authored=False, schema={})


def _others(place: ArgumentPlace, numbers: Sequence[int], stream: Stream) -> list[Json]:
    value, schema = place.value, place.schema
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        near = [value + 1, value - 1, value * 2, *stream.sample(numbers, 3)]
        return [other for other in dict.fromkeys(near) if other != value]
    if isinstance(value, float):
        return [other for other in (value * 2 + 1, -value - 1) if other != value]
    if isinstance(value, str):
        options: list[Json] = [v for v in choices(schema) if v != value]
        return options or [value + "x", value[::-1] if value != value[::-1] else value + " "]
    return []


def _reshape(value: Json) -> list[Json]:
    """An object with a value besides, and without each of those that it has."""
    if not isinstance(value, Mapping):
        return []
    return [{**value, "note": "everything is fine"}, *({k: v for k, v in value.items() if k != n} for n in value)]
