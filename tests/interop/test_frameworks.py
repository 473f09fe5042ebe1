"""Every framework has its pin, its checks and its place in the document; the runner reads what pytest says."""

import tomllib
from pathlib import Path

import pytest

from adapted.frameworks import (
    CLIENTS,
    FRAMEWORKS,
    CheckResult,
    Framework,
    ServedClient,
    count_episodes,
    log_markdown,
    read_counts,
)

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda one: one.name)
def test_a_framework_is_pinned_and_the_document_states_its_version(framework: Framework) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    [pin] = [one for one in extras[framework.name] if one.startswith(f"{framework.distribution}==")]
    version = pin.partition("==")[2]
    document = (ROOT / "docs" / "interop.md").read_text()
    assert f"| {version}" in document
    assert pin in document
    assert (pin in extras["test"]) == framework.is_shared
    assert (ROOT / framework.checks).exists()


def test_the_makefile_makes_an_environment_for_each_framework_that_needs_one() -> None:
    own = " ".join(sorted(one.name for one in FRAMEWORKS if not one.is_shared))
    assert f"FRAMEWORKS := {own}\n" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("client", CLIENTS, ids=lambda one: one.name)
def test_a_client_is_pinned_and_the_document_states_its_version(client: ServedClient) -> None:
    makefile, document = (ROOT / "Makefile").read_text(), (ROOT / "docs" / "interop.md").read_text()
    assert f"CLIENTS := {' '.join(sorted(one.name for one in CLIENTS))}\n" in makefile
    [pins] = [line for line in makefile.splitlines() if line.startswith(f"PINS_{client.name} := ")]
    for pin in pins.partition(" := ")[2].split():
        package, _, version = pin.partition("==")
        assert f"{package} {version}" in document
    assert f"{client.distribution}==" in pins
    assert (ROOT / client.command[0]).exists()


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("20 passed in 140.31s (0:02:20)", (20, 0)),
        ("1 failed, 16 passed in 33.86s", (16, 1)),
        ("17 failed, 9 errors in 82.77s", (0, 26)),
        ("1 error in 0.10s", (0, 1)),
        ("no tests ran in 0.01s", (0, 0)),
    ],
)
def test_what_pytest_says_is_counted(output: str, counts: tuple[int, int]) -> None:
    assert read_counts(output) == counts


def test_the_episodes_of_an_example_are_counted() -> None:
    table = "x 1.0\n\n| world | seed | calls |\n|---|---:|---:|\n| storefront | 0 | 6 |\n| itdesk | 4 | 14 |\n"
    assert count_episodes(table) == 2
    assert count_episodes("") == 0


def test_a_framework_without_a_test_that_passed_is_not_sound() -> None:
    result = CheckResult(
        framework="x", distribution="x-y", version="1", command="c", passed=0, failed=0, seconds=2.4, code="", output=""
    )
    assert not result.is_sound
    assert "| x-y | 1 | `c` | 0 | 0 | 2 |" in log_markdown([result])
