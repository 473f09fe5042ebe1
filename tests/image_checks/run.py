"""Builds, runs and checks the images on an engine of their own: `PYTHONPATH=tests python -m image_checks.run`.

Writes docs/serving-images.json, and leaves nothing running. The engine, and a Debian that is made once, are those of
the sandbox's tests; packages come from where this machine takes them.
"""

import json
import platform
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from docker_engine import BASE, WORK, docker, engine, make_base
from image_checks.checks import CHECKS
from image_checks.deployment import DATABASE, PYTHON, SERVER, Deployment, compose_command
from image_checks.image_record import IMAGE_RECORD, digest_sources

BUILD_BASE = "palaestra-image-base:test"
CERTIFICATES = "/etc/pip-certificates.pem"
_MEBIBYTE = 2**20


def make_build_base(address: str) -> None:
    """Give the base, once, this machine's index of packages and the certificates that it trusts."""
    if docker(address, "image", "inspect", BUILD_BASE, check=False).returncode == 0:
        return
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    index = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    settings = ["[global]", f"cert = {CERTIFICATES}", *([f"index-url = {index}"] if index else [])]
    trusted = ssl.get_default_verify_paths().cafile
    assert trusted is not None, "this machine trusts no certificates; install ca-certificates"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(trusted, folder / "certificates.pem")
        (folder / "pip.conf").write_text("\n".join(settings) + "\n", encoding="utf-8")
        # Nothing of a build has to outlive a power cut.
        (folder / "dpkg.cfg").write_text("force-unsafe-io\n", encoding="utf-8")
        places = {
            "pip.conf": "/etc/pip.conf",
            "certificates.pem": CERTIFICATES,
            "dpkg.cfg": "/etc/dpkg/dpkg.cfg.d/fast",
        }
        lines = [f"FROM {BASE}", *(f"COPY {name} {place}" for name, place in places.items())]
        (folder / "Dockerfile").write_text("\n".join(lines) + "\n", encoding="utf-8")
        docker(address, "build", "--tag", BUILD_BASE, name)


def run_checks(deployment: Deployment) -> list[str]:
    """Run every check; the names of those that passed."""
    passed: list[str] = []
    for check in CHECKS:
        begun = time.monotonic()
        check(deployment)
        passed.append(check.__name__.replace("_", " "))
        print(f"passed in {time.monotonic() - begun:5.1f} s: {passed[-1]}", flush=True)
    return passed


def describe_images(deployment: Deployment) -> dict[str, object]:
    """Sizes, and versions of what the images hold."""
    sizes = {
        name: round(int(deployment.docker("image", "inspect", "--format", "{{.Size}}", image).stdout) / _MEBIBYTE)
        for name, image in (("server", SERVER), ("database", DATABASE))
    }
    program = (
        "import importlib.metadata as m, json, sys; "
        "print(json.dumps({d.name: d.version for d in m.distributions()} | {'Python': sys.version.split()[0]}))"
    )
    listing = deployment.docker("run", "--rm", "--network=none", f"--entrypoint={PYTHON}", SERVER, "-c", program)
    server: dict[str, str] = json.loads(listing.stdout)
    database = deployment.docker("run", "--rm", "--network=none", "--entrypoint=postgres", DATABASE, "--version")
    return {
        "mebibytes": sizes,
        "server": dict(sorted(server.items(), key=lambda item: item[0].lower())),
        "database": database.stdout.strip(),
    }


def write_record(deployment: Deployment, passed: list[str]) -> None:
    """Write what was checked and measured."""
    version = deployment.docker("version", "--format", "{{.Server.Version}}").stdout.strip()
    compose = subprocess.run([*compose_command(), "version", "--short"], capture_output=True, text=True, check=True)
    document = {
        "command": "make image-test",
        "engine": f"Docker {version}, Compose {compose.stdout.strip()}",
        "kernel": platform.release().partition("-")[0],
        "sources": digest_sources(),
        "images": describe_images(deployment),
        "measured": {name: round(value, 1) for name, value in deployment.measured.items()},
        "passed": passed,
    }
    IMAGE_RECORD.write_text(json.dumps(document, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")


def main() -> None:
    """Run everything."""
    WORK.mkdir(parents=True, exist_ok=True)
    with engine() as address, tempfile.TemporaryDirectory(dir=WORK) as folder:
        make_base(address)
        make_build_base(address)
        deployment = Deployment(address, Path(folder) / "deployment", base=BUILD_BASE)
        deployment.remove(volumes=True)  # of a run that was killed
        try:
            deployment.compose("build")
            passed = run_checks(deployment)
            write_record(deployment, passed)
        finally:
            deployment.remove(volumes=True)
    print(IMAGE_RECORD.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
