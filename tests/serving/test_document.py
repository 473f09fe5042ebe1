"""The examples of docs/serving.md that need keys, run as they stand there."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palaestra
from palaestra.serving.access import KeyScope, make_key, with_keys, write_keys
from served.process import ServerProcess, run_server

DOCUMENT = Path(__file__).parents[2] / "docs" / "serving.md"


def block(text: str) -> str:
    """The one block of Python that holds a text."""
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    [found] = [one for one in blocks if text in one]
    return str(found)


@pytest.fixture(scope="module")
def keys() -> dict[str, Any]:
    """A key of an author and one of the player that the document names, with their records."""
    now = time.time()
    made = {owner: make_key(owner, [scope], now=now, lifetime=600.0) for owner, scope in OWNERS.items()}
    return {owner: {"key": key, "record": record} for owner, (key, record) in made.items()}


OWNERS = {"author": KeyScope.AUTHOR, "alice": KeyScope.PLAY}


@pytest.fixture(scope="module")
def server(keys: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("server")
    write_keys(folder / "keys.json", with_keys(None, [one["record"] for one in keys.values()]))
    arguments = ("--quiet", "--world", "worlds.library:LIBRARY", "--keys", str(folder / "keys.json"))
    with run_server(*arguments, log=folder / "log") as process:
        yield process


def test_an_author_makes_a_session_and_a_player_joins_it(
    server: ServerProcess, keys: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {"palaestra": palaestra, "url": server.url}
    names |= {"AUTHOR_KEY": keys["author"]["key"], "ALICES_KEY": keys["alice"]["key"]}
    exec(block("ALICES_KEY"), names)  # noqa: S102  our own document
    assert re.search(r"'digest': '[0-9a-f]{32}'", capsys.readouterr().out)
    assert (names["author"].view, names["player"].view) == ("author", "play")
    names["author"].close()


def test_the_client_of_the_package_mcp_plays_a_session_with_a_key(
    server: ServerProcess, keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PALAESTRA_KEY", keys["alice"]["key"])
    env = palaestra.connect(server.url)
    env.reset(seed=3)
    exec(block("streamable_http_client"), {"env": env})  # noqa: S102  our own document
    written = capsys.readouterr().out
    assert "'palaestra/turn': 1, 'palaestra/end': 'finished'" in written
    assert "'finish'" in written
    env.close()
