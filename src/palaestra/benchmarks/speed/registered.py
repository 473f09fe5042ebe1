"""The cost of many registered worlds for a program: importing Palaestra, the command's help, making an environment."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from palaestra.packs import DEFAULT, GROUP
from palaestra.record import record
from palaestra.table import Table

_MAKE = f"import gymnasium, palaestra; gymnasium.make(palaestra.packs.PACKS.find({DEFAULT!r}).env_id).reset(seed=0)"
_PEAK = "\nimport resource, sys; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
PROGRAMS: Mapping[str, str] = {
    "import palaestra": "import palaestra",
    "palaestra --help": (
        "import sys; sys.argv[1:] = ['--help']; from palaestra.cli import app\ntry: app.main()\nexcept SystemExit: pass"
    ),
    "gym.make of one": _MAKE,
}
"""The programs that a fresh interpreter runs, by name."""


@record
class RegisteredCost:
    """The processor time and peak memory of a program with one registered world and with many."""

    name: str
    one_seconds: float
    """Median over runs of user and system time together."""
    many_seconds: float
    ratio: float
    """The median of the ratios of paired runs."""
    one_megabytes: float
    many_megabytes: float


def bench_registered(
    *, worlds: int = 300, runs: int = 15, progress: Callable[[str], None] = lambda _: None
) -> list[RegisteredCost]:
    """Run each program in turn with one additional installed world pack and with `worlds` additional packs.

    Args:
        worlds: Number of packs that an installed distribution offers.
        runs: Number of paired runs of each program.
        progress: Receives the name of each program when it is done.
    """
    with tempfile.TemporaryDirectory() as directory:
        sites = {count: _site(Path(directory) / str(count), count) for count in (1, worlds)}
        found: list[RegisteredCost] = []
        for name, program in PROGRAMS.items():
            for site in sites.values():  # untimed runs, so that the files are in the disk cache
                _measure(program, site)
            pairs = [(_measure(program, sites[1]), _measure(program, sites[worlds])) for _ in range(runs)]
            found.append(_cost(name, pairs))
            progress(name)
    return found


def _site(folder: Path, count: int) -> Path:
    """Create a folder in which a distribution with `count` packs appears to be installed."""
    info = folder / "many_worlds-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: many-worlds\nVersion: 1.0\n")
    points = "\n".join(f"world-{number}-v0 = many_worlds.world_{number}" for number in range(count))
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{points}\n")
    return folder


def _measure(program: str, site: Path) -> tuple[float, float]:
    """Run a program in a fresh interpreter; return its processor seconds and peak megabytes."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-c", program + _PEAK], env=environment, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, int(run.stdout.splitlines()[-1]) / 1024


def _cost(name: str, pairs: list[tuple[tuple[float, float], tuple[float, float]]]) -> RegisteredCost:
    return RegisteredCost(
        name=name,
        one_seconds=statistics.median(one[0] for one, _ in pairs),
        many_seconds=statistics.median(many[0] for _, many in pairs),
        ratio=statistics.median(many[0] / one[0] for one, many in pairs),
        one_megabytes=statistics.median(one[1] for one, _ in pairs),
        many_megabytes=statistics.median(many[1] for _, many in pairs),
    )


def registered_table(costs: list[RegisteredCost], *, worlds: int) -> Table:
    """The costs as a table."""
    rows = tuple(
        (
            cost.name,
            f"{1000 * cost.one_seconds:.0f}",
            f"{1000 * cost.many_seconds:.0f}",
            f"{cost.ratio:.3f}",
            f"{cost.many_megabytes - cost.one_megabytes:+.2f}",
        )
        for cost in costs
    )
    return Table(
        title=f"{worlds} registered worlds against one",
        columns=("program", "one, ms", f"{worlds}, ms", "ratio", "memory, MB"),
        rows=rows,
        note="Processor time of a fresh interpreter, median over pairs; the ratio is the median of the pairs' ratios.",
    )
