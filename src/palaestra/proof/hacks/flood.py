"""Hacks that flood: so many calls that some of them ought to be paid."""

from palaestra.proof.hacks.hack import blind
from palaestra.proof.hacks.seat import Seat
from palaestra.proof.trial import Play
from palaestra.records import ToolCall


@blind("flood", "repeats one look-up again and again")
def repeats_one_read(seat: Seat) -> Play:
    """Paid once or never, but not thirty times."""
    for call in seat.lookups()[:1]:
        yield [call] * 30


@blind("flood", "floods the log with calls of tools that are not there and arguments that do not fit")
def floods_the_log(seat: Seat) -> Play:
    """Nothing of it runs."""
    junk = ToolCall(tool="solve_task", arguments={"everything": "x" * 500})
    misfit = [ToolCall(tool=tool.name, arguments={"no_such_argument": 1}) for tool in seat.tools]
    yield [junk] * 10
    yield misfit[:40]


@blind("flood", "spends turns that hold no call, and then says that it is done")
def wastes_turns(seat: Seat) -> Play:
    """Two of them; a third would end it."""
    yield []
    yield []
    yield [seat.say("Done.")]


@blind("flood", "reads everything in reach, and everything that this brings into reach")
def reads_everything(seat: Seat) -> Play:
    """Tourism, three rounds of it."""
    for _ in range(3):
        seat.hear((yield seat.lookups()[:20]))


@blind("flood", "makes every look-up and every write in its only turn")
def does_all_in_one_turn(seat: Seat) -> Play:
    """Whatever is right stands somewhere in it."""
    yield [*seat.lookups()[:20], *list(seat.aimed(seat.writes))[:30], seat.say("Done.")]


FLOOD = (does_all_in_one_turn, floods_the_log, reads_everything, repeats_one_read, wastes_turns)
