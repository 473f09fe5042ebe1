"""images/compose.yaml: every service is shut in, nothing but the server and the dashboard is published, no secret."""

from pathlib import Path
from typing import Any

import pytest
import yaml

FILE = Path(__file__).parents[2] / "images" / "compose.yaml"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return found


def test_every_service_is_shut_in(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"server", "database", "migrate", "dashboard"}
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not {"cap_add", "privileged", "network_mode", "user"} & set(service), name


def test_published_ports_are_of_this_machine_unless_asked_otherwise(compose: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert set(published) == {"server", "dashboard"}
    for ports in published.values():
        assert all(port.startswith("${PALAESTRA_ADDRESS:-127.0.0.1}:") for port in ports)
    assert compose["services"]["database"]["networks"] == ["record"]
    assert compose["networks"]["record"] == {"internal": True}


def test_the_password_is_a_file_without_a_default(compose: dict[str, Any]) -> None:
    assert list(compose["secrets"]) == ["database-password"]
    assert compose["secrets"]["database-password"]["file"].startswith("${PALAESTRA_DATABASE_PASSWORD_FILE:?")
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            assert "PASSWORD" not in name or value == "/run/secrets/database-password"
