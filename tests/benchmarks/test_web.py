"""What pages cost: everything is measured and held to its aim, and what could not be measured is said."""

import sys
from pathlib import Path
from shutil import which

import pytest
from typer.testing import CliRunner

from palaestra.benchmarks.speed.figures import Timing
from palaestra.benchmarks.speed.web import (
    AIMS,
    FORK,
    OPENAPPS_RESET,
    OPENAPPS_ROWS,
    OPENAPPS_STEP,
    PEER_RESET,
    PEER_STEP,
    PEER_USUAL,
    RESET,
    STEP,
    WEB_QUICK,
    WebPeer,
    WebReport,
    bench_web,
    web_tables,
)
from palaestra.cli.app import app
from palaestra.errors import CapabilityError, InfrastructureError

STOREFRONT = "palaestra/Storefront-v0"
CHROMIUM = which("chromium") or "/usr/bin/chromium"


def timing(name: str, mean: float, p50: float | None = None) -> Timing:
    return Timing(name=name, mean=mean, p50=mean if p50 is None else p50, p99=mean, count=1)


def test_every_part_is_measured(tmp_path: Path) -> None:
    peer = tmp_path / "peer.py"
    peer.write_text('#!/bin/sh\necho "a word before"\necho \'{"reset": [2000000], "step": [1000, 3000]}\'\n')
    peer.chmod(0o755)
    apps = tmp_path / "apps.py"
    apps.write_text('#!/bin/sh\necho \'{"reset": [4000000], "rows": [6000], "step": [8000]}\'\n')
    apps.chmod(0o755)
    browsergym = WebPeer(python=peer, pages=tmp_path)
    report = bench_web(STOREFRONT, scale=WEB_QUICK, chromium=CHROMIUM, peer=browsergym, openapps=apps)
    peers = {PEER_RESET, PEER_STEP, PEER_USUAL, OPENAPPS_RESET, OPENAPPS_ROWS, OPENAPPS_STEP}
    assert {one.name for one in report.timings} == {*AIMS, *peers}
    assert all(one.mean > 0 for one in report.timings)
    assert (report.mean(PEER_RESET), report.mean(PEER_STEP), report.mean(PEER_USUAL)) == (2000.0, 2.0, 2.0)
    assert [report.mean(name) for name in (OPENAPPS_RESET, OPENAPPS_ROWS, OPENAPPS_STEP)] == [4000.0, 6.0, 8.0]
    assert report.missing == ()
    assert report.megabytes is not None
    assert 1 < report.megabytes < 500
    times, memory, ratios = web_tables(report)
    assert len(times.rows) == len(report.timings)
    assert memory.rows[0][1] == "65"
    assert len(ratios.rows) == 8


def test_what_could_not_be_measured_is_said() -> None:
    report = bench_web(STOREFRONT, scale=WEB_QUICK)
    assert {one.name for one in report.timings} == {RESET, STEP, FORK}
    assert report.megabytes is None
    (times,) = web_tables(report)
    assert "give its path with --chromium" in times.note
    assert "--browsergym" in times.note
    assert "--openapps" in times.note


def test_aims_are_means_and_of_forks_medians() -> None:
    report = WebReport(
        timings=(timing(RESET, 199.0), timing(STEP, 301.0), timing(FORK, 80.0, 50.0), timing(PEER_STEP, 602_000.0)),
        megabytes=66.0,
        missing=(),
    )
    times, memory, ratios = web_tables(report)
    assert [row[-1] for row in times.rows] == ["yes", "no", "yes", ""]
    assert memory.rows == (("66", "65", "no"),)
    assert ratios.rows == ((f"{PEER_STEP} / {STEP}", "2,000"),)


def test_a_peer_that_fails_is_told_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match=r"BrowserGym failed with status 1: .*No module named"):
        bench_web(
            STOREFRONT,
            scale=WEB_QUICK,
            chromium=CHROMIUM,
            peer=WebPeer(python=Path(sys.executable), pages=tmp_path),
        )


def test_openapps_that_fails_is_told_with_its_words() -> None:
    with pytest.raises(InfrastructureError, match=r"OpenApps failed with status 1: .*No module named 'open_apps"):
        bench_web(STOREFRONT, scale=WEB_QUICK, chromium=CHROMIUM, openapps=Path(sys.executable))


def test_a_world_without_pages_is_refused() -> None:
    from worlds.registration import LIBRARY_ID

    with pytest.raises(CapabilityError, match="pages"):
        bench_web(LIBRARY_ID, scale=WEB_QUICK)


def test_the_command_refuses_a_folder_without_a_peer(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["bench", "web", "--miniwob", str(tmp_path)])
    assert told.exit_code == 1
