"""A soak that can be killed: what passed is on record and is not run again, as long as the code is the same.

The record is `runs/soak/log.jsonl`: first the digest of the code, then a line for each test that ended. A soak under
other code begins a new record; the old one is kept beside it. `python -m tests.soak` prints a summary in Markdown.
"""

import hashlib
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LOG = ROOT / "runs" / "soak" / "log.jsonl"


def code_digest(root: Path) -> str:
    """The digest of every Python file below src/ and tests/, by name and bytes."""
    found = hashlib.sha256()
    for folder in ("src", "tests"):
        for path in sorted((root / folder).rglob("*.py")):
            found.update(f"{path.relative_to(root)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def read_log(path: Path) -> tuple[str, list[dict[str, Any]]]:
    """The digest of the code and the tests that ended; a line that a kill cut off does not count."""
    lines: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return (str(lines[0]["code"]), lines[1:]) if lines and "code" in lines[0] else ("", [])


class Soak:
    """The pytest plug-in: it leaves out what passed before, and records what ends.

    With several workers, the one process that starts them decides what is left out, so that all collect the same.

    Args:
        config: Of this process.
        log: Where the record stands.
        code: The digest of the code under test.
    """

    def __init__(self, config: pytest.Config, *, log: Path = LOG, code: str | None = None) -> None:
        given: dict[str, Any] | None = getattr(config, "workerinput", None)
        self._log = log
        self._writes = given is None
        if given is not None:
            self.passed = frozenset[str](given["passed_before"])
            return
        code = code if code is not None else code_digest(ROOT)
        before, ended = read_log(log)
        if before != code:
            log.parent.mkdir(parents=True, exist_ok=True)
            if log.exists():
                log.replace(log.with_suffix(".previous.jsonl"))
            ended = []
            self._append({"code": code})
        elif not log.read_bytes().endswith(b"\n"):  # a kill cut a line off
            with log.open("a", encoding="utf-8") as file:
                file.write("\n")
        self.passed = frozenset(line["test"] for line in ended if line["outcome"] == "passed")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what passed before; pytest's closing line counts it as deselected."""
        before = [item for item in items if item.nodeid in self.passed]
        items[:] = [item for item in items if item.nodeid not in self.passed]
        config.hook.pytest_deselected(items=before)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker what passed before."""
        node.workerinput["passed_before"] = sorted(self.passed)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a test's call, or the fixture that failed."""
        if self._writes and (report.when == "call" or report.failed):
            self._append({"test": report.nodeid, "outcome": report.outcome, "seconds": round(report.duration, 2)})

    def _append(self, line: dict[str, Any]) -> None:
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def summary(path: Path) -> Iterator[str]:
    """The lines of a Markdown table: by test function, how many cases passed and failed, and their seconds."""
    code, ended = read_log(path)
    outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seconds: Counter[str] = Counter()
    for line in {line["test"]: line for line in ended}.values():
        function = str(line["test"]).partition("[")[0]
        outcomes[function][line["outcome"]] += 1
        seconds[function] += line["seconds"]
    yield f"Code `{code}`."
    yield ""
    yield "| test | passed | failed | seconds |"
    yield "|---|---:|---:|---:|"
    for function in sorted(outcomes):
        counts = outcomes[function]
        yield f"| `{function}` | {counts['passed']:,} | {counts['failed']:,} | {seconds[function]:,.0f} |"
    total = sum(outcomes.values(), Counter[str]())
    yield f"| all | {total['passed']:,} | {total['failed']:,} | {seconds.total():,.0f} |"


def main(arguments: Sequence[str]) -> None:
    """Print the summary of a record, by default the last soak's."""
    sys.stdout.write("\n".join(summary(Path(arguments[0]) if arguments else LOG)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
