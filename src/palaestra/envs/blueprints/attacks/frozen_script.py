"""A script made without thought from one `train` task of a request and its refusal twin, and played on others.

It makes the calls of the two solutions. An argument comes from where its value stood in those two episodes: from the
words of the request, by a pattern, or from a field of an earlier answer. Numbers of the handbook stay what they were.
Whether it grants or refuses depends on the first field that differed between the two episodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import TypeAlias

from palaestra.envs.attack import WorldScript
from palaestra.envs.blueprints.attacks.halves import base_family, instance_of
from palaestra.envs.blueprints.attacks.notations import Meaning, read_value
from palaestra.envs.blueprints.attacks.sources import (
    REQUEST,
    VALUE,
    ConstantSource,
    FieldSource,
    HeardEpisode,
    Source,
    find_sources,
    leaves,
    write_from,
)
from palaestra.envs.episode import LiveEpisode
from palaestra.envs.instance import Instance
from palaestra.envs.task import FIRST_INDEX
from palaestra.envs.world import World
from palaestra.errors import TaskError
from palaestra.records import Json, ToolCall

TRAINED_ON = FIRST_INDEX["train"]
"""The index of the tasks that the script is made from."""

Part: TypeAlias = tuple[Source, Json]
"""A source, and the value that it was found for."""
Filler: TypeAlias = "Part | list[Filler] | dict[str, Filler] | TextFiller"


@dataclass(frozen=True, slots=True)
class TextFiller:
    """A text with values in it."""

    parts: Sequence["str | Part"]


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """A call whose arguments are filled in when it is made."""

    tool: str
    arguments: dict[str, Filler]

    def make(self, heard: HeardEpisode) -> ToolCall:
        """The call.

        Raises:
            LookupError: a value does not stand where it stood in training.
        """
        return ToolCall(tool=self.tool, arguments={name: _fill(one, heard) for name, one in self.arguments.items()})


@dataclass(frozen=True, slots=True)
class DecidingFact:
    """The field that differed between the granted and the refused episode."""

    source: FieldSource
    granted: Meaning
    """Its value there; days are counted from the day of the episode. `None` where there was no such field."""
    refused: Meaning

    def refuses(self, heard: HeardEpisode, today: date) -> bool:
        """Whether the field is rather as in the refused episode."""
        value = _value_at(self.source, heard, today)
        numbers = [one for one in (value, self.granted, self.refused) if type(one) is int]
        if len(numbers) == 3:
            return abs(numbers[0] - numbers[2]) < abs(numbers[0] - numbers[1]) or _is_past(*numbers)
        if self.granted is None:
            return value is not None
        return value == self.refused


@dataclass(frozen=True, slots=True)
class FrozenScript:
    """The calls up to the decision, and those of each decision."""

    shared: Sequence[ScriptStep]
    fact: DecidingFact | None
    granted: Sequence[ScriptStep]
    refused: Sequence[ScriptStep]


@dataclass(frozen=True, slots=True)
class _Recording:
    task: Instance
    calls: Sequence[ToolCall]
    heard: HeardEpisode


def play_frozen_script(task: Instance) -> WorldScript:
    """Play the script of the task's request; no call in the tasks that it was made from."""
    if int(task.spec.id.rpartition("/")[2]) == TRAINED_ON:
        return
    script = frozen_script(task.world, base_family(task).id)
    if script is None:
        return
    heard = HeardEpisode({REQUEST: task.messages[-1]["content"]})
    try:
        for step in script.shared:
            heard.hear((yield [step.make(heard)]))
        refuses = script.fact is not None and script.fact.refuses(heard, task.start.date())
        for step in script.refused if refuses else script.granted:
            heard.hear((yield [step.make(heard)]))
    except LookupError:
        return


@lru_cache(maxsize=256)
def frozen_script(world: World, family: str) -> FrozenScript | None:
    """The script of a request; `None` where its family has no twin or no task of this index."""
    base = next(one for one in world.families if not isinstance(one, str) and one.id == family)
    if not base.twin:
        return None
    try:
        granted, refused = (_record(instance_of(world, one, TRAINED_ON)) for one in (base, base.twins()))
    except TaskError:
        return None
    equal = 0
    for mine, theirs in zip(granted.calls, refused.calls, strict=False):
        if mine != theirs:
            break
        equal += 1
    return FrozenScript(
        shared=[_step(number, [granted, refused]) for number in range(equal)],
        fact=_deciding_fact(granted, refused, equal),
        granted=[_step(number, [granted]) for number in range(equal, len(granted.calls))],
        refused=[_step(number, [refused]) for number in range(equal, len(refused.calls))],
    )


def _record(task: Instance) -> _Recording:
    """The solution of a task and what was answered."""
    episode = LiveEpisode(task, seed=0, max_turns=task.spec.max_turns, toolbox=task.world.toolbox)
    heard = HeardEpisode({REQUEST: task.messages[-1]["content"]})
    for call in task.oracle:
        episode.begin_turn()
        answer = tuple(episode.run((call,)))
        episode.close_turn(answer, readable=True)
        heard.hear(answer)
    return _Recording(task, task.oracle, heard)


def _deciding_fact(granted: _Recording, refused: _Recording, equal: int) -> DecidingFact | None:
    """The first field of the answers to equal calls that differs."""
    for number in range(equal):
        mine, theirs = (dict(leaves(one.heard.answers[number])) for one in (granted, refused))
        for path in {**mine, **theirs}:
            if path not in mine or path not in theirs or mine[path] != theirs[path]:
                source = FieldSource(number, path)
                values = [_value_at(source, one.heard, one.task.start.date()) for one in (granted, refused)]
                return DecidingFact(source, *values)
    return None


def _value_at(source: FieldSource, heard: HeardEpisode, today: date) -> Meaning:
    try:
        value = source.read(heard)
    except LookupError:
        return None
    return (today - value).days if isinstance(value, date) else value


def _is_past(value: int, granted: int, refused: int) -> bool:
    """Whether a value is on the far side of the refused one."""
    return value >= refused > granted or value <= refused < granted


def _step(number: int, episodes: Sequence[_Recording]) -> ScriptStep:
    """A call of the solutions, its values by where they stood in all of them."""
    call = episodes[0].calls[number]
    known = [HeardEpisode(_said_before(one.heard, number), one.heard.answers[:number]) for one in episodes]
    return ScriptStep(call.tool, {name: _filler(value, known) for name, value in call.arguments.items()})


def _said_before(heard: HeardEpisode, number: int) -> dict[int, str]:
    return {place: text for place, text in heard.texts.items() if place < number}


def _filler(value: Json, known: Sequence[HeardEpisode]) -> Filler:
    if isinstance(value, list):
        return [_filler(one, known) for one in value]
    if isinstance(value, dict):
        return {name: _filler(one, known) for name, one in value.items()}
    if isinstance(value, str) and " " in value and read_value(value) == value:
        return _text_filler(value, known)
    return _part(value, known)


def _text_filler(text: str, known: Sequence[HeardEpisode]) -> TextFiller:
    parts, end = list[str | Part](), 0
    for found in VALUE.finditer(text):
        parts += [text[end : found.start()], _part(found[0], known)]
        end = found.end()
    return TextFiller([*parts, text[end:]])


def _part(value: Json, known: Sequence[HeardEpisode]) -> Part:
    found = [list(find_sources(value, heard)) for heard in known]
    common = [one for one in found[0] if all(one in other for other in found[1:])]
    return next(iter(common or found[0]), ConstantSource(read_value(value))), value


def _fill(filler: Filler, heard: HeardEpisode) -> Json:
    if isinstance(filler, TextFiller):
        return "".join(one if isinstance(one, str) else str(write_from(one[0], heard, one[1])) for one in filler.parts)
    if isinstance(filler, list):
        return [_fill(one, heard) for one in filler]
    if isinstance(filler, dict):
        return {name: _fill(one, heard) for name, one in filler.items()}
    source, model = filler
    return write_from(source, heard, model)
