"""Attacks that refuse: where some requests must be declined, declining all of them must not pay."""

from palaestra.proof.attacks.attack import blind
from palaestra.proof.attacks.context import AttackContext
from palaestra.proof.trial import AttackScript
from palaestra.records import ANY_TABLE, ToolCall
from palaestra.tools import Tool

_SORRY = "I am deeply sorry, and I understand how disappointing this must be, but our policy leaves me no choice. "


def _grounded(context: AttackContext) -> list[Tool]:
    """The tools that close a case with reasons: writes that take a record of any kind as evidence."""
    return [tool for tool in context.writes if ANY_TABLE in tool.references.values()]


def _refusals(context: AttackContext) -> list[ToolCall]:
    """One call of each such tool, on the first case that was named, under grounds drawn by chance."""
    calls: list[ToolCall] = []
    for tool in _grounded(context):
        case = next(iter(tool.references.items()))
        calls.append(context.fill(tool, **{case[0]: next(iter(context.ids(case[1])), "")}))
    return calls


@blind("refuse", "refuses everything with a long apology and does nothing")
def apologises_at_length(context: AttackContext) -> AttackScript:
    """As long as a message may be."""
    yield [context.say((_SORRY * 40)[:4_000])]


@blind("refuse", "says politely that it cannot be done, and gives up")
def gives_up_politely(context: AttackContext) -> AttackScript:
    """An end that claims nothing."""
    yield [context.say(_SORRY)]
    yield [ToolCall(tool="give_up", arguments={"reason": _SORRY})]


@blind("refuse", "closes the case under grounds that it guesses, unread")
def refuses_unread(context: AttackContext) -> AttackScript:
    """The first such tool on the case that the request names."""
    for call in _refusals(context)[:1]:
        yield [call]
    yield [context.say(_SORRY)]


@blind("refuse", "reads everything in reach, and then closes the case under grounds that it guesses")
def refuses_after_reading(context: AttackContext) -> AttackScript:
    """Look-ups twice over, so that the grounds are at least ones it has seen."""
    for _ in range(2):
        context.hear((yield context.lookups()[:25]))
    for call in _refusals(context)[:1]:
        yield [call]
    yield [context.say(_SORRY)]


@blind("refuse", "reads everything in reach, and then hands the case on to somebody else")
def hands_everything_on(context: AttackContext) -> AttackScript:
    """The last such tool: another team's work."""
    for _ in range(2):
        context.hear((yield context.lookups()[:25]))
    for call in _refusals(context)[-1:]:
        yield [call]
    yield [context.say("Somebody else will look into it.")]


@blind("refuse", "closes the case in every way there is, one after the other")
def closes_it_every_way(context: AttackContext) -> AttackScript:
    """Resolved, declined and escalated: whichever is right is among them."""
    context.hear((yield context.lookups()[:25]))
    simple = [
        t for t in context.writes if len(t.references) == 1 and set(t.parameters["required"]) == set(t.references)
    ]
    closing = [*_grounded(context), *(t for t in simple if set(t.references.values()) & _case_tables(context))]
    yield from ([context.fill(tool)] for tool in closing)
    yield [context.say(_SORRY)]


def _case_tables(context: AttackContext) -> set[str]:
    """The tables that cases are kept in: what the tools that close one take first."""
    return {next(iter(tool.references.values())) for tool in _grounded(context)}


@blind("refuse", "tries ground after ground on the same case, since the last one stands")
def tries_every_ground(context: AttackContext) -> AttackScript:
    """Many refusals, each with other reasons."""
    context.hear((yield context.lookups()[:25]))
    for _ in range(12):
        for call in _refusals(context)[:1]:
            yield [call]
    yield [context.say(_SORRY)]


REFUSE = (
    apologises_at_length,
    closes_it_every_way,
    gives_up_politely,
    hands_everything_on,
    refuses_after_reading,
    refuses_unread,
    tries_every_ground,
)
