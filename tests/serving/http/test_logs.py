"""What the server writes down: one JSON object a request, with no key, no body and no text of an error."""

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from palaestra.serving.access import KeyScope, RateLimits, make_key, read_keys, with_keys, write_keys
from palaestra.serving.http import JsonFormatter, log_to
from palaestra.serving.log_lines import LOGGERS
from served import Door, open_door

WORD = "a-word-in-a-body"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = log_to(stream)
    yield stream
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.removeHandler(handler)
        logger.propagate = True
        logger.setLevel(logging.NOTSET)


def exercise(door: Door) -> None:
    for token in (*door.tokens, "pal_000000000000_" + "x" * 43, None):
        door.post(token, "create", {"world": "library", "request": WORD})
        door.post(token, "create", {"world": WORD})
        door.send("GET", "metrics", who=token)
        door.send("POST", "step", who=token, content=WORD.encode(), headers={"Content-Type": "application/json"})


def test_no_key_and_no_word_of_a_body_is_logged(log: io.StringIO) -> None:
    with open_door(rates=RateLimits(requests=3, burst=1)) as door:
        exercise(door)
        text = log.getvalue()
        assert len(text.splitlines()) == 4 * 8
        secrets = [part for token in door.tokens.values() for part in (token, token.split("_", 2)[2])]
        assert [secret for secret in (*secrets, WORD, "x" * 43) if secret in text] == []


def test_a_line_is_an_object_that_says_who_asked_for_what(log: io.StringIO) -> None:
    with open_door() as door:
        door.post("play", "create", {"world": "library"})
        door.post(None, "create", {"world": "library"})
    first, second = map(orjson.loads, log.getvalue().splitlines())
    assert (first["operation"], first["status"], first["owner"], first["items"]) == ("create", 200, "play", 1)
    assert (second["status"], second["code"], second["owner"]) == (401, "key", "-")


def test_of_an_exception_class_and_place_are_logged_and_not_its_text() -> None:
    try:
        raise ValueError(WORD)
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "request failed", (), __import__("sys").exc_info())
    line = orjson.loads(JsonFormatter().format(record))
    assert line["error"] == "ValueError"
    assert "test_logs.py" in line["trace"][-1]
    assert WORD not in str(line)


def test_the_file_of_keys_holds_no_key_and_others_cannot_read_it(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    token, record = make_key("trainer", [KeyScope.PLAY], now=0.0, lifetime=None)
    write_keys(path, with_keys(None, [record]))
    assert path.stat().st_mode & 0o077 == 0
    assert token.split("_", 2)[2] not in path.read_text()
    again = read_keys(path)
    assert again.keys == (record,)
    assert with_keys(again, []).handle_secret == again.handle_secret
