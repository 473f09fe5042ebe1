"""`palaestra keys` and `palaestra serve`: the life of a key, and servers that must not start."""

import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from palaestra.cli.app import app
from palaestra.errors import AccessError, ConfigError, RecordError, UnknownNameError
from palaestra.serving.access import KeyRing, KeyScope, read_keys
from palaestra.serving.http import is_loopback


def run(*arguments: str) -> str:
    """What a command prints; its error where it fails."""
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output.strip()


def test_a_key_is_made_listed_rotated_and_revoked(tmp_path: Path) -> None:
    file = str(tmp_path / "keys.json")
    first = run("keys", "add", file, "trainer", "--scope", "play", "--scope", "read", "--days", "1")
    run("keys", "add", file, "watcher", "--scope", "read")
    secret = read_keys(Path(file)).handle_secret
    id_ = first.split("_")[1]
    assert first not in run("keys", "list", file)
    assert id_ in run("keys", "list", file)
    second = run("keys", "rotate", file, id_, "--overlap", "0")
    ring = KeyRing(read_keys(Path(file)).keys, clock=lambda: time.time() + 60)
    assert ring.authenticate(second).scopes == {KeyScope.PLAY, KeyScope.READ}
    with pytest.raises(AccessError):
        ring.authenticate(first)
    run("keys", "revoke", file, second.split("_")[1])
    ring.replace(read_keys(Path(file)).keys)
    with pytest.raises(AccessError, match="revoked"):
        ring.authenticate(second)
    assert len(ring) == 2
    assert read_keys(Path(file)).handle_secret == secret


def test_what_is_no_key_or_no_file_of_keys_is_told(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    with pytest.raises(RecordError, match="cannot be read"):
        run("keys", "list", str(file))
    with pytest.raises(ConfigError, match="owner="):
        run("keys", "add", str(file), "a b", "--scope", "play")
    assert not file.exists()
    run("keys", "add", str(file), "a", "--scope", "play")
    with pytest.raises(UnknownNameError):
        run("keys", "revoke", str(file), "no-such")
    file.write_text("{}")
    with pytest.raises(RecordError, match="handle_secret"):
        run("keys", "list", str(file))


def test_a_scope_that_does_not_exist_is_refused_in_plain_words(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["keys", "add", str(tmp_path / "keys.json"), "x", "--scope", "bogus"])
    shown = " ".join(result.output.replace("│", " ").split())
    assert result.exit_code == 2
    assert "Invalid value for '--scope': 'bogus' is not one of 'play', 'author', 'read', 'admin'." in shown


def test_a_server_for_other_machines_does_not_start_without_keys() -> None:
    with pytest.raises(ConfigError, match="needs keys"):
        run("serve", "--host", "0.0.0.0", "--port", "0")  # noqa: S104


def test_a_server_without_workers_cannot_place_them_by_ray() -> None:
    with pytest.raises(ConfigError, match=r"ray=auto.*--workers above 0"):
        run("serve", "--workers", "0", "--ray", "auto", "--port", "0")


def test_without_the_package_workers_on_ray_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "palaestra.serving.workers.ray_link", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    with pytest.raises(ConfigError, match=r"pip install 'palaestra\[ray\]'"):
        run("serve", "--workers", "2", "--ray", "auto", "--port", "0")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_is_this_machine_alone(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])  # noqa: S104
def test_any_other_address_is_not(host: str) -> None:
    assert not is_loopback(host)
