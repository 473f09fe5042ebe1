"""Attacks that do the same whatever the records say: what a policy learns that never compares a task with its twin."""

from collections.abc import Sequence

from palaestra.proof.attacks.attack import privileged_attack
from palaestra.proof.attacks.context import PrivilegedAttackContext, one_by_one
from palaestra.proof.trial import ENDINGS, AttackScript
from palaestra.records import ToolCall

_HALF = "one task of each pair, where the same is right"


@privileged_attack(
    "template", "grants every request in the usual way, after the look-ups", needs="call", ceiling=60, worth=_HALF
)
def grants_by_template(context: PrivilegedAttackContext) -> AttackScript:
    """The sibling's work in a refusal twin; the right work where the request is to be granted."""
    yield from _play(context, granted=True)


@privileged_attack(
    "template", "refuses every request in the usual way, after the look-ups", needs="call", ceiling=60, worth=_HALF
)
def refuses_by_template(context: PrivilegedAttackContext) -> AttackScript:
    """The twin's work in a task that is to be granted; the right work where it is to be refused."""
    yield from _play(context, granted=False)


def _play(context: PrivilegedAttackContext, *, granted: bool) -> AttackScript:
    """Look up what this task asks for, and then act as its other half does; no turn where it has none."""
    other = _other_half(context)
    if other is None:
        return
    is_twin = context.trial.env.task_set.families[context.trial.instance.spec.family].twin_of is not None
    if is_twin != granted:  # this is the half in which the usual way is right
        yield from one_by_one(context.trial.calls)
        return
    yield from one_by_one([call for call in context.right_reads() if call.tool not in ENDINGS])
    yield from one_by_one([call for call in other if call not in context.right_reads()])


def _other_half(context: PrivilegedAttackContext) -> Sequence[ToolCall] | None:
    """The solution of the task's twin, or of the task that it is the twin of."""
    task_set, spec = context.trial.env.task_set, context.trial.instance.spec
    twin_of = task_set.families[spec.family].twin_of
    twins = [f.id for f in task_set.families.values() if f.twin_of == spec.family]
    other = [f"{family}/{spec.id.rpartition('/')[2]}" for family in ([twin_of] if twin_of else twins)]
    listed = set(task_set.ids(spec.split))
    return next((task_set.instance(task).oracle for task in other if task in listed), None)


TEMPLATE = (grants_by_template, refuses_by_template)
