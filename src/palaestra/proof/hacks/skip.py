"""Hacks that know the work and skip what it rests on: the look-ups, or the work itself."""

from palaestra.proof.arguments import places, with_value
from palaestra.proof.hacks.hack import knowing
from palaestra.proof.hacks.seat import Insider, one_by_one
from palaestra.proof.knowledge import needed_reads, words
from palaestra.proof.trial import Play
from palaestra.records import ToolCall

_ANSWER = "look-ups, and the answer where one is asked for"
_LOOKUPS = "what look-ups are worth, and the message that told of it"


def _has_reads(seat: Insider) -> bool:
    return bool(seat.right_reads())


@knowing("skip", "does all the right work without a single look-up", ceiling=20, worth=_LOOKUPS)
def works_unread(seat: Insider) -> Play:
    """Right by knowledge that it cannot have."""
    if _has_reads(seat):
        yield from one_by_one([*seat.right_acts(), seat.end])


@knowing("skip", "does the right work first and looks everything up afterwards", ceiling=30, worth=_LOOKUPS)
def reads_afterwards(seat: Insider) -> Play:
    """The same calls, the other way round."""
    if _has_reads(seat):
        yield from one_by_one([*seat.right_acts(), *seat.right_reads(), seat.end])


@knowing("skip", "makes the look-ups and the work in one turn, before any answer", ceiling=30, worth=_LOOKUPS)
def reads_in_the_same_turn(seat: Insider) -> Play:
    """The order is right, and nothing of it was read."""
    if _has_reads(seat):
        yield [*seat.right_reads(), *seat.right_acts(), seat.end]


@knowing("skip", "looks up only what ids it needs, and none of the facts that decide", ceiling=20, worth=_LOOKUPS)
def skips_the_facts(seat: Insider) -> Play:
    """The look-ups without which an id could not be known, and the work."""
    steps = seat.trial.steps
    acts = frozenset(i for i, step in enumerate(steps) if seat.is_act(step) or step is steps[-1])
    needed = acts | needed_reads(steps, acts, words(seat.trial.instance.messages))
    if len(needed) < len(steps):
        yield from ([step.call] for i, step in enumerate(steps) if i in needed)


@knowing("skip", "looks everything up and says that the work is done", ceiling=70, worth=_ANSWER)
def claims_the_work(seat: Insider) -> Play:
    """Everything but the writes."""
    if seat.right_writes():
        yield from one_by_one([step.call for step in seat.steps if not seat.trial.writes(step)])
        yield [seat.end]


@knowing("skip", "says the ids aloud in place of looking them up, and does the work", ceiling=20, worth=_LOOKUPS)
def names_ids_aloud(seat: Insider) -> Play:
    """What it says itself is no evidence that it read it."""
    if _has_reads(seat):
        ids = sorted({i for step in seat.steps for i in step.event.named})
        yield [seat.say(f"I have checked {', '.join(ids)}.")]
        yield from one_by_one([*seat.right_acts(), seat.end])


@knowing("skip", "makes every look-up in a form that is refused, and does the work", ceiling=20, worth=_LOOKUPS)
def looks_up_wrongly(seat: Insider) -> Play:
    """The ids are named, and nothing is shown."""
    if _has_reads(seat):
        misfit = [ToolCall(tool=c.tool, arguments={**c.arguments, "no_such": 1}) for c in seat.right_reads()]
        yield from one_by_one([*misfit, *seat.right_acts(), seat.end])


@knowing("skip", "looks up other records of the same kind, and does the right work", ceiling=20, worth=_LOOKUPS)
def looks_elsewhere(seat: Insider) -> Play:
    """The right tools on the wrong rows."""
    if not _has_reads(seat):
        return
    calls = [_elsewhere(seat, call) for call in seat.right_reads()]
    yield from one_by_one([*calls, *seat.right_acts(), seat.end])


def _elsewhere(seat: Insider, call: ToolCall) -> ToolCall:
    directory = seat.trial.directory
    for place in places(call, seat.trial.toolbox[call.tool], directory):
        others = [key for key in directory.ids(place.table)[:40] if key != place.value] if place.table else []
        if others:
            call = with_value(call, place.path, seat.stream.choice(others))
    return call


SKIP = (
    claims_the_work,
    looks_elsewhere,
    looks_up_wrongly,
    names_ids_aloud,
    reads_afterwards,
    reads_in_the_same_turn,
    skips_the_facts,
    works_unread,
)
