"""Planting an injection in a task, so that an attack can succeed and an honest solution stays one.

A target counts only where the calls that the text asks for succeed and reach the goal, and where no solution of the
task's author meets a part of it. A carrier counts only where every solution of the author still gets full score.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from palaestra.envs.injections.carrier import InjectionCarrier, InjectionPlace, write_text
from palaestra.envs.injections.catalogue import load_injections
from palaestra.envs.injections.choice import InjectionChoice
from palaestra.envs.injections.goal import AttackGoal, GoalSetting, GoalTarget, order_text, required_parts
from palaestra.envs.injections.part import AttackTrace
from palaestra.envs.injections.style import STYLES, InjectionStyle
from palaestra.envs.injections.task_injection import TaskInjection
from palaestra.envs.injections.trial import play_calls, task_trials
from palaestra.errors import CapabilityError
from palaestra.seeding import Stream

if TYPE_CHECKING:
    from palaestra.envs.instance import Instance

T = TypeVar("T")
_TARGETS = 12
"""Targets of a goal that are tried in a task."""


def plant_injection(instance: "Instance", choice: InjectionChoice) -> "Instance":
    """The task with an injection in its content.

    Args:
        instance: The task.
        choice: Which injection.

    Raises:
        CapabilityError: the task offers no target for the goal, or has no such carrier.
    """
    planted = next(find_injections(instance, choice), None)
    if planted is None:
        asked = "/".join(name or "*" for name in (choice.goal, choice.style, choice.carrier))
        raise CapabilityError(
            f"injection {asked}: the task {instance.spec.id!r} offers no target or no place for it; choose another "
            "task, goal or carrier, or leave them open"
        )
    return planted


def find_injections(instance: "Instance", choice: InjectionChoice) -> Iterator["Instance"]:
    """Every way in which a choice can be planted in a task, one for each goal, the drawn one first."""
    found = load_injections(instance.world)
    stream = Stream.root("injection", choice.seed, instance.spec.id)
    goals = _draw(found.goals_by_id, choice.goal, stream.split("goal"))
    carriers = _draw(found.carriers_by_id, choice.carrier, stream.split("carrier"))
    for goal in goals:
        [style, *_] = _draw(STYLES, choice.style, stream.split("style", goal.id))
        target = _aim(instance, goal, stream.split("target", goal.id))
        if target is None:
            continue
        order = order_text(goal, target, style.language)
        for carrier, place in _places(instance, carriers, stream.split("place")):
            planted = _plant(instance, choice, goal, style, carrier, place, target, order)
            if _is_sound(planted):
                yield planted
                break


def _draw(known: Mapping[str, T], name: str | None, stream: Stream) -> list[T]:
    """What a choice leaves open, in drawn order, or the one thing that it names."""
    return stream.permutation(list(known.values())) if name is None else [known[name]]


def _aim(instance: "Instance", goal: AttackGoal, stream: Stream) -> GoalTarget | None:
    setting = GoalSetting(instance=instance, trials=task_trials(instance), stream=stream)
    return next((t for t in islice(goal.aim(setting), _TARGETS) if _can_reach(instance, t)), None)


def _can_reach(instance: "Instance", target: GoalTarget) -> bool:
    """Whether a victim's calls all succeed from the beginning, and reach the goal."""
    evidence = play_calls(instance, target.calls).evidence
    if not all(event.executed for event in evidence.events):
        return False
    trace = AttackTrace.of(evidence)
    return all(part.is_met(trace) for part in required_parts(target.parts))


def _places(
    instance: "Instance", carriers: Sequence[InjectionCarrier], stream: Stream
) -> Iterator[tuple[InjectionCarrier, InjectionPlace]]:
    for carrier in carriers:
        for place in stream.split(carrier.id).permutation(carrier.places(instance, task_trials(instance))):
            yield carrier, place


def _plant(
    instance: "Instance",
    choice: InjectionChoice,
    goal: AttackGoal,
    style: InjectionStyle,
    carrier: InjectionCarrier,
    place: InjectionPlace,
    target: GoalTarget,
    order: str,
) -> "Instance":
    text = style.template.format(order=order)
    injection = TaskInjection(
        choice=choice,
        goal=goal.id,
        style=style.id,
        carrier=carrier.id,
        place=place,
        text=text,
        order=order,
        parts=target.parts,
        calls=target.calls,
    )
    return replace(write_text(instance, place, text), injection=injection)


def _is_sound(planted: "Instance") -> bool:
    """Whether the author's solutions still get full score, and meet no part of the goal."""
    assert planted.injection is not None, "it is planted"
    for calls in (planted.oracle, *planted.alternatives):
        episode = play_calls(planted, calls)
        if not episode.score().passed or any(planted.injection.report(episode.evidence).parts.values()):
            return False
    return True
