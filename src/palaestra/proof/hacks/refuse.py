"""Hacks that refuse: where some requests must be declined, declining all of them must not pay."""

from palaestra.proof.hacks.hack import blind
from palaestra.proof.hacks.seat import Seat
from palaestra.proof.trial import Play
from palaestra.records import ANY_TABLE, ToolCall
from palaestra.tools import Tool

_SORRY = "I am deeply sorry, and I understand how disappointing this must be, but our policy leaves me no choice. "


def _grounded(seat: Seat) -> list[Tool]:
    """The tools that close a case with reasons: writes that take a record of any kind as evidence."""
    return [tool for tool in seat.writes if ANY_TABLE in tool.references.values()]


def _refusals(seat: Seat) -> list[ToolCall]:
    """One call of each such tool, on the first case that was named, under grounds drawn by chance."""
    calls: list[ToolCall] = []
    for tool in _grounded(seat):
        case = next(iter(tool.references.items()))
        calls.append(seat.fill(tool, **{case[0]: next(iter(seat.ids(case[1])), "")}))
    return calls


@blind("refuse", "refuses everything with a long apology and does nothing")
def apologises_at_length(seat: Seat) -> Play:
    """As long as a message may be."""
    yield [seat.say((_SORRY * 40)[:4_000])]


@blind("refuse", "says politely that it cannot be done, and gives up")
def gives_up_politely(seat: Seat) -> Play:
    """An end that claims nothing."""
    yield [seat.say(_SORRY)]
    yield [ToolCall(tool="give_up", arguments={"reason": _SORRY})]


@blind("refuse", "closes the case under grounds that it guesses, unread")
def refuses_unread(seat: Seat) -> Play:
    """The first such tool on the case that the request names."""
    for call in _refusals(seat)[:1]:
        yield [call]
    yield [seat.say(_SORRY)]


@blind("refuse", "reads everything in reach, and then closes the case under grounds that it guesses")
def refuses_after_reading(seat: Seat) -> Play:
    """Look-ups twice over, so that the grounds are at least ones it has seen."""
    for _ in range(2):
        seat.hear((yield seat.lookups()[:25]))
    for call in _refusals(seat)[:1]:
        yield [call]
    yield [seat.say(_SORRY)]


@blind("refuse", "reads everything in reach, and then hands the case on to somebody else")
def hands_everything_on(seat: Seat) -> Play:
    """The last such tool: another team's work."""
    for _ in range(2):
        seat.hear((yield seat.lookups()[:25]))
    for call in _refusals(seat)[-1:]:
        yield [call]
    yield [seat.say("Somebody else will look into it.")]


@blind("refuse", "closes the case in every way there is, one after the other")
def closes_it_every_way(seat: Seat) -> Play:
    """Resolved, declined and escalated: whichever is right is among them."""
    seat.hear((yield seat.lookups()[:25]))
    simple = [t for t in seat.writes if len(t.references) == 1 and set(t.parameters["required"]) == set(t.references)]
    closing = [*_grounded(seat), *(t for t in simple if set(t.references.values()) & _case_tables(seat))]
    yield from ([seat.fill(tool)] for tool in closing)
    yield [seat.say(_SORRY)]


def _case_tables(seat: Seat) -> set[str]:
    """The tables that cases are kept in: what the tools that close one take first."""
    return {next(iter(tool.references.values())) for tool in _grounded(seat)}


@blind("refuse", "tries ground after ground on the same case, since the last one stands")
def tries_every_ground(seat: Seat) -> Play:
    """Many refusals, each with other reasons."""
    seat.hear((yield seat.lookups()[:25]))
    for _ in range(12):
        for call in _refusals(seat)[:1]:
            yield [call]
    yield [seat.say(_SORRY)]


REFUSE = (
    apologises_at_length,
    closes_it_every_way,
    gives_up_politely,
    hands_everything_on,
    refuses_after_reading,
    refuses_unread,
    tries_every_ground,
)
