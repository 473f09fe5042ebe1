"""Every task of the categories that are played, and how one begins."""

import copy
import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.bfcl.served.multi import STEPS, MultiTurn
from palaestra.benchmarks.external.bfcl.served.package import CATEGORIES, CONFIG, UTILS
from palaestra.benchmarks.external.bfcl.served.single import RELEVANCE, SingleTurn
from palaestra.benchmarks.external.protocol import WireTask

PLAYED: tuple[str, ...] = (*CATEGORIES.SINGLE_TURN_CATEGORY, *CATEGORIES.MULTI_TURN_CATEGORY)


class Bfcl:
    """The benchmark."""

    def version(self) -> str:
        """Of the package."""
        return version("bfcl-eval")

    def tasks(self) -> list[WireTask]:
        """Every task, in the package's order."""
        return [_task(category, name) for category in PLAYED for name in _entries(category)]

    def begin(self, task: str, seed: int) -> SingleTurn | MultiTurn:
        """A task; nothing in it is drawn."""
        del seed
        category, _, name = task.partition("/")
        entry: dict[str, Any] = json.loads(_entries(category)[name])
        answer = _answer(category, name)
        UTILS.populate_test_cases_with_predefined_functions([entry])
        functions = copy.deepcopy(entry["function"])
        UTILS.add_language_specific_hint_to_function_doc([entry])
        if category in CATEGORIES.MULTI_TURN_CATEGORY:
            assert answer is not None
            return MultiTurn(entry, answer)
        return SingleTurn(category, entry, functions, answer)


def _task(category: str, name: str) -> WireTask:
    entry, answer = json.loads(_entries(category)[name]), _answer(category, name) or []
    many = category in CATEGORIES.MULTI_TURN_CATEGORY
    said = [message["content"] for turn in entry["question"] for message in turn if message["role"] == "user"]
    return {
        "id": f"{category}/{name}",
        "category": category,
        "split": "test",
        "max_turns": (STEPS + 1) * len(answer) if many else 1,
        "gold_calls": sum(map(len, answer)) if many else len(answer),
        "prompt": "\n".join(said),
    }


@cache
def _entries(category: str) -> Mapping[str, str]:
    """The tasks of a category, each as the line that it is, by what follows the category in its id."""
    lines = _lines(CONFIG.PROMPT_PATH / f"{CATEGORIES.VERSION_PREFIX}_{category}.json")
    return {json.loads(line)["id"].removeprefix(f"{category}_"): line for line in lines}


@cache
def _answers(category: str) -> Mapping[str, str]:
    """The answers of a category; the package joins them to its tasks by their place."""
    lines = _lines(CONFIG.POSSIBLE_ANSWER_PATH / f"{CATEGORIES.VERSION_PREFIX}_{category}.json")
    return dict(zip(_entries(category), lines, strict=True))


def _answer(category: str, name: str) -> list[Any] | None:
    return None if category in RELEVANCE else json.loads(_answers(category)[name])["ground_truth"]


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def bench(options: Mapping[str, Any]) -> Bfcl:
    """The benchmark."""
    del options
    return Bfcl()
