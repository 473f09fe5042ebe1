"""Other words for the same request; `docs/ood.md` says by what rules."""

from palaestra.benchmarks.suites.ood.axis import Axis, switched
from palaestra.benchmarks.suites.ood.pool import TaskPool

RUNGS = (
    ("formal", "a formal letter"),
    ("casual", "casual, contracted, hardly a capital"),
    ("verbose", "long-winded, with unrelated context"),
    ("typos", "typing errors in a quarter of long words"),
    ("garbled", "long-winded, casual and with typing errors"),
)


def wording(pool: TaskPool) -> Axis:
    """The axis of wording."""
    return Axis.of(
        pool,
        "wording",
        "Wording",
        [pool.base, *(switched(pool, f"wording/{name}", label, {"wording": name}) for name, label in RUNGS)],
        note="The same tasks with the user's own prose rewritten by rule. Ids, numbers, days, names, addresses, quoted "
        "material and the terms in parentheses stay as they are, and what a user answers later is not rewritten.",
    )
