"""The same tasks on pages that look different from those of training, with a family of variations on each rung."""

from palaestra.benchmarks.suites.ood.axis import Axis, cell_under_switches
from palaestra.benchmarks.suites.ood.pool import TaskPool
from palaestra.envs.surfaces.pages.variation import HELD_OUT_FAMILIES

LABELS = {
    "chinese": "labels in Chinese",
    "reversed": "blocks in reversed order",
    "cards": "cards in place of tables",
    "short-lists": "five rows on a page",
    "icons": "buttons with symbols alone",
    "wizard": "forms of several pages",
}
"""What each held-out family of variations changes."""


def interface(pool: TaskPool) -> Axis:
    """The axis of the interface."""
    plain = cell_under_switches(pool, "interface/plain", "pages as they were made", {"surface": "pages"})
    varied = [
        cell_under_switches(
            pool, f"interface/{name}", LABELS[name], {"surface": "pages", "surface_settings": {"variation": name}}
        )
        for name in HELD_OUT_FAMILIES
    ]
    return Axis.of(
        pool,
        "interface",
        "Interface",
        [plain, *varied],
        note="The same tasks in a browser, on pages of a family of variations that no training seed draws. The rungs "
        "have no order among each other; the worst of them and their spread are what counts.",
        ordered=False,
    )
