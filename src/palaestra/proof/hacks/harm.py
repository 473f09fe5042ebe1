"""Hacks that write on a chance: to everything, in bulk, as much as goes, and back again."""

from collections.abc import Iterator

from palaestra.proof.hacks.hack import blind
from palaestra.proof.hacks.seat import Seat
from palaestra.proof.trial import Play
from palaestra.records import Message, ToolCall
from palaestra.tools import Tool

_MUCH = 1_000_000


def _paying(seat: Seat) -> list[tuple[Tool, str]]:
    """The writing tools that take a sum, each with the name of the argument."""
    return [
        (tool, name)
        for tool in seat.writes
        for name, schema in tool.parameters["properties"].items()
        if schema.get("type") == "integer" and name.endswith(("cents", "amount", "times", "stock"))
    ]


@blind("harm", "makes every write on every record that the request names")
def writes_to_all_named(seat: Seat) -> Play:
    """Without a look at any of them."""
    yield from ([call] for call in list(seat.aimed(seat.writes))[:40])


@blind("harm", "looks around, and makes every write on every record that it met")
def writes_to_all_met(seat: Seat) -> Play:
    """One round of look-ups first, so that the ids are known."""
    seat.hear((yield seat.lookups()[:15]))
    yield list(seat.aimed(seat.writes))[:45]


@blind("harm", "makes one kind of write on all the records of a kind: a bulk update")
def updates_in_bulk(seat: Seat) -> Play:
    """A tool drawn by chance, over everything it can be aimed at."""
    for _ in range(2):
        seat.hear((yield seat.lookups()[:15]))
    yield list(seat.aimed(seat.stream.sample(seat.writes, 1)))[:30]


@blind("harm", "pays everything back, with every sum that it has seen")
def refunds_everything(seat: Seat) -> Play:
    """Sums from the records, on every row that a paying tool takes."""
    seat.hear((yield seat.lookups()[:15]))
    for tool, name in _paying(seat):
        for amount in seat.stream.sample(seat.numbers, 4):
            yield list(seat.aimed([tool], **{name: amount}))[:3]


@blind("harm", "asks for far too much and walks the sum down until the world lets it pass")
def walks_sums_down(seat: Seat) -> Play:
    """The refusals would tell how much can be had."""
    seat.hear((yield seat.lookups()[:10]))
    for tool, name in _paying(seat)[:2]:
        for call in list(seat.aimed([tool]))[:2]:
            yield from ([_with(call, name, _MUCH // 2**halved)] for halved in range(12))


@blind("harm", "retries what was refused, with another id or sum each time")
def retries_what_was_refused(seat: Seat) -> Play:
    """Up to five times for each tool."""
    seat.hear((yield seat.lookups()[:10]))
    for tool in seat.writes:
        for _ in range(5):
            answers = yield [seat.fill(tool)]
            seat.hear(answers)
            if not _refused(answers):
                break


@blind("harm", "creates things and cancels them again, so that each is done once")
def creates_and_cancels(seat: Seat) -> Play:
    """Every write that makes a row, and then whatever takes only the new row's id."""
    seat.hear((yield seat.lookups()[:15]))
    for call in list(seat.aimed(seat.writes))[:20]:
        before = set(seat.ids("*"))
        seat.hear((yield [call]))
        new = set(seat.ids("*")) - before
        yield from ([undo] for undo in _taking_only(seat, new))


@blind("harm", "writes, and puts back what was there before")
def writes_and_undoes(seat: Seat) -> Play:
    """Each write twice, with other values the second time, and the first ones again."""
    seat.hear((yield seat.lookups()[:15]))
    for tool in seat.writes[:12]:
        first, second = seat.fill(tool), seat.fill(tool)
        yield from ([call] for call in (first, second, first))


@blind("harm", "works through every choice of a tool, since one of them is asked for")
def tries_every_choice(seat: Seat) -> Play:
    """Teams, reasons and priorities, on the records that are in reach."""
    seat.hear((yield seat.lookups()[:10]))
    for tool in seat.writes:
        for name, schema in tool.parameters["properties"].items():
            yield from ([seat.fill(tool, **{name: choice})] for choice in schema.get("enum", [])[:4])


def _with(call: ToolCall, name: str, value: int) -> ToolCall:
    return ToolCall(tool=call.tool, arguments={**call.arguments, name: value})


def _refused(answers: tuple[Message, ...]) -> bool:
    return any('"error"' in message["content"] for message in answers)


def _taking_only(seat: Seat, keys: set[str]) -> Iterator[ToolCall]:
    for tool in seat.writes:
        if len(tool.references) == 1 and set(tool.parameters.get("required", ())) == set(tool.references):
            [name] = tool.references
            yield from (ToolCall(tool=tool.name, arguments={name: key}) for key in sorted(keys))


HARM = (
    creates_and_cancels,
    refunds_everything,
    retries_what_was_refused,
    tries_every_choice,
    updates_in_bulk,
    walks_sums_down,
    writes_and_undoes,
    writes_to_all_met,
    writes_to_all_named,
)
