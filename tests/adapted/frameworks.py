"""Runs the checks of each adapter under the Python that has its framework, and writes what came of them.

    PYTHONPATH=tests python -m adapted.frameworks --environments .interop

A framework that passed under the same code is not run again, so a run that was killed goes on. The record is
`runs/interop/<framework>.json`; `docs/interop/log.md` is written from all of them.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from soak import code_digest

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "runs" / "interop"
LOG = ROOT / "docs" / "interop" / "log.md"


@dataclass(frozen=True, kw_only=True)
class Framework:
    """One framework: its distribution, and the file that checks its adapter."""

    name: str
    distribution: str
    checks: str
    is_shared: bool = False
    """Whether the project's own environment has it."""


FRAMEWORKS = (
    Framework(name="trl", distribution="trl", checks="tests/interop/test_trl.py", is_shared=True),
    Framework(name="verifiers", distribution="verifiers", checks="tests/interop/check_verifiers.py"),
    Framework(name="inspect", distribution="inspect-ai", checks="tests/interop/check_inspect_ai.py"),
)


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What came of a framework's checks."""

    framework: str
    distribution: str
    version: str
    command: str
    passed: int
    failed: int
    seconds: float
    """Of processor time, with child processes."""
    code: str
    """The digest of the code under test."""
    output: str
    """The last lines."""

    @property
    def is_sound(self) -> bool:
        return self.failed == 0 and self.passed > 0


def read_counts(output: str) -> tuple[int, int]:
    """How many tests passed, and how many did not, by pytest's last line."""
    found = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", output)}
    return found.get("passed", 0), found.get("failed", 0) + found.get("error", 0)


def check(framework: Framework, python: Path, *, code: str) -> CheckResult:
    """Run a framework's checks."""
    asked = f"from importlib.metadata import version; print(version({framework.distribution!r}))"
    version = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    before = _processor_seconds()
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", framework.checks],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    passed, failed = read_counts(done.stdout)
    return CheckResult(
        framework=framework.name,
        distribution=framework.distribution,
        version=version,
        command=f"python -m pytest {framework.checks}",
        passed=passed,
        failed=failed + (done.returncode != 0 and failed == 0),
        seconds=round(_processor_seconds() - before, 1),
        code=code,
        output="\n".join((done.stdout + done.stderr).splitlines()[-30:]),
    )


def log_markdown(results: list[CheckResult]) -> str:
    """The log as a page."""
    rows = [
        f"| {r.distribution} | {r.version} | `{r.command}` | {r.passed} | {r.failed} | {r.seconds:.0f} |"
        for r in results
    ]
    head = [
        "# Log of the adapters' checks",
        "",
        "`make interop` writes this page. Seconds are processor time on one core, imports and servers included.",
        "",
        "| package | version | command, in the environment of the package | passed | failed | seconds |",
        "|---|---|---|---:|---:|---:|",
    ]
    return "\n".join([*head, *rows, ""])


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read(path: Path) -> CheckResult | None:
    return CheckResult(**json.loads(path.read_text())) if path.exists() else None


def main() -> int:
    """Check every framework; 0 where all are sound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--environments", type=Path, required=True, help="The folder with an environment for each framework."
    )
    given = parser.parse_args()
    RECORDS.mkdir(parents=True, exist_ok=True)
    code, results = code_digest(ROOT), list[CheckResult]()
    for framework in FRAMEWORKS:
        record = RECORDS / f"{framework.name}.json"
        result = _read(record)
        if result is None or result.code != code or not result.is_sound:
            own = given.environments / framework.name / "bin" / "python"
            result = check(framework, Path(sys.executable) if framework.is_shared else own.absolute(), code=code)
            record.write_text(json.dumps(asdict(result), indent=1))
        print(f"{result.framework} {result.version}: {result.passed} passed, {result.failed} failed")
        if not result.is_sound:
            print(result.output)
        results.append(result)
    LOG.parent.mkdir(exist_ok=True)
    LOG.write_text(log_markdown(results))
    return 0 if all(result.is_sound for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
