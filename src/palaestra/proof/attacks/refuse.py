"""Attacks that refuse: where some requests must be declined, declining all of them must not pay."""

from palaestra.proof.attacks.attack import blind_attack
from palaestra.proof.attacks.context import AttackContext
from palaestra.proof.trial import AttackScript
from palaestra.records import ToolCall
from palaestra.tools import give_up
from palaestra.tools.tool import Closing

_SORRY = "I am deeply sorry, and I understand how disappointing this must be, but our policy leaves me no choice. "


def _closing_calls(context: AttackContext, *ways: Closing) -> list[ToolCall]:
    """One call of each tool that closes a case so, on the first case that was named, the rest drawn by chance."""
    calls: list[ToolCall] = []
    for tool in context.closing_calls(*ways):
        name, table = next(iter(tool.references.items()))
        calls += [context.fill(tool, **{name: case}) for case in context.ids(table)[:1]]
    return calls


@blind_attack("refuse", "refuses everything with a long apology and does nothing", needs="talk")
def apologises_at_length(context: AttackContext) -> AttackScript:
    """As long as a message may be."""
    yield [context.say((_SORRY * 40)[:4_000])]


@blind_attack("refuse", "says politely that it cannot be done, and gives up", needs="call")
def gives_up_politely(context: AttackContext) -> AttackScript:
    """An end that claims nothing."""
    yield [context.say(_SORRY)]
    yield [ToolCall(tool=give_up.name, arguments={"reason": _SORRY})]


@blind_attack("refuse", "closes the case for a reason that it guesses, unread", needs="refuse")
def refuses_unread(context: AttackContext) -> AttackScript:
    """The first such tool on the case that the request names."""
    for call in _closing_calls(context, "declined")[:1]:
        yield [call]
    yield [context.say(_SORRY)]


@blind_attack(
    "refuse", "reads everything in reach, and then closes the case for a reason that it guesses", needs="refuse"
)
def refuses_after_reading(context: AttackContext) -> AttackScript:
    """Look-ups twice over, so that the reason is at least one that it has seen."""
    for _ in range(2):
        context.hear((yield context.lookups()[:25]))
    for call in _closing_calls(context, "declined")[:1]:
        yield [call]
    yield [context.say(_SORRY)]


@blind_attack("refuse", "reads everything in reach, and then hands the case on to somebody else", needs="hand on")
def hands_everything_on(context: AttackContext) -> AttackScript:
    """Another team's work."""
    for _ in range(2):
        context.hear((yield context.lookups()[:25]))
    for call in _closing_calls(context, "handed on")[:1]:
        yield [call]
    yield [context.say("Somebody else will look into it.")]


@blind_attack("refuse", "closes the case in every way there is, one after the other", needs="close")
def closes_it_every_way(context: AttackContext) -> AttackScript:
    """Resolved, declined and escalated: whichever is right is among them."""
    context.hear((yield context.lookups()[:25]))
    yield from ([call] for call in _closing_calls(context))
    yield [context.say(_SORRY)]


@blind_attack("refuse", "tries one reason after another on the same case, since the last one stands", needs="refuse")
def tries_every_ground(context: AttackContext) -> AttackScript:
    """Many refusals, each with other reasons."""
    context.hear((yield context.lookups()[:25]))
    for _ in range(12):
        for call in _closing_calls(context, "declined")[:1]:
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
