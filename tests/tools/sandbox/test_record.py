"""docs/sandbox-docker.json, the record of `make docker-test`, holds up against the tests that stand here."""

import json
from pathlib import Path
from typing import Any

from palaestra.tools.sandbox import SANDBOXES
from sandboxes import FORGERIES, PROBES

RECORD = Path(__file__).parents[3] / "docs" / "sandbox-docker.json"
BACKENDS = ["docker", "namespaces"]
AGAIN = "run `make docker-test`, which writes docs/sandbox-docker.json"


def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def passed_on_both(module: str) -> list[str]:
    names: list[str] = record()["passed"][" and ".join(BACKENDS)]
    return [name for name in names if name.startswith(f"{module} ")]


def test_both_backends_were_tested_and_nothing_failed_or_was_skipped() -> None:
    assert list(SANDBOXES) == BACKENDS
    assert record()["counts"].keys() == {"passed"}, AGAIN
    assert record()["passed"].keys() == {" and ".join(BACKENDS), "no backend"}, AGAIN


def test_every_probe_and_forgery_was_tried_on_both() -> None:
    names = set(passed_on_both("test_containment"))
    missing = [p.name for p in PROBES if f"test_containment test_no_probe_succeeds {p.name}" not in names]
    forgery = "test_containment test_what_is_no_request_stops_the_program"
    missing += [name for name in FORGERIES if f"{forgery} {name}" not in names]
    assert missing == [], AGAIN
    assert len(PROBES) >= 60


def test_the_conformance_suite_passed_on_both() -> None:
    assert len(passed_on_both("test_conformance")) >= 44, AGAIN
