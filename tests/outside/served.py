"""The toy as it is played: a task is to count to a number. `spoil` breaks it in the way that is named."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from palaestra.benchmarks.external.protocol import (
    WireCall,
    WireOpening,
    WireReply,
    WireTask,
    WireTurn,
    WireVerdict,
    answer_result,
    refusal_result,
    reply,
    run_until,
    single,
    tool,
)

COUNT = tool("count", "Count one on, or several.", {"by": {"type": "integer", "minimum": 1, "maximum": 3}}, ())
SPOIL = tool("spoil", "Break it.", {"how": {"type": "string"}})
MORE = tool("rest", "Do nothing.", {})
BOUNDS = {"two": 2, "four": 4, "six": 6}


class Toy:
    """The tasks."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._twice, self._goldless, self._broken = bool(options["twice"]), options["goldless"], options["broken"]

    def version(self) -> str:
        return "1"

    def tasks(self) -> list[WireTask]:
        listed = [_task("count", name, "test") for name in BOUNDS] + [_task("drill", "two", "train")]
        return listed + listed[:1] if self._twice else listed

    def begin(self, task: str, seed: int) -> "Counting":
        category, _, name = task.partition("/")
        if category not in ("count", "drill"):
            raise KeyError(task)
        if name == self._broken:
            raise OSError(f"{name} is broken")
        return Counting(BOUNDS[name], seed, goldless=name == self._goldless)


def _task(category: str, name: str, split: str) -> WireTask:
    return {
        "id": f"{category}/{name}",
        "category": category,
        "split": split,
        "max_turns": 8,
        "gold_calls": BOUNDS[name],
        "prompt": f"Please {category} to {name}.",
    }


class Counting:
    """One episode."""

    def __init__(self, goal: int, seed: int, *, goldless: bool = False) -> None:
        self._goal, self._seed, self._at = goal, seed, 0
        self._goldless = goldless
        self._tools: list[dict[str, Any]] | None = None
        self._closes_badly = False

    def opening(self) -> WireOpening:
        return {
            "messages": [{"role": "user", "content": f"Count to {self._goal}. Your number is {self._seed % 7}."}],
            "tools": [COUNT, SPOIL],
            "criteria": [{"id": "counted", "text": "the goal was reached", "kind": "expect", "points": 100}],
            "prose": False,
        }

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        del prose
        self._tools = None
        results = run_until(lambda: self._at >= self._goal, self._did, calls)
        if any(result is None for result in results):  # pyright: ignore[reportUnnecessaryComparison]
            return cast("WireReply", WRONG[str(calls[0]["arguments"]["how"])]())
        over = self._at >= self._goal
        return reply(results, points=self._points(), tools=self._tools, end="finished" if over else None)

    def _points(self) -> int:
        return min(100, 100 * self._at // self._goal)

    def _did(self, call: WireCall) -> Any:
        if call["tool"] == "spoil":
            return self._spoilt(str(call["arguments"].get("how")))
        by = call["arguments"].get("by", 1)
        if call["tool"] != "count" or type(by) is not int or not 1 <= by <= 3:
            return refusal_result("count takes by, 1 to 3", "invalid_arguments")
        self._at += by
        return answer_result(f"{self._at}")

    def _spoilt(self, how: str) -> Any:
        if how in WRONG:
            return None
        if how == "tools":
            self._tools = [COUNT, SPOIL, MORE]
            return answer_result("there is more now")
        if how == "close":
            self._closes_badly = True
            return answer_result("closing will fail")
        done = SPOILS.get(how)
        return refusal_result("no such way", "invalid_arguments") if done is None else answer_result(str(done()))

    def verdict(self, end: str) -> WireVerdict:
        return single(
            points=self._points(), passed=self._at >= self._goal, reason=f"{self._at} at {end}", criterion="counted"
        )

    def gold(self) -> list[WireTurn] | None:
        return None if self._goldless else [_turn(1)] * self._goal

    def legal(self, draw: int) -> WireTurn | None:
        return _turn(1 + draw % 3)

    def state(self) -> str:
        return f"{self._goal} {self._at}"

    def close(self) -> None:
        if self._closes_badly:
            raise OSError("it does not close")


def _turn(by: int) -> WireTurn:
    return {"calls": [{"tool": "count", "arguments": {"by": by}}], "prose": ""}


def _hang() -> None:
    time.sleep(3_600)


def _raise() -> None:
    raise ZeroDivisionError("the benchmark is wrong")


def _die() -> None:
    print("last words", file=sys.stderr, flush=True)
    os._exit(7)


def _print() -> str:
    print('{"ok": "a line that looks like an answer"}', flush=True)
    os.write(1, b"and one past Python\n")
    subprocess.run([sys.executable, "-c", "print('and one from below')"], check=True)
    return "printed"


def _below() -> int:
    """A process in a session of its own, as browsers have them."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True).pid


def _leave() -> None:
    raise SystemExit(3)


SPOILS: Mapping[str, Callable[[], object]] = {
    "hang": _hang,
    "raise": _raise,
    "die": _die,
    "leave": _leave,
    "print": _print,
    "below": _below,
    "pid": os.getpid,
    "environment": lambda: sorted(os.environ),
    "folder": lambda: os.environ["TMPDIR"],
    "order": lambda: list({f"word {number}" for number in range(40)}),
    "surrogate": lambda: "a\ud800b",
    "large": lambda: "x" * 5_000_000,
    "spin": lambda: [sum(range(10_000)) for _ in iter(int, 1)],
}
WRONG: Mapping[str, Callable[[], object]] = {
    "no object": lambda: ["what"],
    "no points": lambda: {"results": [], "messages": [], "tools": None, "end": None},
    "points in words": lambda: {**reply([answer_result("x")]), "points": "all of them"},
    "not a number": lambda: {**reply([answer_result("x")]), "points": float("nan")},
    "no JSON": lambda: {**reply([answer_result("x")]), "points": {1, 2}},
    "too few results": lambda: reply([]),
    "odd end": lambda: reply([answer_result("x")], end="exploded"),
    "odd tools": lambda: reply([answer_result("x")], tools=[{"name": "bare"}]),
    "same tools": lambda: reply([answer_result("x")], tools=[COUNT, COUNT]),
    "bad message": lambda: reply([answer_result("x")], messages=[cast("Any", {"role": "user"})]),
}


def bench(options: Mapping[str, Any]) -> Toy:
    """The benchmark."""
    if options["broken_start"]:
        raise RuntimeError("it does not load")
    time.sleep(float(options["slow_start"]))
    return Toy(options)
