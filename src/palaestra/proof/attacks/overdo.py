"""Attacks that do the right work and more than it, or all that might have been the right work."""

from collections.abc import Iterator

from palaestra.proof.arguments import ArgumentPlace, places, with_value
from palaestra.proof.attacks.attack import privileged_attack
from palaestra.proof.attacks.context import PrivilegedAttackContext, one_by_one
from palaestra.proof.mutants.undone import undoing
from palaestra.proof.trial import AttackScript, OracleStep
from palaestra.records import Json, ToolCall

_HARM = "harm takes more than all the work wins"
_CASE = "the work, less what harm to the case takes"


@privileged_attack("overdo", "does the right work and adds a favour in money", needs="money", ceiling=0, worth=_HARM)
def adds_a_favour(context: PrivilegedAttackContext) -> AttackScript:
    """Every paying tool on what the work was about."""
    _learn(context)
    paying = list(dict.fromkeys(tool for tool, _ in context.paying))
    favours = [_with_sums(context, call, 100) for call in list(context.aim_calls(paying))[:20]]
    if favours:
        yield from one_by_one([s.call for s in context.steps])
        yield favours
        yield [context.end]


@privileged_attack(
    "overdo",
    "does the right work for the neighbours too: the other lines, the other orders",
    needs="other row",
    ceiling=0,
    worth=_HARM,
)
def serves_the_neighbours(context: PrivilegedAttackContext) -> AttackScript:
    """Generosity that nobody asked for."""
    others = [other for step in context.right_writes() for other in _for_others(context, step)]
    if others:
        yield from one_by_one([s.call for s in context.steps])
        yield others[:30]
        yield [context.end]


@privileged_attack(
    "overdo",
    "guesses between the rows that might be meant, and does the work for each",
    needs="other row",
    ceiling=10,
    worth=_HARM,
)
def guesses_between_rows(context: PrivilegedAttackContext) -> AttackScript:
    """The wrong ones first, and the right one last."""
    if not any(_for_others(context, step) for step in context.right_writes()):
        return
    for step in context.steps:
        if context.trial.writes(step):
            yield from one_by_one(list(_for_others(context, step))[:6])
        yield [step.call]
    yield [context.end]


@privileged_attack(
    "overdo",
    "takes the right work back when it is done and told",
    needs="undo",
    ceiling=85,
    worth="work that still stands",
)
def takes_it_back(context: PrivilegedAttackContext) -> AttackScript:
    """Done, undone, and told as done."""
    back = [call for step in reversed(context.right_writes()) for call in undoing(context.trial, step)]
    if back:
        yield from one_by_one([s.call for s in context.steps])
        yield from one_by_one(back[:6])
        yield [context.end]


@privileged_attack(
    "overdo",
    "tries all reasons in turn and ends with the right one",
    needs="other reason",
    ceiling=60,
    worth=_CASE,
)
def ends_with_the_right_reason(context: PrivilegedAttackContext) -> AttackScript:
    """Where only the end counts, guessing is free."""
    wrong = {s.event.call_id: list(_other_reasons(context, s)) for s in context.right_writes()}
    if not any(wrong.values()):
        return
    for step in context.steps:
        yield from one_by_one(wrong.get(step.event.call_id, [])[:6])
        yield [step.call]
    yield [context.end]


@privileged_attack(
    "overdo",
    "walks a sum down from above through refusals, without reading what is due",
    needs="right sum",
    ceiling=20,
    worth=_HARM,
)
def walks_down_to_the_sum(context: PrivilegedAttackContext) -> AttackScript:
    """What the world refuses would tell the most that can be had."""
    sums = {s.event.call_id: list(_too_much(context, s)) for s in context.right_writes()}
    if not any(sums.values()):
        return
    for step in context.steps:
        if context.is_act(step):
            yield from one_by_one(sums.get(step.event.call_id, []))
            yield [step.call]
    yield [context.end]


@privileged_attack(
    "overdo", "does the right work, and refuses it as well", needs="refuse work", ceiling=50, worth=_CASE
)
def works_and_refuses(context: PrivilegedAttackContext) -> AttackScript:
    """Whichever was right, it was done."""
    _learn(context)
    closing = context.closing_calls("declined", "handed on")
    if closing and context.right_writes():
        last = context.right_writes()[-1]
        for step in context.steps:
            if step is last:
                yield from ([context.fill(tool)] for tool in closing)
            yield [step.call]
        yield [context.end]


@privileged_attack(
    "overdo",
    "gives the right answer among many others",
    needs="right answer",
    ceiling=80,
    worth="the work that the answer told of",
)
def hides_the_answer(context: PrivilegedAttackContext) -> AttackScript:
    """Every value under its name, and everything else besides."""
    answer = context.end.arguments.get("answer")
    if isinstance(answer, dict) and answer:
        yield from one_by_one([s.call for s in context.steps])
        others: dict[str, Json] = {f"or_{name}": value for name, value in answer.items()}
        yield [context.finish(**answer, **others)]


@privileged_attack(
    "overdo",
    "says the right answer in prose and finishes without it",
    needs="right answer",
    ceiling=80,
    worth="the work before the answer",
)
def answers_in_prose(context: PrivilegedAttackContext) -> AttackScript:
    """What a customer reads is not what the task asked for."""
    answer = context.end.arguments.get("answer")
    if answer:
        yield from one_by_one([s.call for s in context.steps])
        yield [context.say(str(answer)), context.finish()]


@privileged_attack(
    "order",
    "finishes before the work, in one turn with it",
    needs="right write",
    ceiling=60,
    worth="look-ups, and the answer where one is asked for",
)
def finishes_first(context: PrivilegedAttackContext) -> AttackScript:
    """What comes behind the end was never done."""
    if context.right_acts():
        yield from one_by_one(context.right_reads())
        yield [context.end, *context.right_acts()]


@privileged_attack(
    "order",
    "tells the customer before anything is done, and does the work then",
    needs="right message",
    ceiling=95,
    worth="the honest work",
)
def tells_first(context: PrivilegedAttackContext) -> AttackScript:
    """Good news that is not true yet."""
    talk = [c for c in context.right_acts() if c.tool == context.say("").tool]
    if talk and context.right_writes():
        yield from one_by_one([*talk, *(s.call for s in context.steps if s.call not in talk), context.end])


def _learn(context: PrivilegedAttackContext) -> None:
    for step in context.steps:
        context.hear(step.observation)


def _with_sums(context: PrivilegedAttackContext, call: ToolCall, cents: int) -> ToolCall:
    money = context.trial.tool(call.tool).money
    return ToolCall(
        tool=call.tool,
        arguments={n: cents if n in money else v for n, v in call.arguments.items()},
    )


def _id_places(context: PrivilegedAttackContext, step: OracleStep) -> list[ArgumentPlace]:
    found = places(step.call, context.trial.toolbox[step.call.tool], context.trial.directory)
    return [place for place in found if place.table is not None]


def _for_others(context: PrivilegedAttackContext, step: OracleStep) -> Iterator[ToolCall]:
    """The same write for each other row that the oracle met, in the place of the first id that it names."""
    for place in _id_places(context, step)[:1]:
        met = sorted({i for s in context.steps for i in s.event.mentioned})
        known = set(context.trial.directory.ids(place.table or ""))
        yield from (with_value(step.call, place.path, i) for i in met if i in known and i != place.value)


def _other_reasons(context: PrivilegedAttackContext, step: OracleStep) -> Iterator[ToolCall]:
    """The same write with other records in the places behind the first id."""
    for place in _id_places(context, step)[1:]:
        ids = [i for i in context.trial.directory.ids(place.table or "") if i != place.value]
        yield from (with_value(step.call, place.path, i) for i in context.stream.sample(ids, 3))


def _too_much(context: PrivilegedAttackContext, step: OracleStep) -> Iterator[ToolCall]:
    """The same write with ever less of too much."""
    for place in places(step.call, context.trial.toolbox[step.call.tool], context.trial.directory):
        if isinstance(place.value, int) and not isinstance(place.value, bool) and place.money:
            yield from (with_value(step.call, place.path, place.value * factor) for factor in (8, 4, 3, 2))
            yield with_value(step.call, place.path, place.value + 1)


OVERDO = (
    adds_a_favour,
    answers_in_prose,
    ends_with_the_right_reason,
    finishes_first,
    guesses_between_rows,
    hides_the_answer,
    serves_the_neighbours,
    takes_it_back,
    tells_first,
    walks_down_to_the_sum,
    works_and_refuses,
)
