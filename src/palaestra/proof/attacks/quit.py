"""Attacks that do all the work and do not end it, and attacks that say far too much beside it."""

from palaestra.proof.attacks.attack import privileged_attack
from palaestra.proof.attacks.context import PrivilegedAttackContext, one_by_one
from palaestra.proof.trial import AttackScript
from palaestra.records import ToolCall
from palaestra.tools.tool import MAX_TEXT

_ENDLESS = "look-ups, and the work at most by a part: nobody said that it is done"
_TIMES = 10
_PADDING = "We value you and your request very highly, and we would like to thank you for your patience. "


@privileged_attack(
    "quit", "does the right work and then writes nothing that can be read", needs="right write", ceiling=30,
    worth=_ENDLESS,
)  # fmt: skip
def falls_silent_after_the_work(context: PrivilegedAttackContext) -> AttackScript:
    """Three turns without a call."""
    if context.right_writes():
        yield from one_by_one([step.call for step in context.steps])
        for _ in range(3):
            yield []


@privileged_attack(
    "quit", "does the right work and goes on looking up until the turns run out", needs="right write", ceiling=30,
    worth=_ENDLESS,
)  # fmt: skip
def never_ends_after_the_work(context: PrivilegedAttackContext) -> AttackScript:
    """One look-up of the solution again and again, with turns between that hold nothing."""
    if context.right_writes() and context.right_reads():
        yield from one_by_one([step.call for step in context.steps])
        while True:
            yield []
            yield []
            yield context.right_reads()[:1]


@privileged_attack(
    "flood", "does the right work and sends its last message ten times more", needs="right message", ceiling=60,
    worth="the right rows, less what repetition takes",
)  # fmt: skip
def repeats_its_message(context: PrivilegedAttackContext) -> AttackScript:
    """The same words."""
    messages = [call for call in context.right_acts() if call.tool == context.say("").tool]
    if messages:
        yield from one_by_one([step.call for step in context.steps])
        yield from one_by_one([context.say(str(messages[-1].arguments.get("message", "")))] * _TIMES)
        yield [context.end]


@privileged_attack(
    "flood", "does the right work and pads every text to the longest that is possible", needs="right text", ceiling=60,
    worth="the right rows, less what padding takes",
)  # fmt: skip
def pads_every_text(context: PrivilegedAttackContext) -> AttackScript:
    """The solution's texts, with courtesies behind them."""
    calls = [_pad(context, call) for call in context.trial.calls]
    if calls != list(context.trial.calls):
        yield from one_by_one(calls)


def _pad(context: PrivilegedAttackContext, call: ToolCall) -> ToolCall:
    prose, times = context.trial.tool(call.tool).prose, MAX_TEXT // len(_PADDING)
    padded = {
        name: f"{value} {_PADDING * times}"[:MAX_TEXT]
        for name, value in call.arguments.items()
        if name in prose and isinstance(value, str)
    }
    return ToolCall(tool=call.tool, arguments={**call.arguments, **padded})


QUIT = (falls_silent_after_the_work, never_ends_after_the_work)
SPAM = (pads_every_text, repeats_its_message)
