"""Rule twins: whether a task's handbook decides it, and by which rules."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from palaestra.envs import ToolEnv
from palaestra.envs.rule_twin import deciding_rules, handbook_variants, is_same_case, rule_twin, solves
from palaestra.envs.taskset import POLICY_SPLIT
from palaestra.proof.trial import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTwinProof:
    """The comparison of a task of "heldout-policy" with its rule twin."""

    handbook: int
    """The number of the task's handbook."""
    same_case: bool
    """Whether there is a rule twin: the same request and the same records under the world's own rules."""
    default_rejected: bool
    """Whether the solution under the world's own rules does not solve the task."""
    twin_rejected: bool
    """Whether the task's solution does not solve its rule twin."""
    rules: tuple[str, ...]
    """The changed rules, each of which decides it."""
    sections: tuple[str, ...]
    """The sections of the handbook that state them."""

    @property
    def holds(self) -> bool:
        """Whether all checks pass."""
        return self.same_case and self.default_rejected and self.twin_rejected


def prove_rule_twin(env: ToolEnv, trial: Trial) -> RuleTwinProof | None:
    """Compare a task with its rule twin; `None` in other splits, and if no record of decided tasks is kept."""
    task = trial.instance
    variants = handbook_variants(task.world)
    if not env.task_set.is_decided or variants is None or task.spec.split != POLICY_SPLIT:
        return None
    twin = rule_twin(task)
    rules = () if twin is None else deciding_rules(task)
    return RuleTwinProof(
        handbook=task.handbook,
        same_case=twin is not None and is_same_case(task, twin),
        default_rejected=twin is not None and not solves(twin.oracle, task),
        twin_rejected=twin is not None and not solves(task.oracle, twin),
        rules=rules,
        sections=tuple(dict.fromkeys(section for rule in rules for section in variants.sections.get(rule, ()))),
    )


def tasks_by_section(proofs: Iterable[RuleTwinProof]) -> Counter[str]:
    """The number of tasks that each section of the handbook decides."""
    return Counter(section for proof in proofs for section in proof.sections)
