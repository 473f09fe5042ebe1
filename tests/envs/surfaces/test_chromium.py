"""Both renderers of pages: Chromium sends what the session in process says, and shows the same elements."""

from collections import Counter
from collections.abc import Iterator
from shutil import which
from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.chromium import Chromium, PageStep
from palaestra.envs.surfaces.pages.disturbances import END, KINDS, PASSING
from palaestra.envs.surfaces.pages.variation import FAMILIES as FAMILIES_OF_VARIATIONS
from palaestra.errors import CapabilityError
from palaestra.records import ToolCall
from palaestra.seeding import Stream

CHROMIUM = which("chromium") or "/usr/bin/chromium"
FAMILIES = ("change-address", "fix-build", "refund-over-limit", "decline-late-return")


@pytest.fixture
def chromium() -> Iterator[Chromium]:
    with Chromium(CHROMIUM) as opened:
        yield opened


def begin_episode(task: str, **switches: Any) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", surface="pages", **switches)
    assert isinstance(env, ToolEnv)
    env.reset(seed=0, options={"task": task})
    return env


def differing(steps: list[PageStep]) -> list[PageStep]:
    return [step for step in steps if not step.equal]


@pytest.mark.parametrize("family", FAMILIES)
def test_an_oracle_does_the_same_in_both(family: str, chromium: Chromium) -> None:
    env = begin_episode(f"storefront/{family}/5000")
    steps: list[PageStep] = []
    with chromium.open(env) as pages:
        for call in env.oracle()[:-1]:
            if call.tool in env.world.toolbox:
                env.step({"tool": call.tool, "arguments": dict(call.arguments)})
            else:
                steps.append(pages.act(call))
        assert pages.denied == []
    assert differing(steps) == []
    assert sum(step.sent.startswith("POST") for step in steps) >= 2


LOOKS: list[dict[str, Any]] = [
    *({"variation": variation} for variation in (*FAMILIES_OF_VARIATIONS, 0)),
    *({"disturbances": {"percent": 100, "kinds": [kind]}} for kind in KINDS),
]


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_both_agree_under_every_variation_and_disturbance(look: dict[str, Any], chromium: Chromium) -> None:
    env = begin_episode("storefront/change-address/5000", surface_settings=look)
    (kind,) = look["disturbances"]["kinds"] if "disturbances" in look else PASSING[:1]
    end = [ToolCall(tool="click", arguments={"element": END})] if kind not in PASSING else []
    calls = [
        *(ToolCall(tool="goto", arguments={"url": url}) for url in ("/orders", "/do/issue_refund")),
        *end,
        ToolCall(tool="fill", arguments={"element": "field.line_id", "text": "LIN-1"}),
        *env.oracle()[:-1],
    ]
    with chromium.open(env) as pages:
        for call in calls:
            if call.tool in env.world.toolbox:
                env.step({"tool": call.tool, "arguments": dict(call.arguments)})
            else:
                step = pages.act(call)
                assert step.equal, step


def test_random_actions_do_the_same_in_both(chromium: Chromium) -> None:
    env = begin_episode("storefront/cancel-order/5000", max_turns=1_000)
    browser, stream = env.episode.surface, Stream.root("both", 0)
    assert isinstance(browser, PageBrowser)
    steps: list[PageStep] = []
    with chromium.open(env) as pages:
        for number in range(150):
            steps.append(pages.act(browser.draw_action(env.episode.state, env.table_ids, stream.split(number))))
    assert differing(steps) == []
    assert len(Counter(step.call.tool for step in steps)) >= 4
    assert sum(bool(step.sent) for step in steps) > 50


def test_script_and_markup_are_text(chromium: Chromium) -> None:
    env = begin_episode("storefront/cancel-order/5000")
    text = "<script>document.title='owned'</script><img src=https://evil.test/x onerror=\"document.title='owned'\">"
    colleague = env.episode.state.find(env.world.schema["employees"].kind)[0].id
    with chromium.open(env) as pages:
        calls = [
            ToolCall(tool="goto", arguments={"url": "/do/send_internal_message"}),
            ToolCall(tool="fill", arguments={"element": "field.recipient_id", "text": colleague}),
            ToolCall(tool="fill", arguments={"element": "field.body", "text": text}),
            ToolCall(tool="click", arguments={"element": "send"}),
            ToolCall(tool="goto", arguments={"url": "/internal_messages"}),
        ]
        assert differing([pages.act(call) for call in calls]) == []
        assert pages.title() != "owned"
        assert pages.denied == []
    assert len(env.changes) == 1


def test_equal_actions_give_equal_pictures_in_fresh_browsers() -> None:
    pictures: set[bytes] = set()
    for _ in range(2):
        env = begin_episode("storefront/cancel-order/5000")
        with Chromium(CHROMIUM) as fresh, fresh.open(env) as pages:
            for call in env.oracle()[:6]:
                pages.act(call)
            pictures.add(pages.screenshot())
    assert len(pictures) == 1
    assert next(iter(pictures))[:4] == b"\x89PNG"


def test_a_surface_without_pages_is_refused(chromium: Chromium) -> None:
    env = gym.make("palaestra/Storefront-v0")
    assert isinstance(env, ToolEnv)
    env.reset(seed=0)
    with pytest.raises(CapabilityError, match="has no pages"):
        chromium.open(env)


def test_boxes_and_places_name_the_same_elements(chromium: Chromium) -> None:
    env = begin_episode("storefront/cancel-order/5000")
    with chromium.open(env) as pages:
        pages.act(ToolCall(tool="goto", arguments={"url": "/do/cancel_order"}))
        boxes = pages.boxes()
        assert {"nav.orders", "field.order_id", "send"} <= boxes.keys()
        assert {name: pages.locate(*box.centre) for name, box in boxes.items()} == {name: name for name in boxes}
        with pytest.raises(ValueError, match="outside the window"):
            pages.locate(1280, 10)
        first, again = pages.marked_screenshot(), pages.marked_screenshot()
        assert first == again
        assert first != pages.screenshot()


@pytest.mark.parametrize("dialect", ["browsergym", "playwright-mcp"])
def test_a_dialect_does_the_same_in_both(dialect: str, chromium: Chromium) -> None:
    env = begin_episode("storefront/cancel-order/5000", surface_settings={"dialect": dialect})
    plain = begin_episode("storefront/cancel-order/5000")
    steps: list[PageStep] = []
    with chromium.open(env) as pages:
        for call in plain.oracle()[:-1]:
            if call.tool in env.world.toolbox:
                env.step({"tool": call.tool, "arguments": dict(call.arguments)})
            else:
                steps.append(pages.act(call))
    assert differing(steps) == []
    assert sum(step.sent.startswith("POST") for step in steps) >= 1
