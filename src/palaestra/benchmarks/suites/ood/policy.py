"""Other rules: the same tasks under changed handbooks, then worlds whose own rules are others."""

from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.benchmarks.suites.ood.axis import Axis
from palaestra.benchmarks.suites.ood.pool import ENV_ID, Pool
from palaestra.envs.kit import ALL_RULES_FROM, ONE_RULE_FROM

_SOME = 1
_HANDBOOKS = (
    (ONE_RULE_FROM, "policy/one-rule", "one rule changed"),
    (_SOME, "policy/some-rules", "five to eight rules changed"),
    (ALL_RULES_FROM, "policy/all-rules", "every changeable rule changed"),
)


def policy(pool: Pool) -> Axis:
    """The axis of the company's policy."""
    one, some, every = (_cell(pool, handbook, id, label) for handbook, id, label in _HANDBOOKS)
    worlds = Cell(
        id="policy/other-worlds",
        label="five to eight rules changed, and other worlds",
        env_id=ENV_ID,
        tasks=pool.even(pool.listed("heldout-policy", pool.trained)),
        split="storefront/heldout-policy",
    )
    return Axis.of(
        "policy",
        "Policy",
        [pool.base, one, some, worlds, every],
        note="The tasks in distribution, by id, in worlds whose past, handbook, tools and rubrics follow changed "
        "rules. A rule that a task does not turn on changes nothing of what is right in it. A few tasks do not exist "
        "under a handbook and are left out.",
    )


def _cell(pool: Pool, handbook: int, id: str, label: str) -> Cell:
    base = pool.base
    return Cell(
        id=id,
        label=label,
        env_id=ENV_ID,
        tasks=tuple(pool.playable(base.tasks, handbook)),
        switches={"handbook": handbook},
        split=base.split,
    )
