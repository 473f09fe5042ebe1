"""The package's own multi-turn checker beside the adapter's, on its solutions and on changed ones.

Runs under the benchmark's interpreter, as `python bfcl_second.py SRC STEP`, and writes what it found as JSON. The
package evaluates calls as text and keeps instances in its globals: neither matters for solutions of its own.
"""

import copy
import json
import sys
import types
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

Turns = list[list[dict[str, Any]]]
"""For each of the user's turns, calls. Any: JSON."""
CATEGORIES = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")


def made_known(root: Path, module: str) -> None:
    """Let `module` be imported without what stands above it."""
    folder, name = root, ""
    for part in module.split(".")[:-1]:
        folder /= part
        name = f"{name}.{part}" if name else part
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules.setdefault(name, package)


def changed(gold: Turns) -> Iterator[tuple[str, Turns]]:
    """A solution, and ways to spoil it, or not."""
    yield "gold", gold
    yield "nothing", [[] for _ in gold]
    places = [(turn, at) for turn, calls in enumerate(gold) for at in range(len(calls))]
    for turn, at in (places[0], places[len(places) // 2], places[-1]):
        call = gold[turn][at]
        yield "dropped", replaced(gold, turn, at)
        yield "twice", replaced(gold, turn, at, call, call)
        yield "unknown besides", replaced(gold, turn, at, call, {"tool": "no_such_tool", "arguments": {"a": 1}})
        yield "wrong arguments", replaced(gold, turn, at, {"tool": call["tool"], "arguments": {"no_such": "'"}})
        for name, value in call["arguments"].items():
            other = {**call["arguments"], name: spoiled(value)}
            yield "another value", replaced(gold, turn, at, {"tool": call["tool"], "arguments": other})
        if turn + 1 < len(gold):
            late = replaced(gold, turn, at)
            yield "a turn late", [*late[: turn + 1], [call, *late[turn + 1]], *late[turn + 2 :]]
        if turn:
            early = replaced(gold, turn, at)
            yield "a turn early", [*early[: turn - 1], [*early[turn - 1], call], *early[turn:]]
    yield "backwards", [calls[::-1] for calls in gold]
    yield "once more where nothing is to be called", [calls or [gold[places[0][0]][places[0][1]]] for calls in gold]


def solution(bench: Any, task: str) -> Turns:
    """The package's calls, by the user's turns."""
    turns: Turns = [[]]
    for turn in bench.begin(task, 0).gold():
        if turn["calls"]:
            turns[-1] = turn["calls"]
        else:
            turns.append([])
    return turns[:-1]


def replaced(gold: Turns, turn: int, at: int, *calls: dict[str, Any]) -> Turns:
    """A solution with other calls in the place of one."""
    turns = copy.deepcopy(gold)
    turns[turn][at : at + 1] = copy.deepcopy(calls)
    return turns


def spoiled(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value} x" if isinstance(value, str) else []


def ours(bench: Any, task: str, turns: Turns) -> dict[str, Any]:
    """The adapter's verdict."""
    session = bench.begin(task, 0)
    for calls in turns:
        if calls:
            session.turn(calls, "")
        session.turn([], "")
    verdict: dict[str, Any] = session.verdict("finished")
    return verdict


def theirs(checker: Any, backend: Any, entry: Any, answer: Any, turns: Turns) -> tuple[bool, bool]:
    """The package's verdict, and whether nothing was called where nothing was to be."""
    texts = [[[_text(call) for call in calls]] if calls else [] for calls in turns]
    for name in [str(name) for name in dir(backend)]:
        if name.endswith("_instance"):
            delattr(backend, name)
    valid = checker.multi_turn_checker(texts, answer, copy.deepcopy(entry), "", "model")["valid"]
    return valid, checker.multi_turn_irrelevance_checker(texts, answer)["valid"]


def _text(call: dict[str, Any]) -> str:
    return f"{call['tool']}({', '.join(f'{name}={value!r}' for name, value in call['arguments'].items())})"


def main(root: str, step: str) -> None:
    """Compare every `step`th task of each category."""
    above = "palaestra.benchmarks.external"
    made_known(Path(root), f"{above}.bfcl.served")
    bench = import_module(f"{above}.bfcl.served").bench({})
    multi_turn = "bfcl_eval.eval_checker.multi_turn_eval"
    checker, backend = (import_module(f"{multi_turn}.multi_turn_{name}") for name in ("checker", "utils"))
    utils: Any = import_module("bfcl_eval.utils")
    said, differences = Counter[str](), list[str]()
    for category in CATEGORIES:
        entries, answers = utils.load_dataset_entry(category), utils.load_ground_truth_entry(category)
        for number in range(0, len(entries), int(step)):
            entry, answer, task = entries[number], answers[number]["ground_truth"], f"{category}/{number}"
            assert entry["id"] == answers[number]["id"] == f"{category}_{number}"
            for how, turns in changed(solution(bench, task)):
                verdict, (valid, abstained) = ours(bench, task, turns), theirs(checker, backend, entry, answer, turns)
                said[f"{how}: {valid}"] += 1
                beside = verdict["criteria"].get("abstained", {"met": abstained})["met"]
                if (verdict["passed"], beside) != (valid, abstained):
                    differences.append(f"{task}, {how}: {valid}, {abstained} and {verdict}")
    print(json.dumps({"said": said, "differences": differences}))


if __name__ == "__main__":
    main(*sys.argv[1:])
