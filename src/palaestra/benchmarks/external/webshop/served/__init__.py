"""WebShop as it is played: runs where thefuzz is installed, on the data of the user's checkout."""

import shutil
import subprocess
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.protocol import WireTask
from palaestra.benchmarks.external.webshop.served.catalogue import Catalogue, Goal
from palaestra.benchmarks.external.webshop.served.episode import WebShopEpisode
from palaestra.benchmarks.external.webshop.served.reward import Similar
from palaestra.benchmarks.external.webshop.served.search import Index

_SPLITS = ((0, "test"), (500, "dev"), (1_500, "train"))
"""From which goal on each split is, as the paper's own code divides them."""


class WebShop:
    """The products and the goals.

    Args:
        folder: With the data files.
        version: Of the checkout.
        most: Products that are read, if not all.
        similar: How alike two texts are, of 100.
    """

    def __init__(self, folder: Path, version: str, most: int | None, similar: Similar) -> None:
        self._version, self._similar = version, similar
        self._catalogue = Catalogue(folder, most)
        self._index = Index({product.asin: product.words for product in self._catalogue.products.values()})

    def version(self) -> str:
        """Of the checkout, where git tells it."""
        return self._version

    def tasks(self) -> list[WireTask]:
        """Every goal that people wrote."""
        return [self._task(number, goal) for number, goal in enumerate(self._catalogue.goals)]

    def _task(self, number: int, goal: Goal) -> WireTask:
        category = self._catalogue.products[goal.asin].category
        return {
            "id": f"{category}/{number:05}",
            "category": category,
            "split": next(name for first, name in reversed(_SPLITS) if number >= first),
            "max_turns": 30,
            "gold_calls": 0,
            "prompt": goal.instruction,
        }

    def begin(self, task: str, seed: int) -> WebShopEpisode:
        """A goal; nothing is left to the seed."""
        del seed
        goal = self._catalogue.goals[int(task.rpartition("/")[2])]
        return WebShopEpisode(self._catalogue, self._index, goal, self._similar)


def _version(checkout: Path) -> str:
    """The commit that is checked out; "unknown" for a folder that git knows nothing of, such as a copy of the data."""
    asked = ["git", "-C", str(checkout), "rev-parse", "--short=7", "HEAD"]
    if not (checkout / ".git").exists() or shutil.which("git") is None:
        return "unknown"  # not what some folder above it has checked out
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"  # noqa: S603


def bench(options: Mapping[str, Any]) -> WebShop:
    """The benchmark.

    Raises:
        ValueError: an option says nothing that there is.
    """
    checkout, most = Path(options["checkout"]), options.get("products")
    if most is not None and (not isinstance(most, int) or most < 1):
        raise ValueError(f"products={most!r}: a number of products is at least 1")
    fuzz: Any = import_module("thefuzz.fuzz")  # Any: it is installed where this runs, and not where types are checked
    return WebShop(Path(options.get("data") or checkout / "data"), _version(checkout), most, fuzz.token_set_ratio)
