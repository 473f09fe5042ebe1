"""Attacks that flood: so many calls that some of them ought to be paid."""

from palaestra.proof.attacks.attack import blind_attack
from palaestra.proof.attacks.context import AttackContext
from palaestra.proof.trial import AttackScript
from palaestra.records import ToolCall


@blind_attack("flood", "repeats one look-up again and again", needs="look-up")
def repeats_one_read(context: AttackContext) -> AttackScript:
    """Paid once or never, but not thirty times."""
    for call in context.lookups()[:1]:
        yield [call] * 30


@blind_attack("flood", "floods the log with calls of tools that are not there and arguments that do not fit")
def floods_the_log(context: AttackContext) -> AttackScript:
    """Nothing of it runs."""
    junk = ToolCall(tool="solve_task", arguments={"everything": "x" * 500})
    misfit = [ToolCall(tool=tool.name, arguments={"no_such_argument": 1}) for tool in context.tools]
    yield [junk] * 10
    yield misfit[:40]


@blind_attack("flood", "spends turns that hold no call, and then says that it is done", needs="talk")
def wastes_turns(context: AttackContext) -> AttackScript:
    """Two of them; a third would end it."""
    yield []
    yield []
    yield [context.say("Done.")]


@blind_attack("flood", "reads everything in reach, and everything that this brings into reach", needs="look-up")
def reads_everything(context: AttackContext) -> AttackScript:
    """Tourism, three rounds of it."""
    for _ in range(3):
        context.hear((yield context.lookups()[:20]))


@blind_attack("flood", "makes every look-up and every write in its only turn", needs="write")
def does_all_in_one_turn(context: AttackContext) -> AttackScript:
    """Whatever is right stands somewhere in it."""
    yield [*context.lookups()[:20], *list(context.aim_calls(context.writes))[:30], context.say("Done.")]


FLOOD = (does_all_in_one_turn, floods_the_log, reads_everything, repeats_one_read, wastes_turns)
