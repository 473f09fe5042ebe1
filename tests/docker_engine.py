"""The sandbox's tests on both backends, against a Docker Engine of their own: `python -m tests.docker_engine`.

Starts an engine in a folder of its own, makes its image from a Debian that debootstrap fetches, runs the tests, writes
what passed to docs/sandbox-docker.json, and stops the engine. It takes no network for containers and opens no port.
An engine that `DOCKER_HOST` names is used as it is, and left running.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from palaestra.tools.sandbox.docker.backend import IMAGE

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "sandbox-docker.json"
IMAGE_FOLDER = ROOT / "src" / "palaestra" / "tools" / "sandbox" / "docker" / "image"
WORK = Path(os.environ.get("PALAESTRA_DOCKER", ROOT / ".docker")).resolve()
DEBIAN = "bookworm"
BASE = f"palaestra-debian:{DEBIAN}"
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
TESTS = ("tests/tools/sandbox", "tests/envs/worlds/coderepair/test_code_repair_in_docker.py")
STALE = "tests/tools/sandbox/test_record.py"
"""Reads the record that is written after the tests."""
PATIENCE = 60
LONGEST = 160
"""Characters of a test's name in the record: some arguments are programs."""


@contextmanager
def engine() -> Generator[str]:
    """The address of an engine that runs."""
    if given := os.environ.get("DOCKER_HOST"):
        yield given
        return
    WORK.mkdir(parents=True, exist_ok=True)
    address = f"unix://{WORK}/engine.sock"
    command = [
        *("dockerd", "--data-root", f"{WORK}/data", "--exec-root", f"{WORK}/exec", "--pidfile", f"{WORK}/pid"),
        *("--host", address, "--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-forward=false"),
    ]
    with (WORK / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        for _ in range(PATIENCE):
            if docker(address, "info", check=False).returncode == 0:
                break
            if process.poll() is not None:
                raise SystemExit(f"dockerd does not start; see {WORK / 'log'}")
            time.sleep(1)
        yield address
    finally:
        process.terminate()
        process.wait(PATIENCE)


def docker(address: str, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    """Run Docker's command line."""
    command = ["docker", "--host", address, *arguments]
    return subprocess.run(command, check=check, capture_output=True, text=True)


def make_base(address: str) -> None:
    """Make the Debian that images are built from, where the engine has none."""
    if docker(address, "image", "inspect", BASE, check=False).returncode != 0:
        folder = WORK / DEBIAN
        shutil.rmtree(folder, ignore_errors=True)
        command = ["debootstrap", "--variant=minbase", "--include=python3", DEBIAN, str(folder), MIRROR]
        subprocess.run(command, check=True)
        with subprocess.Popen(["tar", "-C", str(folder), "-c", "."], stdout=subprocess.PIPE) as packed:
            subprocess.run(["docker", "--host", address, "import", "-", BASE], stdin=packed.stdout, check=True)
        shutil.rmtree(folder)


def build_image(address: str) -> None:
    """Make the sandbox's image, from a base that is made once."""
    make_base(address)
    docker(address, "build", "--network=none", "--build-arg", f"BASE={BASE}", "-t", IMAGE, str(IMAGE_FOLDER))


def run_tests(address: str) -> tuple[int, Path]:
    """Run the tests on both backends; the exit status and where the results are."""
    results = WORK / "results.xml"
    WORK.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "DOCKER_HOST": address, "PALAESTRA_TEST_SANDBOXES": "namespaces docker"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *TESTS,
        f"--ignore={STALE}",
        f"--junit-xml={results}",
        *sys.argv[1:],
    ]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode, results


def write_record(address: str, results: Path) -> None:
    """Write what passed, by test, with the backends that it passed on."""
    passed: defaultdict[str, set[str]] = defaultdict(set)
    counts: defaultdict[str, int] = defaultdict(int)
    for case in ElementTree.parse(results).iter("testcase"):  # noqa: S314  pytest wrote it
        verdict = next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")
        counts[verdict] += 1
        module, name = str(case.get("classname")).rpartition(".")[2], str(case.get("name"))
        found = re.fullmatch(r"(\w+)(?:\[(.*)\])?", name, re.DOTALL)
        assert found is not None
        parts = (found[2] or "").split("-")
        backend = next((one for one in ("docker", "namespaces") if one in parts), "no backend")
        if backend in parts:
            parts.remove(backend)
        if verdict == "passed":
            passed[" ".join((module, found[1], "-".join(parts))).strip()[:LONGEST]].add(backend)
    version = docker(address, "version", "--format", "{{.Server.Version}}").stdout.strip()
    security = docker(address, "info", "--format", "{{.SecurityOptions}} {{.Driver}} cgroup v{{.CgroupVersion}}")
    document = {
        "command": "make docker-test",
        "engine": f"Docker {version}, {security.stdout.strip()}",
        "kernel": platform.release().partition("-")[0],
        "counts": dict(sorted(counts.items())),
        "passed": by_backends(passed),
    }
    RECORD.write_text(json.dumps(document, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")


def by_backends(passed: Mapping[str, AbstractSet[str]]) -> dict[str, list[str]]:
    """The tests by the backends that they passed on, such as "docker and namespaces"."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, backends in sorted(passed.items()):
        found[" and ".join(sorted(backends))].append(name)
    return dict(sorted(found.items()))


def main() -> int:
    """Run everything; the exit status of the tests."""
    with engine() as address:
        build_image(address)
        status, results = run_tests(address)
        if status == 0:
            write_record(address, results)
        return status


if __name__ == "__main__":
    sys.exit(main())
