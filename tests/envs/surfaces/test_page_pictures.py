"""Pictures beside the text of pages: what Chromium draws is what the viewport shows, and places on it are actions."""

import subprocess
import sys
from base64 import b64decode
from hashlib import sha256
from io import BytesIO
from typing import Any

import gymnasium as gym
import pytest
from PIL import Image

from palaestra.browser import program
from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages import pictures
from palaestra.envs.surfaces.pages.dialects import DialectBrowser
from palaestra.envs.surfaces.pages.dialects.computer import place
from palaestra.envs.surfaces.pages.settings import PageSettings
from palaestra.errors import CapabilityError, UnknownNameError
from palaestra.records import Json, Message

STOREFRONT = "palaestra/Storefront-v0"


def begin_episode(task: str = "storefront/cancel-order/5000", **settings: Any) -> ToolEnv:
    env = gym.make(STOREFRONT, surface="pages", surface_settings={"renderer": "chromium", **settings})
    assert isinstance(env, ToolEnv)
    env.reset(seed=0, options={"task": task})
    return env


def act(env: ToolEnv, tool: str, **arguments: Json) -> Message:
    return env.step({"tool": tool, "arguments": arguments})[0][-1]


def picture_in(message: Message) -> bytes:
    (url,) = message.get("images", [])
    return b64decode(url.partition(",")[2])


@pytest.mark.parametrize("family", ["cancel-order", "refund-over-limit", "decline-late-return"])
@pytest.mark.parametrize("look", [{}, {"variation": "wizard"}, {"disturbances": {"percent": 40}}], ids=str)
def test_an_oracle_is_played_by_places_on_the_picture(family: str, look: dict[str, Any]) -> None:
    env = begin_episode(f"storefront/{family}/5000", dialect="computer", **look)
    seen, ended, info = 0, False, dict[str, Any]()
    for call in env.oracle():
        messages, _, ended, _, info = env.step({"tool": call.tool, "arguments": dict(call.arguments)})
        seen += sum(len(message.get("images", ())) for message in messages)
    assert ended
    assert info["score"].passed
    assert seen > 10


def test_marks_stand_where_the_elements_are_and_bear_their_numbers() -> None:
    marked, bare = (begin_episode(dialect="browser-use", marks=marks) for marks in (True, False))
    pair = [Image.open(BytesIO(picture_in(act(env, "navigate", url="/orders/ORD-1133")))) for env in (marked, bare)]
    browser = marked.episode.surface
    assert isinstance(browser, DialectBrowser)
    screen = browser.screen(marked.episode.state)
    boxes = {one.element.id: one.box for one in place(screen) if one.element.id}
    assert set(boxes) == {e.id for part in screen.elements for e in part.walk() if e.id}
    for box in boxes.values():
        assert pair[0].getpixel((box.right - 1, box.bottom - 1)) != pair[1].getpixel((box.right - 1, box.bottom - 1))
    home = boxes["nav.home"].centre
    assert browser.session.number("nav.home") == 1
    assert act(marked, "click", index=1)["content"].startswith("Current url: /\n")
    assert home[1] < 40


def test_a_picture_shows_the_viewport_alone() -> None:
    env = begin_episode(dialect="computer")
    env.step({"tool": "hotkey", "arguments": {"key": "ctrl l"}})
    whole = begin_episode(dialect="computer", extent="page")
    whole.step({"tool": "hotkey", "arguments": {"key": "ctrl l"}})
    first = Image.open(BytesIO(picture_in(act(env, "type", content="/\n"))))
    all_of_it = Image.open(BytesIO(picture_in(act(whole, "type", content="/\n"))))
    assert first.width == all_of_it.width == pictures.WIDE
    assert first.height <= all_of_it.height
    below = act(env, "click", start_box=f"({first.width - 1},{first.height + 5})")
    assert "outside" in below["content"]


def test_pictures_leave_rows_scores_and_digests_alone_and_forks_see_the_same() -> None:
    env, plain = begin_episode(), gym.make(STOREFRONT, surface="pages", surface_settings={"dialect": "plain"}).unwrapped
    assert isinstance(plain, ToolEnv)
    plain.reset(seed=0, options={"task": "storefront/cancel-order/5000"})
    fork = env.fork()
    texts = [act(one, "goto", url="/orders") for one in (env, fork, plain)]
    assert texts[0]["content"] == texts[1]["content"] == texts[2]["content"]
    assert picture_in(texts[0]) == picture_in(texts[1])
    assert "images" not in texts[2]
    assert env.digest() == fork.digest()
    assert env.episode.state.state_hash() == plain.episode.state.state_hash()


_OTHER = """
import sys
sys.path.insert(0, "tests/envs/surfaces")
from test_page_pictures import act, begin_episode, picture_in
sys.stdout.buffer.write(picture_in(act(begin_episode(), "goto", url="/orders")))
"""


def test_another_process_draws_the_same_bytes() -> None:
    own = picture_in(act(begin_episode(), "goto", url="/orders"))
    other = subprocess.run([sys.executable, "-c", _OTHER], check=True, capture_output=True).stdout
    assert sha256(own).hexdigest() == sha256(other).hexdigest()


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"renderer": "firefox"}, UnknownNameError, "renderer of pages"),
        ({"marks": True}, ValueError, "set renderer='chromium'"),
        ({"renderer": "chromium", "marks": True, "dialect": "html"}, ValueError, "'browser-use' or 'playwright-mcp'"),
        ({"renderer": "chromium", "marks": 1, "dialect": "browser-use"}, ValueError, "write True or False"),
    ],
)
def test_what_has_no_picture_or_no_numbers_is_refused(
    settings: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        PageSettings.of(settings)


def test_without_chromium_the_refusal_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "PROGRAMS", ("no-such-program",))
    monkeypatch.delenv(program.VARIABLE, raising=False)
    with pytest.raises(CapabilityError, match=program.VARIABLE):
        begin_episode(depth=7)
