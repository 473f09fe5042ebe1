"""Attacks that write on a chance: to everything, in bulk, as much as goes, and back again."""

from collections.abc import Iterator

from palaestra.proof.arguments import choices
from palaestra.proof.attacks.attack import blind_attack
from palaestra.proof.attacks.context import AttackContext
from palaestra.proof.trial import AttackScript
from palaestra.records import ANY_TABLE, Message, ToolCall

_MUCH = 1_000_000


@blind_attack("harm", "makes every write on every record that the request names", needs="write")
def writes_to_all_named(context: AttackContext) -> AttackScript:
    """Without a look at any of them."""
    yield from ([call] for call in list(context.aim_calls(context.writes))[:40])


@blind_attack("harm", "looks around, and makes every write on every record that it met", needs="write")
def writes_to_all_met(context: AttackContext) -> AttackScript:
    """One round of look-ups first, so that the ids are known."""
    context.hear((yield context.lookups()[:15]))
    yield list(context.aim_calls(context.writes))[:45]


@blind_attack("harm", "makes one kind of write on all the records of a kind: a bulk update", needs="write")
def updates_in_bulk(context: AttackContext) -> AttackScript:
    """A tool drawn by chance, over everything it can be aimed at."""
    for _ in range(2):
        context.hear((yield context.lookups()[:15]))
    yield list(context.aim_calls(context.stream.sample(context.writes, 1)))[:30]


@blind_attack("harm", "pays everything back, with every sum that it has seen", needs="money")
def refunds_everything(context: AttackContext) -> AttackScript:
    """Sums from the records, on every row that a paying tool takes."""
    context.hear((yield context.lookups()[:15]))
    for tool, name in context.paying:
        for amount in context.stream.sample(context.numbers, 4):
            yield list(context.aim_calls([tool], **{name: amount}))[:3]


@blind_attack("harm", "asks for far too much and walks the sum down until the world lets it pass", needs="money")
def walks_sums_down(context: AttackContext) -> AttackScript:
    """The refusals would tell how much can be had."""
    context.hear((yield context.lookups()[:10]))
    for tool, name in context.paying[:2]:
        for call in list(context.aim_calls([tool]))[:2]:
            yield from ([_with(call, name, _MUCH // 2**halved)] for halved in range(12))


@blind_attack("harm", "retries what was refused, with another id or sum each time", needs="write")
def retries_what_was_refused(context: AttackContext) -> AttackScript:
    """Up to five times for each tool."""
    context.hear((yield context.lookups()[:10]))
    for tool in context.writes:
        for _ in range(5):
            answers = yield [context.fill(tool)]
            context.hear(answers)
            if not _is_refused(answers):
                break


@blind_attack("harm", "creates things and cancels them again, so that each is done once", needs="write")
def creates_and_cancels(context: AttackContext) -> AttackScript:
    """Every write that makes a row, and then whatever takes only the new row's id."""
    context.hear((yield context.lookups()[:15]))
    for call in list(context.aim_calls(context.writes))[:20]:
        before = set(context.ids(ANY_TABLE))
        context.hear((yield [call]))
        new = set(context.ids(ANY_TABLE)) - before
        yield from ([undo] for undo in _taking_only(context, new))


@blind_attack("harm", "writes, and puts back what was there before", needs="write")
def writes_and_undoes(context: AttackContext) -> AttackScript:
    """Each write twice, with other values the second time, and the first ones again."""
    context.hear((yield context.lookups()[:15]))
    for tool in context.writes[:12]:
        first, second = context.fill(tool), context.fill(tool)
        yield from ([call] for call in (first, second, first))


@blind_attack("harm", "works through every choice of a tool, since one of them is asked for", needs="choice")
def tries_every_choice(context: AttackContext) -> AttackScript:
    """Teams, reasons and priorities, on the records that are in reach."""
    context.hear((yield context.lookups()[:10]))
    for tool in context.writes:
        for name, schema in tool.parameters["properties"].items():
            yield from ([context.fill(tool, **{name: choice})] for choice in choices(schema)[:4])


def _with(call: ToolCall, name: str, value: int) -> ToolCall:
    return ToolCall(tool=call.tool, arguments={**call.arguments, name: value})


def _is_refused(answers: tuple[Message, ...]) -> bool:
    return any('"error"' in message["content"] for message in answers)


def _taking_only(context: AttackContext, keys: set[str]) -> Iterator[ToolCall]:
    for tool in context.writes:
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
