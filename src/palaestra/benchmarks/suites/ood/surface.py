"""Other tools over the same rows: other names, then nine generic tools, then both."""

from palaestra.benchmarks.suites.ood.axis import Axis, cell_under_switches
from palaestra.benchmarks.suites.ood.pool import TaskPool

_RENAMES = {"renames": True}


def surface(pool: TaskPool) -> Axis:
    """The axis of the tools' surface."""
    return Axis.of(
        pool,
        "surface",
        "Tool surface",
        [
            pool.base,
            cell_under_switches(pool, "surface/renamed", "tools and arguments renamed", {"noise": _RENAMES}),
            cell_under_switches(pool, "surface/generic", "nine generic tools", {"surface": "generic"}),
            cell_under_switches(
                pool, "surface/generic-renamed", "generic tools, renamed", {"surface": "generic", "noise": _RENAMES}
            ),
        ],
        note="The same tasks, done with other tools. Renames are drawn anew for every episode's seed; talking, "
        "finishing and giving up keep their names.",
    )
