"""MiniWoB++, as it is installed, in a real browser: gold, floors, bad calls, the same bytes twice, observations."""

import re
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest

import palaestra.benchmarks.external.env as seam
from palaestra.benchmarks.external.env import ExternalEnv
from palaestra.benchmarks.external.miniwob.facts import MINIWOB
from palaestra.benchmarks.external.worker import BenchmarkProcesses
from palaestra.errors import InfrastructureError

pytestmark = pytest.mark.xdist_group("bench-miniwob")

SEED = 1_000_003
SOLVED = (
    "choose-list",
    "click-button",
    "click-checkboxes",
    "click-dialog-2",
    "click-link",
    "click-test",
    "click-test-2",
    "copy-paste",
    "enter-date",
    "enter-password",
    "enter-text",
    "login-user",
)


def made(**options: Any) -> ExternalEnv:
    """The environment, without Gymnasium's wrappers. Any: options of `gymnasium.make`."""
    env = gym.make(MINIWOB.env_id, disable_env_checker=True, **options).unwrapped
    assert isinstance(env, ExternalEnv)
    return env


@pytest.fixture(scope="module")
def pages() -> Iterator[ExternalEnv]:
    env = made()
    yield env
    env.close()


def begun(env: ExternalEnv, page: str, seed: int = SEED) -> str:
    """What is seen first."""
    observation, _ = env.reset(seed=0, options={"task": f"miniwob/{page}/{seed}"})
    return str(observation[-1]["content"])


def ref(seen: str, shown: str) -> int:
    found = re.search(rf"\[(\d+)\] {shown}", seen)
    assert found is not None, seen
    return int(found[1])


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def test_all_130_pages_are_listed_with_seeds_of_their_own_for_training(pages: ExternalEnv) -> None:
    test, train = pages.ids("test"), pages.ids("train")
    assert (len(test), len(train)) == (1_300, 1_300)
    assert len({id.split("/")[1] for id in test}) == 130
    assert not {id.split("/")[2] for id in test} & {id.split("/")[2] for id in train}


@pytest.mark.parametrize("page", SOLVED)
def test_a_script_that_sees_what_an_agent_sees_solves_it(pages: ExternalEnv, page: str) -> None:
    begun(pages, page)
    oracle = pages.oracle()
    assert oracle is not None
    info: dict[str, Any] = {}
    for action in oracle:
        *_, info = pages.step(action)
    assert (info["score"].points, info["score"].passed) == (100, True)


def test_a_page_without_a_script_has_no_gold(pages: ExternalEnv) -> None:
    begun(pages, "tic-tac-toe")
    assert pages.oracle() is None


def test_doing_nothing_and_doing_wrong_earn_nothing(pages: ExternalEnv) -> None:
    begun(pages, "click-test-2")
    *_, info = pages.step(call("finish"))
    assert (info["score"].points, info["score"].passed) == (0, False)
    seen = begun(pages, "focus-text-2")
    fields = re.findall(r"\[(\d+)\] input", seen)
    wanted = int(re.findall(r"(\d)(?:st|nd|rd|th)", seen)[0]) - 1
    wrong = next(int(field) for number, field in enumerate(fields) if number != wanted)
    *_, info = pages.step(call("click", ref=wrong))
    assert (info["score"].points, info["score"].passed) == (0, False)


JUNK = (
    call("click", ref=9_999),
    call("click", ref="1"),
    call("click"),
    call("click", ref=True),
    call("click_at", x=5_000, y=3),
    call("click_at", x="1", y=None),
    call("hover", ref=-1),
    call("type", ref=1, text=7),
    call("type", ref=1, text="x" * 5_000),
    call("select", ref=1, options=["none"]),
    call("select", ref=1, options="none"),
    call("press", key="NoSuchKey"),
    call("press", key=""),
    call("drag", ref=1, to=9_999),
    call("drag_along", points=[[1, 2]]),
    call("drag_along", points=[[1, 2], [3]]),
    call("scroll", ref=10**30, by=1),
    call("wait", seconds=10**9),
    call("fly", high=True),
)


def test_what_cannot_be_done_is_answered_and_costs_nothing(pages: ExternalEnv) -> None:
    begun(pages, "click-test")
    *_, info = pages.step(list(JUNK))
    errors = [event.error for event in info["events"]]
    assert None not in errors, [event.arguments for event in info["events"] if event.error is None]
    assert info["end"] is None
    *_, info = pages.step(call("click", ref=1))
    assert info["score"].passed


def test_nothing_is_done_after_the_end(pages: ExternalEnv) -> None:
    begun(pages, "click-test")
    *_, info = pages.step([call("click", ref=1), call("click", ref=1)])
    assert [event.error for event in info["events"]] == [None]
    assert info["score"].passed


@pytest.mark.parametrize("page", ["terminal", "click-shades", "drag-items", "stock-market"])
def test_another_process_shows_the_same_bytes(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _seen_in_a_fresh_process(page, monkeypatch) == _seen_in_a_fresh_process(page, monkeypatch)


def _seen_in_a_fresh_process(page: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    workers = BenchmarkProcesses(most=1)
    monkeypatch.setattr(seam, "WORKERS", workers)
    env = made()
    seen = [begun(env, page)]
    for _ in range(2):
        observation, *_ = env.step(call("wait", seconds=2))
        seen += [str(message["content"]) for message in observation]
    env.close()
    workers.close()
    return seen


def test_two_episodes_do_not_share_a_clipboard(pages: ExternalEnv) -> None:
    other = made()
    first, second = begun(pages, "copy-paste"), begun(other, "copy-paste", SEED + 1)
    for env, seen in ((pages, first), (other, second)):
        env.step(
            [call("click", ref=ref(seen, "textarea")), call("press", key="Control+a"), call("press", key="Control+c")]
        )
    scores: list[bool] = []
    for env, seen in ((pages, first), (other, second)):
        env.step([call("click", ref=ref(seen, "input text")), call("press", key="Control+v")])
        *_, info = env.step(call("click", ref=ref(seen, "button")))
        scores.append(info["score"].passed)
    other.close()
    assert scores == [True, True]


def test_the_accessibility_tree_has_numbers_that_can_be_acted_on() -> None:
    env = made(observation="accessibility")
    seen = begun(env, "login-user")
    name, password = re.findall(r'username "(.*?)" and the password "(.*?)"', seen)[0]
    boxes = re.findall(r"\[(\d+)\] textbox", seen)
    env.step([call("type", ref=int(box), text=text) for box, text in zip(boxes, (name, password), strict=True)])
    *_, info = env.step(call("click", ref=ref(seen, 'button "Login"')))
    env.close()
    assert info["score"].passed


def test_random_turns_fit_the_tools(pages: ExternalEnv) -> None:
    begun(pages, "login-user")
    for action in pages.legal_actions(12):
        assert action in pages.action_space


def test_an_observation_that_there_is_not_is_refused() -> None:
    with pytest.raises(InfrastructureError, match="elements, accessibility"):
        made(observation="pixels")
