"""Runs the checks of each adapter and client under the Python that has its framework, and writes what came of them.

    PYTHONPATH=tests python -m adapted.frameworks --environments .interop

What passed under the same code is not run again, so a run that was killed goes on. The record is
`runs/interop/<name>.json`; `docs/interop/log.md` is written from all of them. `--only NAME` runs one.
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
    Framework(name="verl", distribution="verl", checks="tests/interop/check_verl.py"),
    Framework(name="inspect", distribution="inspect-ai", checks="tests/interop/check_inspect_ai.py"),
)


@dataclass(frozen=True, kw_only=True)
class ServedClient:
    """A client of a served world: its distribution, and the example that compares it with the world in process."""

    name: str
    distribution: str
    command: tuple[str, ...]
    """Run by the project's own Python, with the client's Python behind it."""


CLIENTS = (
    ServedClient(name="openenv", distribution="openenv-core", command=("examples/interop/check_openenv.py",)),
    ServedClient(
        name="openai-agents",
        distribution="openai-agents",
        command=("examples/interop/check_mcp_agents.py", "openai_agents_client.py", "openai-agents"),
    ),
    ServedClient(
        name="langgraph",
        distribution="langgraph",
        command=("examples/interop/check_mcp_agents.py", "langgraph_client.py", "langgraph"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What came of the checks of a framework or a client."""

    framework: str
    distribution: str
    version: str
    command: str
    passed: int
    """Tests; of a client, episodes that are equal to those in process."""
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


def count_episodes(output: str) -> int:
    """How many episodes an example found equal, by the rows of its table: those whose second cell is a seed."""
    return len(re.findall(r"^\| [^|]+ \| \d+ \|", output, re.MULTILINE))


def check(framework: Framework | ServedClient, python: Path, *, code: str) -> CheckResult:
    """Run the checks of a framework or a client.

    Args:
        framework: Which.
        python: The Python that has it.
        code: The digest of the code under test.
    """
    asked = f"from importlib.metadata import version; print(version({framework.distribution!r}))"
    version = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    before = _processor_seconds()
    if isinstance(framework, Framework):
        shown = ["python", "-m", "pytest", framework.checks]
        command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", framework.checks]
    else:
        shown = ["python", *framework.command, "PYTHON"]
        command = [sys.executable, *framework.command, str(python)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    passed, failed = read_counts(done.stdout) if isinstance(framework, Framework) else (count_episodes(done.stdout), 0)
    return CheckResult(
        framework=framework.name,
        distribution=framework.distribution,
        version=version,
        command=" ".join(shown),
        passed=passed,
        failed=failed + (done.returncode != 0 and failed == 0),
        seconds=round(_processor_seconds() - before, 1),
        code=code,
        output="\n".join((done.stdout + done.stderr).splitlines()[-30:]),
    )


def log_markdown(results: list[CheckResult]) -> str:
    """The log as a page."""
    clients = {client.name for client in CLIENTS}
    head = [
        "# Log of the adapters' checks",
        "",
        "`make interop` writes this page. Seconds are processor time on one core, imports and servers included.",
        "",
        "| package | version | command, in the environment of the package | passed | failed | seconds |",
        "|---|---|---|---:|---:|---:|",
    ]
    middle = [
        "",
        "Clients of a served world, from outside its process; `PYTHON` is the one that has the package. An episode is",
        "equal if all that the client read, score and digest are those in process.",
        "",
        "| package | version | command | equal episodes | failed | seconds |",
        "|---|---|---|---:|---:|---:|",
    ]
    rows = [_row(result) for result in results if result.framework not in clients]
    return "\n".join([*head, *rows, *middle, *(_row(r) for r in results if r.framework in clients), ""])


def _row(r: CheckResult) -> str:
    return f"| {r.distribution} | {r.version} | `{r.command}` | {r.passed} | {r.failed} | {r.seconds:.0f} |"


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
    parser.add_argument("--only", help="The name of one framework or client to run; the log shows all records.")
    given = parser.parse_args()
    RECORDS.mkdir(parents=True, exist_ok=True)
    code, results = code_digest(ROOT), list[CheckResult]()
    for framework in (*FRAMEWORKS, *CLIENTS):
        record = RECORDS / f"{framework.name}.json"
        result = _read(record)
        if given.only not in (None, framework.name):
            results += [] if result is None else [result]
            continue
        if result is None or result.code != code or not result.is_sound:
            own = (given.environments / framework.name / "bin" / "python").absolute()
            is_shared = isinstance(framework, Framework) and framework.is_shared
            result = check(framework, Path(sys.executable) if is_shared else own, code=code)
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
