"""Runs tests of files in a sandbox: a pure function of their texts, so results are kept.

The program in the sandbox imports the files from its memory, runs one test after the other and calls `report` with the
values that the test came to, as `repr` writes them. They are compared here. A test that reports nothing has failed:
code that ends its interpreter, hangs or breaks the import system makes tests fail, and none pass.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TypeAlias

from palaestra.envs.worlds.coderepair.cases import ExpectedValue, read_cases
from palaestra.records import ToolCall
from palaestra.tools.sandbox import SANDBOXES, CallAnswer, Program, Sandbox, SandboxLimits, run_program, sandbox_name

Texts: TypeAlias = tuple[tuple[str, str], ...]
"""Files: paths with texts, sorted."""
SHOWN = 300
"""Characters of a value that a message shows."""
_PATIENCE = 300.0
_NOW = datetime(2026, 1, 1)
_PROGRAM = """\
import sys
from importlib.machinery import ModuleSpec

FILES = {files!r}

class Loader:
    def __init__(self, path):
        self.path = path
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(FILES[self.path], self.path, "exec"), module.__dict__)

class Finder:
    def find_spec(self, name, path=None, target=None):
        place = name.replace(".", "/")
        for file, package in ((place + ".py", False), (place + "/__init__.py", True)):
            if file in FILES:
                return ModuleSpec(name, Loader(file), origin=file, is_package=package)

sys.meta_path.insert(0, Finder())

def run(path, program, names):
    values = []
    scope = {{"__name__": path, "_note_": lambda value: values.append(repr(value)[:2000])}}
    broken = None
    try:
        exec(compile(program, path, "exec"), scope)
    except BaseException as error:
        broken = f"{{type(error).__name__}}: {{error}}"
    for name in names:
        values.clear()
        error = broken
        if error is None:
            try:
                scope[name]()
            except BaseException as raised:
                error = f"{{type(raised).__name__}}: {{raised}}"
        report(test=path + "::" + name, values=list(values), error=error and error[:2000])

for item in {tests!r}:
    run(*item)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What came of a test."""

    passed: bool
    message: str
    """Why it failed; empty where it passed."""


def run_tests(files: Mapping[str, str], tests: Mapping[str, str]) -> Mapping[str, CaseResult]:
    """Run tests against files; the results by `path::test`.

    Args:
        files: What the tests can import, by path.
        tests: The test files, by path.

    Raises:
        CapabilityError: this machine cannot run the sandbox.
        InfrastructureError: the sandbox failed.
    """
    return _run(sandbox_name(), tuple(sorted(files.items())), tuple(sorted(tests.items())))


@lru_cache(maxsize=4)
def _sandbox(backend: str) -> Sandbox:
    """The sandbox, with so much time by the wall clock that processor time decides, which load does not change."""
    found = type(SANDBOXES.get(backend))(SandboxLimits(cpu_s=3, wall_s=_PATIENCE))
    found.check()
    return found


@lru_cache(maxsize=8_192)
def _run(backend: str, files: Texts, tests: Texts) -> Mapping[str, CaseResult]:
    sandbox = _sandbox(backend)
    results: dict[str, CaseResult] = {}
    runs: list[tuple[str, str, list[str]]] = []
    expected: dict[str, tuple[ExpectedValue, ...]] = {}
    for path, text in tests:
        try:
            cases = read_cases(text)
        except SyntaxError as error:
            results[path] = CaseResult(passed=False, message=f"SyntaxError: {error}")
            continue
        runs.append((path, cases.program, list(cases.expected)))
        expected.update({f"{path}::{name}": values for name, values in cases.expected.items()})

    def answer(call: ToolCall) -> CallAnswer:
        test = str(call.arguments.get("test"))
        if test in expected and test not in results:
            results[test] = _judge(expected[test], call.arguments.get("values"), call.arguments.get("error"))
        return CallAnswer(value=None, now=_NOW)

    code = _PROGRAM.format(files=dict(files), tests=runs)
    found = run_program(
        sandbox, Program(code=code, tools={"report": "def report(**values) -> None: ..."}, now=_NOW), answer
    )
    why = "it took too long" if found.stopped in ("cpu", "wall") else found.error or "its interpreter ended"
    for test in expected:
        results.setdefault(test, CaseResult(passed=False, message=f"it did not come to its end: {why[-SHOWN:]}"))
    return dict(sorted(results.items()))


def _judge(expected: tuple[ExpectedValue, ...], values: object, error: object) -> CaseResult:
    """Compare what a test came to with what it expects."""
    found = [str(value) for value in values] if isinstance(values, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    for wanted, value in zip(expected, found, strict=False):
        if wanted.value != value:
            message = f"line {wanted.line}: {wanted.expression} is {value[:SHOWN]}, not {wanted.value[:SHOWN]}"
            return CaseResult(passed=False, message=message)
    if error is not None:
        return CaseResult(passed=False, message=str(error)[:SHOWN])
    if len(found) < len(expected):
        return CaseResult(passed=False, message="it ended before its last assertion")
    return CaseResult(passed=True, message="")
