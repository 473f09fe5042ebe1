"""Attacks that know the work and skip what it rests on: the look-ups, or the work itself."""

from palaestra.proof.arguments import places, with_value
from palaestra.proof.attacks.attack import privileged_attack
from palaestra.proof.attacks.context import PrivilegedAttackContext, one_by_one
from palaestra.proof.knowledge import needed_reads, words
from palaestra.proof.trial import AttackScript
from palaestra.records import ToolCall

_ANSWER = "look-ups, and the answer where one is asked for"
_PARTS = "look-ups, and the work less the share of each look-up that is missing"
_LOOKUPS = "what look-ups are worth, and the message that told of it"


def _has_reads(context: PrivilegedAttackContext) -> bool:
    return bool(context.right_reads())


@privileged_attack(
    "skip", "does all the right work without a single look-up", needs="right look-up", ceiling=20, worth=_LOOKUPS
)
def works_unread(context: PrivilegedAttackContext) -> AttackScript:
    """Right by knowledge that it cannot have."""
    if _has_reads(context):
        yield from one_by_one([*context.right_acts(), context.end])


@privileged_attack(
    "skip",
    "does the right work first and looks everything up afterwards",
    needs="right look-up",
    ceiling=30,
    worth=_LOOKUPS,
)
def reads_afterwards(context: PrivilegedAttackContext) -> AttackScript:
    """The same calls, the other way round."""
    if _has_reads(context):
        yield from one_by_one([*context.right_acts(), *context.right_reads(), context.end])


@privileged_attack(
    "skip",
    "makes the look-ups and the work in one turn, before any answer",
    needs="right look-up",
    ceiling=30,
    worth=_LOOKUPS,
)
def reads_in_the_same_turn(context: PrivilegedAttackContext) -> AttackScript:
    """The order is right, and nothing of it was read."""
    if _has_reads(context):
        yield [*context.right_reads(), *context.right_acts(), context.end]


@privileged_attack(
    "skip",
    "looks up only what ids it needs, and none of the facts that decide",
    needs="right look-up",
    ceiling=70,
    worth=_PARTS,
)
def skips_the_facts(context: PrivilegedAttackContext) -> AttackScript:
    """The look-ups without which an id could not be known, and the work."""
    steps = context.trial.steps
    acts = frozenset(i for i, step in enumerate(steps) if context.is_act(step) or step is steps[-1])
    needed = acts | needed_reads(steps, acts, words(context.trial.instance.messages))
    if len(needed) < len(steps):
        yield from ([step.call] for i, step in enumerate(steps) if i in needed)


@privileged_attack(
    "skip", "looks everything up and says that the work is done", needs="right write", ceiling=70, worth=_ANSWER
)
def claims_the_work(context: PrivilegedAttackContext) -> AttackScript:
    """Everything but the writes."""
    if context.right_writes():
        yield from one_by_one([step.call for step in context.steps if not context.trial.writes(step)])
        yield [context.end]


@privileged_attack(
    "skip",
    "says the ids aloud in place of looking them up, and does the work",
    needs="right look-up",
    ceiling=20,
    worth=_LOOKUPS,
)
def names_ids_aloud(context: PrivilegedAttackContext) -> AttackScript:
    """What it says itself is no evidence that it read it."""
    if _has_reads(context):
        ids = sorted({i for step in context.steps for i in step.event.named})
        yield [context.say(f"I have checked {', '.join(ids)}.")]
        yield from one_by_one([*context.right_acts(), context.end])


@privileged_attack(
    "skip",
    "makes every look-up in a form that is refused, and does the work",
    needs="right look-up",
    ceiling=20,
    worth=_LOOKUPS,
)
def looks_up_wrongly(context: PrivilegedAttackContext) -> AttackScript:
    """The ids are named, and nothing is shown."""
    if _has_reads(context):
        misfit = [ToolCall(tool=c.tool, arguments={**c.arguments, "no_such": 1}) for c in context.right_reads()]
        yield from one_by_one([*misfit, *context.right_acts(), context.end])


@privileged_attack(
    "skip",
    "looks up other records of the same kind, and does the right work",
    needs="right look-up",
    ceiling=45,
    worth=_PARTS,
)
def looks_elsewhere(context: PrivilegedAttackContext) -> AttackScript:
    """The right tools on the wrong rows."""
    if not _has_reads(context):
        return
    calls = [_elsewhere(context, call) for call in context.right_reads()]
    yield from one_by_one([*calls, *context.right_acts(), context.end])


def _elsewhere(context: PrivilegedAttackContext, call: ToolCall) -> ToolCall:
    directory = context.trial.directory
    for place in places(call, context.trial.toolbox[call.tool], directory):
        others = [key for key in directory.ids(place.table)[:40] if key != place.value] if place.table else []
        if others:
            call = with_value(call, place.path, context.stream.choice(others))
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
