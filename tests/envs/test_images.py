"""Images in observations: what tools attach is shown, recorded, forked and hashed; what cannot show it says so."""

import pickle
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import orjson
import pytest

from chatserver import chat, chat_server
from palaestra.agents import rollout
from palaestra.agents.remote import EndpointConfig, RemoteAgent, RemoteChat, RemoteChatConfig
from palaestra.agents.scripted import ScriptedAgent
from palaestra.benchmarks.viewer import render_page
from palaestra.envs import ToolEnv, check_env
from palaestra.envs.spaces import MessageSpace
from palaestra.errors import CapabilityError, InfrastructureError
from palaestra.protocols import Action
from palaestra.records import Message
from palaestra.tools import CHAT_FORMATS, Toolbox, ToolContext, tool
from palaestra.tools.images import MAX_IMAGE_BYTES, image_url
from palaestra.trajectory import Episode, read_episodes, write_episodes
from worlds.lab import LAB, bar_chart

TASK = "lab/mean-reading/0000"
PLOT: dict[str, Any] = {"tool": "plot_curve", "arguments": {"probe_id": "PRB-1"}}
OTHER: dict[str, Any] = {"tool": "plot_curve", "arguments": {"probe_id": "PRB-2"}}
UNKNOWN: dict[str, Any] = {"tool": "plot_curve", "arguments": {"probe_id": "PRB-9"}}
CALIBRATE: dict[str, Any] = {
    "tool": "calibrate",
    "arguments": {"probe_id": "PRB-3", "offset": 1.5, "curve": [1.0], "channels": [2]},
}
READ: dict[str, Any] = {"tool": "get_probe", "arguments": {"probe_id": "PRB-1"}}
"""Answers as `PLOT` does, without the image."""


def lab(**switches: Any) -> ToolEnv:
    env = gym.make("test/Lab-v0", **switches).unwrapped
    assert isinstance(env, ToolEnv)
    env.reset(seed=3, options={"task": TASK})
    return env


def images_of(message: Message) -> list[str]:
    return message.get("images", [])


def recorded() -> Episode:
    calls: list[Action] = [PLOT, {"tool": "finish", "arguments": {}}]
    return rollout(lab(), ScriptedAgent(lambda: calls), name="scripted", seed=3, task=TASK)


def test_an_answer_holds_the_image_that_its_tool_attached() -> None:
    env = lab()
    (message,), *_ = env.step(PLOT)
    assert images_of(message) == [image_url(bar_chart([v + 5 for v in orjson.loads(message["content"])["curve"]]))]
    assert (message,) in MessageSpace()
    assert "(image/png, " in env.render()


def test_an_answer_without_an_image_has_no_such_key() -> None:
    (message,), *_ = lab().step(READ)
    assert set(message) == {"role", "tool_call_id", "name", "content"}


def test_only_the_call_that_attached_it_has_the_image() -> None:
    first, second, third, *rest = lab().step([PLOT, UNKNOWN, READ])[0]
    assert not rest
    assert "images" in first
    assert "images" not in second
    assert "images" not in third


def workflow(*steps: dict[str, Any]) -> dict[str, Any]:
    """A composite call of these actions."""
    actions = [{"action": step["tool"], "arguments": step["arguments"]} for step in steps]
    return {"tool": "run_workflow", "arguments": {"steps": actions}}


@pytest.mark.parametrize("noise", [None, {"failures": 0, "latency": 2}])
def test_the_answer_of_a_composite_call_holds_the_images_of_its_actions_in_order(noise: dict[str, int] | None) -> None:
    (first,), (other,) = lab().step(PLOT)[0], lab().step(OTHER)[0]
    assert images_of(first) != images_of(other)
    (message,), *_ = lab(surface="generic", noise=noise).step(workflow(OTHER, CALIBRATE, PLOT, OTHER))
    assert len(orjson.loads(message["content"])["results"]) == 4
    assert images_of(message) == images_of(other) + images_of(first) + images_of(other)
    (message,), *_ = lab(surface="generic", noise=noise).step(workflow(CALIBRATE))
    assert "images" not in message


def test_a_composite_call_that_is_refused_shows_no_image_of_its_trial() -> None:
    (message,), *_ = lab(surface="generic").step(workflow(PLOT, UNKNOWN))
    assert "step 2, plot_curve" in orjson.loads(message["content"])["error"]["message"]
    assert "images" not in message


@pytest.mark.usefixtures("light_collections")
def test_a_world_with_images_keeps_the_contract() -> None:
    check_env(lab(), seeds=(0, 1), steps=12)


def test_the_hashes_of_an_episode_cover_images() -> None:
    plain, plotted = lab(), lab()
    events = [env.step(action)[4]["record"].events[0] for env, action in ((plain, READ), (plotted, PLOT))]
    assert plain.state_hash() == plotted.state_hash()
    assert plain.anchor() != plotted.anchor()
    assert events[0].result_digest != events[1].result_digest


def test_forks_and_restored_snapshots_show_the_same_image() -> None:
    env = lab()
    env.step(PLOT)
    copy, other = env.fork(), lab()
    other.restore(pickle.loads(pickle.dumps(env.snapshot())))
    assert env.digest() == copy.digest() == other.digest()
    assert env.episode.observation == copy.episode.observation == other.episode.observation
    assert copy.step(OTHER)[0] == other.step(OTHER)[0] == env.step(OTHER)[0]


def test_noise_leaves_the_image() -> None:
    (message,), *_ = lab(noise={"failures": 0, "latency": 2}).step(PLOT)
    assert images_of(message) == images_of(lab().step(PLOT)[0][0]) != []


def test_records_carry_images_through_a_file(tmp_path: Path) -> None:
    episode = recorded()
    write_episodes(tmp_path / "e.jsonl", [episode])
    (read,) = read_episodes(tmp_path / "e.jsonl")
    (shown,) = next(read.turns).observation
    assert images_of(shown)[0].startswith("data:image/png;base64,")
    assert read.digest() == episode.digest()
    without = replace(next(episode.turns), observation=({**shown, "images": []},))
    segment = replace(episode.segments[0], turns=(without, *episode.segments[0].turns[1:]))
    assert replace(episode, segments=(segment,)).digest() != episode.digest()


def test_the_viewer_embeds_the_image_and_nothing_else_of_it() -> None:
    page = render_page([recorded()], title="Lab")
    assert page.count("data:image/png;base64,") == 1
    assert "img-src data:" in page


@pytest.mark.parametrize("name", sorted(CHAT_FORMATS))
def test_a_text_format_refuses_an_image_rather_than_leave_it_out(name: str) -> None:
    (message,), *_ = lab().step(PLOT)
    with pytest.raises(CapabilityError, match=r"plot_curve holds an image \(image/png, \d+ bytes\), and text formats"):
        CHAT_FORMATS.get(name).rendering().following([message])


def test_a_model_elsewhere_is_sent_the_image_behind_the_answers() -> None:
    script = [
        chat(None, ("plot_curve", {"probe_id": "PRB-1"}), ("get_probe", {"probe_id": "PRB-1"})),
        chat(None, ("finish", {})),
    ]
    with chat_server(*script) as server:
        endpoint = EndpointConfig(base_url=server.url, tries=1)
        with RemoteChat(RemoteChatConfig(endpoint=endpoint, model="tiny")) as model:
            rollout(lab(), RemoteAgent(model), name="tiny", seed=3, task=TASK)
    *_, first, second, images = server.asked[1].body["messages"]
    assert [first["role"], second["role"], images["role"]] == ["tool", "tool", "user"]
    assert [part["type"] for part in images["content"]] == ["text", "image_url"]
    assert b64decode(images["content"][1]["image_url"]["url"].partition(",")[2]).startswith(b"\x89PNG")


PNG = bar_chart([1, 2, 3])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is no PNG, JPEG, GIF or WebP"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is no PNG, JPEG, GIF or WebP"),
        (b"RIFF\0\0\0\0WAVE", "is no PNG, JPEG, GIF or WebP"),
        (PNG + bytes(MAX_IMAGE_BYTES), "scale it down"),
    ],
)
def test_what_is_no_image_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        image_url(data)


@pytest.mark.parametrize(
    ("data", "kind"),
    [(PNG, "png"), (b"\xff\xd8\xff\xe0", "jpeg"), (b"GIF89a", "gif"), (b"RIFF\0\0\0\0WEBPVP8 ", "webp")],
)
def test_the_type_is_read_from_the_data(data: bytes, kind: str) -> None:
    head, _, encoded = image_url(data).partition(",")
    assert head == f"data:image/{kind};base64"
    assert b64decode(encoded) == data


@pytest.mark.parametrize(
    "url", ["https://elsewhere.example/a.png", "data:text/html;base64,AA==", "data:image/svg+xml;base64,AA==", 3]
)
def test_a_message_with_another_address_is_no_observation(url: object) -> None:
    message = {"role": "tool", "content": "{}", "images": [url]}
    assert (message,) not in MessageSpace()


def test_a_tool_that_attaches_junk_is_a_fault_of_the_world() -> None:
    @tool()
    def draw(context: ToolContext) -> object:
        """Draw."""
        context.attach(b"junk")
        return {}

    world = replace(LAB, toolbox=Toolbox([*LAB.toolbox, draw], prose_tool="reply"))
    env = lab()
    env.episode.toolbox = world.toolbox
    with pytest.raises(InfrastructureError, match="is no PNG"):
        env.step({"tool": "draw", "arguments": {}})
