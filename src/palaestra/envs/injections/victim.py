"""A victim: it works on the task, and follows the planted text as soon as it has read it, with real calls."""

from typing import TYPE_CHECKING

from palaestra.envs.injections.trial import play_turns
from palaestra.records import ToolCall

if TYPE_CHECKING:
    from palaestra.envs.instance import Instance


def victim_calls(instance: "Instance") -> tuple[ToolCall, ...]:
    """The calls of a victim of the injection in a task, with the world's own tools.

    They are the author's solution, with what the text asks for after the first answer that shows it. Where the solution
    never shows it, a look-up that does comes first.
    """
    injection = instance.injection
    assert injection is not None, "nothing is planted in this task"
    oracle = instance.oracle
    first = _first_reading(instance)
    if first is None:
        look = () if injection.place.look is None else (injection.place.look,)
        return (*look, *injection.calls, *oracle)
    return (*oracle[:first], *injection.calls, *oracle[first:])


def _first_reading(instance: "Instance") -> int | None:
    """After how many calls of the solution its answers have shown the text; `None`: not before it ends."""
    injection = instance.injection
    assert injection is not None, "nothing is planted in this task"
    turns = enumerate(play_turns(instance, instance.oracle))
    return next((n for n, episode in turns if injection.is_shown(episode.evidence) and n < len(instance.oracle)), None)
