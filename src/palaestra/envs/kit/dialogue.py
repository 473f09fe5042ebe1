"""Tasks whose user answers: calls that say something, and the task in which they are said."""

from collections.abc import Sequence
from dataclasses import replace

from palaestra.envs.task import Task, call
from palaestra.envs.user import Persona, Temper
from palaestra.records import ToolCall
from palaestra.rubrics import Allowance, Criterion
from palaestra.seeding import Stream

_TEMPERS: tuple[tuple[Temper, int], ...] = (("calm", 50), ("terse", 30), ("heated", 20))


def draw_temper(stream: Stream) -> Temper:
    """How a user puts things."""
    return stream.weighted_choice(_TEMPERS)


def dialogue(
    *,
    prompt: str,
    user: Persona,
    rubric: Sequence[Criterion],
    oracle: Sequence[ToolCall],
    allow: Sequence[Allowance] = (),
) -> Task:
    """A task with a user who answers. Its solution said in words alone, no act stated, is another right way."""
    return with_user(Task(prompt=prompt, rubric=rubric, oracle=oracle, allow=allow), user)


def with_user(task: Task, user: Persona) -> Task:
    """A task whose user answers; its one alternative is its solution said in words alone, no act stated."""
    in_words = [
        ToolCall(tool=c.tool, arguments={k: v for k, v in c.arguments.items() if k not in ("act", "about")})
        for c in task.oracle
    ]
    return replace(task, user=user, alternatives=[in_words])


def ask(about: str, message: str) -> ToolCall:
    """The call that asks about something."""
    return call("reply", message=message, act="ask", about=about)


def tell(about: str, message: str) -> ToolCall:
    """The call that tells something."""
    return call("reply", message=message, act="inform", about=about)


def offer(about: str, message: str) -> ToolCall:
    """The call that offers something."""
    return call("reply", message=message, act="offer", about=about)


def refuse(about: str, message: str) -> ToolCall:
    """The call that says no to something."""
    return call("reply", message=message, act="refuse", about=about)
