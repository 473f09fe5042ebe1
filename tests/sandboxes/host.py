"""Tools for programs under test: every call is noted and answered."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from palaestra.records import Json, ToolCall
from palaestra.tools.sandbox import CallAnswer, CodeResult, Program, Sandbox, run_program

START = datetime(2026, 6, 3, 9, 0)
TOOLS = {
    "echo": "def echo(*, value: object) -> object: ...",
    "refuse": "def refuse() -> object: ...",
    "finish": "def finish() -> object: ...",
}


@dataclass
class ToolHost:
    """Answers the calls of programs: `echo` gives its argument back, `refuse` refuses, `finish` ends the episode."""

    sandbox: Sandbox
    calls: list[ToolCall] = field(default_factory=list[ToolCall])

    def answer(self, call: ToolCall) -> CallAnswer:
        self.calls.append(call)
        now = START + timedelta(seconds=10 * len(self.calls))
        if call.tool == "refuse":
            return CallAnswer(value=None, refusal=("not_found", "there is no such thing"), now=now)
        value: Json = call.arguments.get("value")
        return CallAnswer(value=value, now=now, ends=call.tool == "finish")

    def run(self, code: str, *, seed: int = 0) -> CodeResult:
        """Run a program in a fresh interpreter."""
        return run_program(self.sandbox, Program(code=code, tools=TOOLS, now=START, seed=seed), self.answer)
