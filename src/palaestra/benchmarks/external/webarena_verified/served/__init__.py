"""WebArena-Verified as it is played and scored: runs where webarena-verified and Playwright are installed."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.protocol import WireTask
from palaestra.benchmarks.external.webarena_verified.served.episode import BrowserEpisode, WebArenaEpisode
from palaestra.benchmarks.external.webarena_verified.served.scoring import Scorer
from palaestra.browser.driver import Browser
from palaestra.browser.program import find_program
from palaestra.browser.view import KINDS

SUBSETS = ("hard", "non-hard")


class WebArenaVerified:
    """The package's tasks.

    Args:
        options: See `bench`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        sites: Mapping[str, str] = options.get("sites") or {}
        self._sites = {site: url.rstrip("/") for site, url in sites.items()}
        self._recorded = Path(options["recorded"]) if options.get("recorded") else None
        self._storage, self._observation = options.get("storage_state"), options.get("observation") or KINDS[0]
        self._scorer = Scorer(options.get("tasks"), self._sites)
        self._subset = _subset(options.get("subset"))
        self._browser = Browser(options.get("chromium") or find_program() or "chromium")

    def version(self) -> str:
        """Of webarena-verified."""
        return version("webarena-verified")

    def tasks(self) -> list[WireTask]:
        """Every task, or those of the subset."""
        return [
            _wire(task)
            for number, task in sorted(self._scorer.tasks.items())
            if self._subset is None or number in self._subset
        ]

    def begin(self, task: str, seed: int) -> WebArenaEpisode:
        """A task in the sites, or with its recorded run.

        Raises:
            ValueError: there is neither; the message says what to do.
        """
        del seed
        number = int(task.rpartition("/")[2])
        if self._recorded is not None:
            har = self._recorded / str(number) / "network.har"
            if not har.exists():
                raise ValueError(
                    f"recorded={str(self._recorded)!r}: it holds no {number}/network.har; choose another task"
                )
            return WebArenaEpisode(self._scorer, number, har)
        lacking = [str(site) for site in self._scorer.tasks[number].sites if str(site) not in self._sites]
        if lacking:
            raise ValueError(
                f"task {number} needs the sites {', '.join(lacking)}, which are Docker images; start them with"
                f" `webarena-verified env start --site {lacking[0]}` and say where they are:"
                f' sites={{"{lacking[0]}": "http://localhost:PORT"}}; or score runs that were recorded: recorded=FOLDER'
            )
        return BrowserEpisode(
            self._scorer,
            number,
            browser=self._browser,
            sites=self._sites,
            storage=self._storage,
            observation=self._observation,
        )


def _subset(name: str | None) -> frozenset[int] | None:
    if name is None:
        return None
    if name not in SUBSETS:
        raise ValueError(f"subset={name!r}: there are {', '.join(SUBSETS)}")
    file = files("webarena_verified") / "assets" / "dataset" / "subsets" / f"webarena-verified-{name}.json"
    return frozenset(json.loads(file.read_text())["task_ids"])


def _wire(task: Any) -> WireTask:
    category = "-".join(str(site) for site in task.sites)
    return {
        "id": f"{category}/{task.task_id}",
        "category": category,
        "split": "test",
        "max_turns": 30,
        "gold_calls": 0,
        "prompt": str(task.intent),
    }


def bench(options: Mapping[str, Any]) -> WebArenaVerified:
    """The benchmark.

    Raises:
        ValueError: an option says nothing that there is.
    """
    if (options.get("observation") or KINDS[0]) not in KINDS:
        known = ", ".join(KINDS)
        raise ValueError(f"observation={options['observation']!r}: there are {known}")
    return WebArenaVerified(options)
