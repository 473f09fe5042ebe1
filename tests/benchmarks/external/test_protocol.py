"""What passes over the pipe: how it is made, and how it is held to its types."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from palaestra.benchmarks.external import serve
from palaestra.benchmarks.external.protocol import answer_result, refusal_result, reply, single, tool
from palaestra.benchmarks.external.shape import ANSWERS, misfit

TASK = {
    "id": "a/b",
    "category": "a",
    "split": "test",
    "max_turns": 3,
    "gold_calls": 0,
    "prompt": "do it",
}


def test_every_argument_of_a_tool_is_required_unless_it_is_said() -> None:
    properties = {"a": {"type": "string"}, "b": {"type": "integer"}}
    assert tool("t", "d", properties)["function"]["parameters"]["required"] == ["a", "b"]
    assert tool("t", "d", properties, ["b"])["function"]["parameters"]["required"] == ["b"]
    assert tool("t", "d", properties, ())["function"]["parameters"]["required"] == []


@pytest.mark.parametrize(
    ("do", "answer"),
    [
        ("turn", reply([answer_result("x"), refusal_result("y")], points=3, end="finished")),
        ("verdict", single(points=100, passed=True, reason="so")),
        ("tasks", [TASK]),
        ("gold", None),
        ("gold", [{"calls": [{"tool": "t", "arguments": {"a": [1, None]}}], "prose": ""}]),
        ("state", ""),
        ("close", None),
    ],
)
def test_what_the_protocol_makes_fits_it(do: str, answer: Any) -> None:
    assert misfit(answer, ANSWERS[do], do) is None


@pytest.mark.parametrize(
    ("do", "answer", "why"),
    [
        ("state", 3, "state is 3, which is no str"),
        ("tasks", {}, "tasks is {}, which is no list"),
        ("tasks", [TASK, {**TASK, "max_turns": "3"}], "tasks[1].max_turns is '3', which is no int"),
        ("tasks", [{**TASK, "extra": 1}], "tasks[0] has extra too many, and lacks nothing"),
        ("turn", {**reply(), "points": True}, "turn.points is True, which is no int"),
        ("turn", {**reply(), "tools": [3]}, "turn.tools[0] is 3, which is no dict"),
        ("verdict", {**single(points=1, passed=True, reason=""), "criteria": {"a": 1}}, "verdict.criteria.a is 1"),
        ("close", 0, "close is 0, which is no NoneType"),
        ("legal", 3, "legal is 3, which is no object"),
    ],
)
def test_what_does_not_fit_is_named_by_its_place(do: str, answer: Any, why: str) -> None:
    said = misfit(answer, ANSWERS[do], do)
    assert said is not None
    assert said.startswith(why)


def test_a_long_value_is_cut_short() -> None:
    said = misfit("x" * 1_000, int, "n")
    assert said is not None
    assert len(said) < 100


class Once:
    """A bench whose one answer is given."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def version(self) -> object:
        return self._answer


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("plain é", {"ok": "plain é"}),
        ("a\ud800b", {"ok": "a?b"}),
        ("two\nlines\u2028", {"ok": "two\nlines\u2028"}),
    ],
)
def test_an_answer_is_one_line_of_json(answer: str, line: dict[str, Any]) -> None:
    written = serve._answer_line(serve.Server(Once(answer)), b'{"do": "version"}')
    assert written.count(b"\n") == 1
    assert json.loads(written) == line


@pytest.mark.parametrize("answer", [float("nan"), {1}, 1j])
def test_an_answer_that_json_cannot_hold_is_a_fault_and_not_the_end(answer: object) -> None:
    error = json.loads(serve._answer_line(serve.Server(Once(answer)), b'{"do": "version"}'))["error"]
    assert error["said"].startswith(("ValueError", "TypeError"))


@pytest.mark.parametrize(
    "request_", [b"{", b'{"do": "turn", "episode": 4}', b'{"do": "version", "episode": 1, "x": 2}']
)
def test_a_request_that_makes_no_sense_is_answered(request_: bytes) -> None:
    assert set(json.loads(serve._answer_line(serve.Server(Once("1")), request_))) <= {"error", "ok"}


@pytest.mark.parametrize("name", ["serve.py", "protocol.py"])
def test_both_sides_files_need_the_standard_library_alone(name: str) -> None:
    """Without site-packages, and without Palaestra."""
    file = Path(serve.__file__).with_name(name)
    subprocess.run([sys.executable, "-I", "-S", "-c", f"import runpy; runpy.run_path({str(file)!r})"], check=True)
