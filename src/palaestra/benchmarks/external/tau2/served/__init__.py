"""tau2-bench as it is played: runs where tau2-bench is installed.

What `import tau2` would give is looked at before it is imported, and the package's data folder is laid out first.
"""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.protocol import WireTask
from palaestra.benchmarks.external.tau2 import genuine, layout

RETRIEVALS = ("bm25_grep", "bm25", "grep_only", "golden_retrieval", "full_kb", "no_knowledge")
"""Ways to find banking's documents that need no service."""
_TURNS = 100
"""The package ends a simulation after 200 steps, those of the world counted in."""


class Tau2:
    """The domains, by category. Any: `Domain` and the module of `Episode`, which need the package to be imported."""

    def __init__(self, domains: Mapping[str, Any], episodes: Any) -> None:
        self._domains = domains
        self._episodes = episodes

    def version(self) -> str:
        """Of the package."""
        return version("tau2")

    def tasks(self) -> list[WireTask]:
        """Every task of every domain."""
        return [
            self._task(category, domain, name, task)
            for category, domain in self._domains.items()
            for name, task in domain.tasks.items()
        ]

    def _task(self, category: str, domain: Any, name: str, task: Any) -> WireTask:
        actions = task.evaluation_criteria.actions or ()
        scenario = task.user_scenario.instructions
        return {
            "id": f"{category}/{name}",
            "category": category,
            "split": domain.split(task),
            "max_turns": max(_TURNS, len(actions) + 2),
            "gold_calls": len(actions),
            "prompt": task.ticket if domain.solo else self._episodes.ScriptedUser(scenario, (), bool).request,
        }

    def begin(self, task: str, seed: int) -> Any:
        """A task; nothing in it is drawn."""
        del seed
        category, _, name = task.partition("/")
        domain = self._domains[category]
        return self._episodes.Episode(domain, domain.tasks[name])


def bench(options: Mapping[str, Any]) -> Tau2:
    """The benchmark.

    Raises:
        ImportError: `tau2` is not tau2-bench.
        FileNotFoundError: the checkout lacks files.
        ValueError: an option has no such value.
    """
    if (retrieval := options["retrieval"]) not in RETRIEVALS:
        raise ValueError(f"retrieval={retrieval!r}: choose one of {', '.join(RETRIEVALS)}; others need a service")
    genuine.demand()
    data = layout.laid_out(Path(options["checkout"]), Path(sys.prefix).parent)
    layout.airline_rebuilt(data, options["airline_from"])
    os.environ["TAU2_DATA_DIR"] = str(data)
    below = "palaestra.benchmarks.external.tau2.served"
    domains = import_module(f"{below}.domains").domains(data, retrieval)
    return Tau2(domains, import_module(f"{below}.episode"))
