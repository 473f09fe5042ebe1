"""Runs the checks, each in a process of its own, and keeps their results."""

import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import torch

from palaestra.benchmarks.gpu.checks import CHECKS
from palaestra.benchmarks.gpu.figures import CheckResult, ContactFigure
from palaestra.benchmarks.gpu.scale import contact_scale
from palaestra.benchmarks.speed.training.machine import machine
from palaestra.errors import UnknownNameError
from palaestra.record import record
from palaestra.records import JsonObject

CHECK_SECONDS = 120.0
"""Seconds after which a check is stopped."""
_SAID = 1500
"""Number of characters that are kept from the end of an error."""


@record
class ContactReport:
    """The results of all checks of a run."""

    machine: JsonObject
    results: tuple[CheckResult, ...]

    def as_json(self) -> JsonObject:
        """The report as plain JSON."""
        return {"machine": self.machine, "checks": [result.as_json() for result in self.results]}


def run_check(name: str, device: torch.device) -> CheckResult:
    """Run one check in this process. An error of the check is part of the result.

    Raises:
        UnknownNameError: there is no check of this name.
    """
    if name not in CHECKS:
        raise UnknownNameError.of("check", name, list(CHECKS))
    figures: list[ContactFigure] = []
    error = ""
    begun = time.perf_counter()
    try:
        for figure in CHECKS[name](device, contact_scale(device.type)):
            figures.append(figure)
    except Exception:
        error = traceback.format_exc()[-_SAID:]
    return CheckResult(name=name, seconds=time.perf_counter() - begun, figures=tuple(figures), error=error)


def run_contact(
    device: torch.device,
    *,
    names: Sequence[str] = tuple(CHECKS),
    apart: bool = True,
    seconds: float = CHECK_SECONDS,
    keep: Callable[[ContactReport], None] = lambda _: None,
    progress: Callable[[str], None] = lambda _: None,
) -> ContactReport:
    """Run checks one after another.

    Args:
        device: The device to check.
        names: The names of the checks.
        apart: Whether each check runs in a process of its own.
        seconds: The time limit of a check in a process of its own.
        keep: Receives the report after each check, so that nothing is lost if the machine fails.
        progress: Receives the name of each finished check.

    Raises:
        UnknownNameError: there is no check of such a name.
    """
    for name in names:
        if name not in CHECKS:
            raise UnknownNameError.of("check", name, list(CHECKS))
    report = ContactReport(machine=machine(device), results=())
    for name in names:
        result = _run_apart(name, device, seconds) if apart else run_check(name, device)
        report = ContactReport(machine=report.machine, results=(*report.results, result))
        keep(report)
        progress(name)
    return report


def _run_apart(name: str, device: torch.device, seconds: float) -> CheckResult:
    begun = time.perf_counter()
    with TemporaryDirectory(prefix="palaestra-gpu-") as folder:
        told = Path(folder) / "result.json"
        command = [sys.executable, "-m", "palaestra", "bench", "gpu", "--device", device.type]
        try:
            done = subprocess.run(  # noqa: S603  this interpreter, and names of checks
                [*command, "--only", name, "--here", "--json", str(told)],
                timeout=seconds,
                capture_output=True,
                text=True,
                check=False,
            )
            said = f"exit status {done.returncode}: {(done.stderr or done.stdout)[-_SAID:]}"
        except subprocess.TimeoutExpired as late:
            said = f"ended after {seconds:g} s: {_text(late.stderr)[-_SAID:]}"
        taken = time.perf_counter() - begun
        if not told.is_file():
            return CheckResult(name=name, seconds=taken, error=said)
        found = CheckResult.from_json(orjson.loads(told.read_bytes())["checks"][0])
        return CheckResult(name=name, seconds=taken, figures=found.figures, error=found.error)


def _text(said: str | bytes | None) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else said or ""
