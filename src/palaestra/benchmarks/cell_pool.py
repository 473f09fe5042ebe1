"""Runs the cells of an experiment in parallel, each in its own process, and starts none after a time limit."""

import fcntl
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from palaestra.durable import make_folder
from palaestra.process_pool import process_pool
from palaestra.trainers.progress import OpenProgressBar


def run_in_pool(
    cells: Mapping[str, Callable[[], None]],
    *,
    work: Path,
    jobs: int,
    minutes: float | None = None,
    bar: OpenProgressBar,
    say: Callable[[str], None],
) -> None:
    """Run cells in order.

    Args:
        cells: The functions that run the cells, by name; they are pickled.
        work: The folder of runs, for messages.
        jobs: Number of cells that run at once.
        minutes: The time after which no further cell starts.
        bar: Opens a progress bar.
        say: Receives messages about cells that start, and cells that do not fit into the time.
    """
    until = None if minutes is None else monotonic() + 60 * minutes
    left = list(cells)
    running: dict[Future[None], str] = {}
    with bar("cells", len(left)) as shown, process_pool(jobs) as pool:
        while left or running:
            while left and len(running) < jobs and (until is None or monotonic() < until):
                name = left.pop(0)
                say(f"{name}: begins; its run is in {work / name}")
                running[pool.submit(cells[name])] = name
            if not running:
                say(f"{minutes:g} minutes are over; not run: {', '.join(left)}")
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                one.result()
                shown.step(running.pop(one))


@contextmanager
def hold_lock(path: Path) -> Generator[None]:
    """Hold a lock that other cells wait for, so that they do not repeat the same work."""
    make_folder(path.parent)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
