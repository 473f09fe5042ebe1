"""MiniWoB++ as it is played: runs where miniwob and Playwright are installed."""

from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.miniwob.served.episode import MiniWoBEpisode
from palaestra.benchmarks.external.protocol import WireTask
from palaestra.browser.driver import Browser
from palaestra.browser.program import find_program
from palaestra.browser.view import KINDS

SEEDS = {"test": range(1_000_000, 1_000_010), "train": range(10)}


class MiniWoB:
    """Every page of the package, with each seed."""

    def __init__(self, program: str, observation: str) -> None:
        spec = find_spec("miniwob")
        assert spec is not None
        assert spec.submodule_search_locations
        self._folder = Path(spec.submodule_search_locations[0]) / "html" / "miniwob"
        self._pages = sorted(page.stem for page in self._folder.glob("*.html"))
        self._browser = Browser(program)
        self._observation = observation

    def version(self) -> str:
        """Of miniwob."""
        return version("miniwob")

    def tasks(self) -> list[WireTask]:
        """Every page with every seed."""
        return [_task(page, split, seed) for page in self._pages for split, seeds in SEEDS.items() for seed in seeds]

    def begin(self, task: str, seed: int) -> MiniWoBEpisode:
        """A page; its own seed is in its name."""
        del seed
        page, _, own = task.partition("/")
        return MiniWoBEpisode(self._browser, self._folder / f"{page}.html", page, int(own), self._observation)


def _task(page: str, split: str, seed: int) -> WireTask:
    return {
        "id": f"{page}/{seed}",
        "category": page,
        "split": split,
        "max_turns": 20,
        "gold_calls": 0,
        "prompt": f"MiniWoB++ {page} with seed {seed}",
    }


def bench(options: Mapping[str, Any]) -> MiniWoB:
    """The benchmark.

    Raises:
        ValueError: an option says nothing that there is.
    """
    observation, given = options.get("observation", KINDS[0]), options.get("chromium")
    if observation not in KINDS:
        known = ", ".join(KINDS)
        raise ValueError(f"observation={observation!r}: there are {known}")
    program = given or find_program()
    if program is None or not Path(program).exists():
        raise ValueError(f"chromium={given!r}: no such program; install your system's chromium, or say where it is")
    return MiniWoB(program, observation)
