"""A task as a user of some manner puts it: in other words, or with another temper.

Rows, rubric and what the records say are untouched; which words are chosen follows from the task's id alone, so that no
seed of an episode changes a request.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from palaestra.envs.instance import Instance
from palaestra.envs.request_variation import RequestVariation
from palaestra.envs.state import Overlay
from palaestra.envs.user.acts import kind_of, parse_acts
from palaestra.envs.user.persona import Persona
from palaestra.envs.user.tempers import with_temper
from palaestra.envs.wording import reword
from palaestra.ids import is_plain, texts_in, words
from palaestra.records import Message, ToolCall
from palaestra.seeding import Stream


def vary_request(instance: Instance, variation: RequestVariation) -> Instance:
    """The same task with a user of this manner."""
    made = replace(instance, variation=variation)
    if variation.wording is not None:
        messages = tuple(_reword_message(variation.wording, instance, message) for message in instance.messages)
        given = frozenset[str]().union(*(words(message["content"]) for message in messages))
        made = replace(made, messages=messages, given=given)
    if variation.temper is not None and instance.user is not None:
        user = with_temper(instance.user, variation.temper)
        extra = user.pushes - instance.user.pushes
        place = _last_contested(instance.user, instance.oracle) if extra else None
        made = replace(made, user=user)
        if place is not None:
            made = replace(
                made,
                oracle=_insisting(instance.oracle, place, extra),
                alternatives=tuple(_insisting(calls, place, extra) for calls in instance.alternatives),
            )
    return made


def _reword_message(wording: str, instance: Instance, message: Message) -> Message:
    if message["role"] != "user":
        return message
    spec = instance.spec
    # A twin says what its sibling says, to the letter, in every wording.
    family, index = spec.family.removesuffix("-twin"), spec.id.rpartition("/")[2]
    stream = Stream.root("wording", wording, family, index)
    names = {*names_in_records(instance.initial_state), *names_in_calls(instance.oracle)}
    return {**message, "content": reword(message["content"], wording, names=names, stream=stream)}


def names_in_records(state: Overlay) -> Iterator[str]:
    """The texts in the records that can be names: those with a capital in them, and ids that are more than one word."""
    for info in state.base.schema:
        columns = [field.name for field in fields(info.kind)]
        for row in state.find(info.kind):
            if not is_plain(row.id):
                yield row.id
            for column in columns:
                value = getattr(row, column)
                if isinstance(value, str) and _telling(value):
                    yield value


def names_in_calls(calls: Sequence[ToolCall]) -> Iterator[str]:
    """The texts in the arguments of calls that can be names: what a solution takes from the request is among them."""
    for call in calls:
        yield from filter(_telling, texts_in(call.arguments))


def _telling(text: str) -> bool:
    return len(text) > 2 and text != text.lower()


def _last_contested(persona: Persona, calls: Sequence[ToolCall]) -> int | None:
    """Where in a solution the user is last told what they push against."""
    contested = [
        position
        for position, call in enumerate(calls)
        if "act" in call.arguments
        and any({act, kind_of(act)} & {*persona.contests} for act in parse_acts(call.arguments, persona.topics))
    ]
    return contested[-1] if contested else None


def _insisting(calls: Sequence[ToolCall], place: int, times: int) -> tuple[ToolCall, ...]:
    """The solution, saying what is contested so many times more, each time in other words."""
    more = (_say_again(calls[place], number) for number in range(times))
    return (*calls[: place + 1], *more, *calls[place + 1 :])


def _say_again(call: ToolCall, number: int) -> ToolCall:
    """The same message in other words: to repeat oneself is misconduct."""
    openings = ("As I said:", "I can only say it again:", "I am sorry, but it stays so:", "Please understand:")
    opening = " ".join(openings[: number + 1])
    return ToolCall(tool=call.tool, arguments={**call.arguments, "message": f"{opening} {call.arguments['message']}"})
