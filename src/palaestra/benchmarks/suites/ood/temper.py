"""Another temper of the users who answer; `docs/ood.md` says what each does."""

from palaestra.benchmarks.suites.ood.axis import Axis
from palaestra.benchmarks.suites.ood.pool import UNLISTED, TaskPool

_PER_CELL = 120
_RUNGS = (
    ("calm", "all calm"),
    ("terse", "all terse"),
    ("heated", "all heated"),
    ("furious", "all furious (one irritation, longer arguments)"),
)


def temper(pool: TaskPool) -> Axis:
    """The axis of temper."""
    trained = [name for name in pool.trained if "dialogue" in pool.family(name).traits]
    families = trained or [name for name in pool.trainable if "dialogue" in pool.family(name).traits]
    tasks = pool.fresh(families, about=_PER_CELL)
    label = "users as the tasks state them" + ("" if trained else ", untrained families")
    base = pool.cell("temper/as-stated", pool.title(label), tasks, split=UNLISTED)
    rungs = [
        pool.cell(f"temper/{name}", label, tasks, split=UNLISTED, switches={"temper": name}) for name, label in _RUNGS
    ]
    return Axis.of(
        pool,
        "temper",
        "Temper of users",
        [base, *rungs],
        note="Dialogue tasks only, so the ladder begins with a cell of its own: fresh tasks of train's worlds with "
        "users as stated, half of them calm. Temper changes their words and what irritation costs; a furious user "
        "leaves at the first irritation and, where the task has them argue, argues twice more. "
        + ("" if trained else "No dialogue family was trained on, so that no cell of this ladder is in distribution."),
    )
