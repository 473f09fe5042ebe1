"""`palaestra worlds write` over real HTTP: repair, refusal, a reply that is cut off, and a server that is not there."""

import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from chatserver import Answer, chat, chat_server
from palaestra.cli import main
from proof.authoring.authors import ABOUT, LIBRARY, broken

Call = Callable[..., tuple[int, str]]
BAD = broken(("prefix: LN-", "prefx: LN-"))


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    def run(url: str, *arguments: str) -> tuple[int, str]:
        model = ("--base-url", url, "--model", "scribe", "--request-tries", "2", "--max-tokens", "9000")
        command = ["palaestra", "worlds", "write", "--about", ABOUT, "--out", str(tmp_path), *model, *arguments]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, output.out + output.err

    return run


def index(folder: Path) -> list[str]:
    return [draft["stage"] for draft in orjson.loads((folder / "index.json").read_bytes())]


def test_a_model_behind_a_server_repairs_its_draft_until_it_is_proved(call: Call, tmp_path: Path) -> None:
    with chat_server(chat(f"```yaml\n{BAD}```"), Answer(status=503), chat(f"Corrected:\n{LIBRARY}")) as server:
        code, text = call(server.url)
    assert (code, index(tmp_path)) == (0, ["document", "proved"]), text
    assert f"proved: {tmp_path / 'world.yaml'}" in text.replace("\n", "")
    assert len(server.asked) == 3, "the answer of status 503 is asked for again, and is no draft"
    last = server.asked[-1].body
    assert (last["model"], last["max_tokens"]) == ("scribe", 9000)
    assert "unknown key 'prefx'; did you mean 'prefix'" in last["messages"][-1]["content"]


def test_a_refusal_says_what_was_left_wrong_and_a_reply_that_is_cut_off_is_a_draft(call: Call, tmp_path: Path) -> None:
    with chat_server(chat(f"```yaml\n{LIBRARY[:900]}", finish="length")) as server:
        code, text = call(server.url, "--rounds", "1")
    assert (code, index(tmp_path)) == (1, ["document"]), text
    assert "refused: no further draft is allowed (rounds=1)" in text
    assert "the code fence around the document is not closed, so the answer may be cut off" in text


@pytest.mark.parametrize("answer", [chat(""), Answer(status=500), Answer(status=401)])
def test_a_server_that_fails_is_an_error_and_no_draft(answer: Answer, call: Call, tmp_path: Path) -> None:
    with chat_server(answer) as server:
        code, text = call(server.url)
    assert code == 1
    assert "error: " in text
    assert "no draft was judged for it, 0 are kept" in text
    assert not (tmp_path / "index.json").exists()


def test_a_server_that_is_not_there_is_an_error(call: Call) -> None:
    code, text = call("http://127.0.0.1:9/v1")
    assert (code, "the connection failed" in text) == (1, True), text
