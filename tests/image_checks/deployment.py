"""What images/compose.yaml describes, under a name of its own: its containers, and what Docker says of them."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

from docker_engine import docker

ROOT = Path(__file__).parents[2]
COMPOSE_FILE = ROOT / "images" / "compose.yaml"
PROJECT = "palaestra-image-test"
SERVER, DATABASE = "palaestra-server:1", "palaestra-database:1"
KEYS = "/var/lib/palaestra/keys.json"
PYTHON = "/opt/palaestra/bin/python"
PATIENCE = 300
"""Seconds for which a container may take to become healthy on a busy machine."""


class Deployment:
    """The containers of one run of the checks.

    Args:
        address: The engine.
        folder: An empty folder for the password and the runs of the record.
        base: The image that both images are built from.

    Attributes:
        secrets: What no log and no description may hold, by what it is.
        measured: What the checks have measured.
    """

    def __init__(self, address: str, folder: Path, *, base: str) -> None:
        self.address = address
        self.runs = folder / "runs"
        self.runs.mkdir(parents=True)
        self._password_file = folder / "secrets" / "database-password"
        self._password_file.parent.mkdir(mode=0o700)
        self.secrets: dict[str, str] = {}
        self.change_password()
        self.ports = {"server": free_port(), "dashboard": free_port()}
        self.measured: dict[str, float] = {}
        self.variables = {
            "PALAESTRA_BASE": base,
            "PALAESTRA_BUILD_NETWORK": "host",
            "PALAESTRA_DATABASE_PASSWORD_FILE": str(self._password_file),
            "PALAESTRA_RUNS": str(self.runs),
            "PALAESTRA_PORT": str(self.ports["server"]),
            "PALAESTRA_DASHBOARD_PORT": str(self.ports["dashboard"]),
        }

    def change_password(self) -> None:
        """Write another password of the database into its file."""
        # Characters that a shell, SQL or a URL would read as their own.
        self.secrets["password"] = f"it's-%s-$HOME-\\-@/{token_hex(16)}"
        self._password_file.write_text(self.secrets["password"] + "\n", encoding="utf-8")
        self._password_file.chmod(0o444)

    def compose(
        self, *arguments: str, check: bool = True, variables: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run Compose; raises with what it wrote where it fails and `check` is set."""
        command = [*compose_command(), "--file", str(COMPOSE_FILE), "--project-name", PROJECT, *arguments]
        chosen = self.variables if variables is None else variables
        others = {name: value for name, value in os.environ.items() if not name.startswith("PALAESTRA_")}
        done = subprocess.run(
            command,
            env={**others, **chosen, "DOCKER_HOST": self.address},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, f"{' '.join(arguments)}: {done.stdout[-4_000:]}{done.stderr[-4_000:]}"
        return done

    def docker(self, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run Docker's command line."""
        done = docker(self.address, *arguments, check=False)
        assert not check or done.returncode == 0, f"docker {' '.join(arguments)}: {done.stderr}"
        return done

    def container(self, service: str) -> str:
        """The id of a service's container."""
        labels = {"project": PROJECT, "service": service, "oneoff": "False"}
        filters = [f"--filter=label=com.docker.compose.{name}={value}" for name, value in labels.items()]
        (found,) = self.docker("ps", "--all", "--quiet", "--no-trunc", *filters).stdout.split()
        return found

    def inspect(self, service: str) -> dict[str, Any]:
        """What Docker says of a service's container."""
        found: list[dict[str, Any]] = json.loads(self.docker("inspect", self.container(service)).stdout)
        return found[0]

    def state(self, service: str) -> dict[str, Any]:
        """The state of a service's container."""
        found: dict[str, Any] = self.inspect(service)["State"]
        return found

    def logs(self, service: str) -> str:
        """What a container has written."""
        done = self.docker("logs", self.container(service))
        return done.stdout + done.stderr

    def execute(self, service: str, command: Sequence[str], *, check: bool = True) -> str:
        """What a command in a container writes."""
        return self.docker("exec", self.container(service), *command, check=check).stdout

    def query(self, statement: str) -> str:
        """What the database answers, asked from within its container."""
        return self.execute("database", ["psql", "-U", "postgres", "-d", "palaestra", "-qAt", "-c", statement]).strip()

    def wait_until_healthy(self, service: str, *, process: int = 0) -> None:
        """Wait for Docker's health check.

        Args:
            service: Which one.
            process: A former process, which is not waited for.
        """

        def is_healthy() -> bool:
            state = self.state(service)
            return state["Pid"] not in (0, process) and state["Health"]["Status"] == "healthy"

        wait_until(is_healthy, f"{service} is healthy")

    def add_key(self, owner: str, *scopes: str) -> str:
        """A new key of the server, made as the document says."""
        chosen = [part for scope in scopes for part in ("--scope", scope)]
        done = self.compose("run", "--rm", "-T", "server", "keys", "add", KEYS, owner, *chosen)
        key = done.stdout.strip().splitlines()[-1]
        assert key.startswith("pal_"), done.stdout
        self.secrets[f"key of {owner}"] = key
        return key

    def url(self, service: str) -> str:
        """Where a service is published."""
        return f"http://127.0.0.1:{self.ports[service]}"

    def remove(self, *, volumes: bool) -> None:
        """Remove containers and networks, and with them the volumes where asked."""
        self.compose("down", "--remove-orphans", *(["--volumes"] if volumes else []))


def compose_command() -> list[str]:
    """The command of Compose that this machine has."""
    return ["docker-compose"] if shutil.which("docker-compose") else ["docker", "compose"]


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_until(holds: Any, what: str, *, seconds: float = PATIENCE) -> None:
    """Wait until a condition holds.

    Raises:
        TimeoutError: it does not.
    """
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:g} s until {what}")
        time.sleep(0.5)
