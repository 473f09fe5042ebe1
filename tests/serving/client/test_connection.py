"""Connections that break: each request runs once, each episode counts once, and what cannot be reached is an error."""

import socket
from pathlib import Path

import pytest

from palaestra.envs.check.subject import as_action, make
from palaestra.errors import AccessError, ConfigError, ReplyError, ServerError
from palaestra.serving.client import ServedEnv, ServerConnection
from served.cutting import cut_link
from served.process import run_server
from worlds.registration import LIBRARY_ID, register

EPISODES = 12


def test_a_link_that_cuts_every_third_answer_plays_each_step_once(tmp_path: Path) -> None:
    register()
    here, waits = make(LIBRARY_ID), list[float]()
    with run_server("--quiet", "--world", "worlds.library:LIBRARY", "--show-reward", log=tmp_path / "log") as server:
        with cut_link(server.url, every=3) as link:
            there = ServedEnv(url=link.url, view="play")
            there.connection._sleep = waits.append
            for seed in range(EPISODES):
                here.reset(seed=seed)
                there.reset(seed=seed)
                for turn, call in enumerate(here.oracle(), 1):
                    played = there.step(as_action(call))
                    assert played[:4] == here.step(as_action(call))[:4]
                    assert played[4]["turn"] == turn
                assert here.end is not None
            there.close()
            assert len(waits) >= link.cuts > EPISODES
        direct = ServerConnection(server.url)
        text = direct._open().get(f"{server.url}/v1/metrics").text
        assert f'palaestra_episodes_total{{outcome="counted"}} {EPISODES}\n' in text
        assert f"palaestra_episodes_begun_total {EPISODES}\n" in text
        assert "palaestra_sessions 0\n" in text
        direct.close()


@pytest.mark.parametrize("key", ["pal_x secret", "pal_x\nsecret", "pal_\u00e4_secret", "\x00secret"])
def test_a_key_that_is_none_is_refused_at_once_and_never_shown(key: str) -> None:
    with pytest.raises(AccessError) as raised:
        ServerConnection("http://127.0.0.1:1", key=key)
    assert "secret" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("url", ["pal_secret", "http://me:secret@h:1", "http://h/?key=pal_secret"])
def test_a_key_in_place_of_an_address_is_refused_and_never_shown(url: str) -> None:
    with pytest.raises(ConfigError, match=r"as key=$") as raised:
        ServerConnection(url)
    assert "secret" not in str(raised.value)


def test_white_space_around_a_key_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALAESTRA_KEY", "  pal_b\n")
    for connection in (ServerConnection("http://h", key="pal_a\r\n"), ServerConnection("http://h")):
        assert connection._open().headers["Authorization"] in ("Bearer pal_a", "Bearer pal_b")
        connection.close()


def test_a_server_that_is_not_there_is_an_error_after_all_tries() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    waits: list[float] = []
    connection = ServerConnection(f"http://127.0.0.1:{port}", tries=4, sleep=waits.append)
    with pytest.raises(ServerError) as raised:
        connection.get("worlds")
    assert f"127.0.0.1:{port}: no answer to `worlds` in 4 tries (" in str(raised.value)
    assert str(raised.value).endswith("); is the server running? start one with `palaestra serve`")
    assert waits == [0.1, 0.2, 0.4]
    connection.close()


def test_a_server_of_something_else_is_an_error_at_once(tmp_path: Path) -> None:
    with run_server("--quiet", "--world", "worlds.library:LIBRARY", log=tmp_path / "log") as server:
        connection = ServerConnection(f"{server.url}/v1")
        with pytest.raises(ReplyError):
            connection._read(connection._open().get(f"{server.url}/v1/metrics"))
        connection.close()
