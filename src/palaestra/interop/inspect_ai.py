# Inspect lives under another Python than the one that checks types.
# mypy: disable-error-code="import-not-found, misc, untyped-decorator, unused-ignore"
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUntypedFunctionDecorator=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportUnknownArgumentType=false
"""Worlds as tasks of Inspect AI: a solver that plays an episode, and a scorer that returns its score.

    @task
    def storefront():
        return world_task(env_id="palaestra/Storefront-v0", switches={"split": "heldout"}, seeds=range(50))

Turns
    A model's message is one turn with all its calls; text without a call goes to the world, as in process.
Ends
    The world's end ends the sample. Inspect's limits end it from outside: it is judged as unfinished.
Void
    A fault of the world is an error of its sample, which then has no score. `eval(..., fail_on_error=False)` continues
    with the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
import orjson
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentImage,
    ContentText,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import solver
from inspect_ai.tool import ToolInfo, ToolParams

from palaestra.errors import ReplyError
from palaestra.interop.episode import AdaptedEpisode
from palaestra.interop.source import EnvSource
from palaestra.records import JsonSchema, Message
from palaestra.tools import to_openai

_SHARE = "palaestra_score"


def world_task(
    *,
    seeds: Iterable[int],
    env_id: str | None = None,
    url: str | None = None,
    world: str | None = None,
    switches: Mapping[str, Any] | None = None,
) -> Task:
    """A task with one sample for each seed.

    Args:
        seeds: The seeds of the episodes.
        env_id: The environment to make in this process.
        url: A server of worlds instead of `env_id`; its key is in `PALAESTRA_KEY`.
        world: The name of the server's world.
        switches: Further arguments of `palaestra.make` or `palaestra.connect`. Any: JSON.
    """
    samples = [Sample(id=seed, input=f"Episode {seed}.", metadata={"seed": seed}) for seed in seeds]
    return Task(
        dataset=MemoryDataset(samples),
        solver=play_world(env_id=env_id, url=url, world=world, switches=dict(switches or {})),
        scorer=world_score(),
    )


@solver
def play_world(
    env_id: str | None = None, url: str | None = None, world: str | None = None, switches: dict[str, Any] | None = None
) -> Any:
    """A solver that plays the episode of a sample's seed, without the sample's own input. Any: Inspect's solver type.

    Args:
        env_id: See `world_task`.
        url: See `world_task`.
        world: See `world_task`.
        switches: See `world_task`.
    """
    source = EnvSource(env_id=env_id, url=url, world=world, switches=switches or {})

    async def play(state: Any, generate: Any) -> Any:
        del generate  # it would run tools, but the world runs its own
        episode = AdaptedEpisode(await anyio.to_thread.run_sync(source))
        try:
            await _play(episode, state)
        finally:
            # Also after a limit, which raises: Inspect scores such a sample.
            if episode.fault is None and episode.tools:
                state.store.set(_SHARE, episode.reward())
            episode.close()
        state.completed = True
        return state

    return play


@scorer(metrics=[mean(), stderr()])
def world_score() -> Any:
    """The scorer of the episode, 1.0 for a solved task. Any: Inspect's scorer type."""

    async def score(state: Any, target: Any) -> Score:
        del target  # the rubric is code
        share = state.store.get(_SHARE)
        if share is None:
            raise ReplyError("the episode has no score; the sample does not count")
        return Score(value=float(share))

    return score


async def _play(episode: AdaptedEpisode, state: Any) -> None:
    opening = await anyio.to_thread.run_sync(partial(episode.begin, seed=int(state.metadata["seed"])))
    state.messages = _inspect_messages(opening, {})
    model = get_model()
    while not episode.is_over:
        state.output = await model.generate(state.messages, tools=[_tool_info(tool) for tool in episode.tools])
        message: ChatMessageAssistant = state.output.message
        state.messages.append(message)
        messages = await anyio.to_thread.run_sync(episode.act, _completion(state.output))
        state.messages += _inspect_messages(messages, {call.id: call.function for call in message.tool_calls or ()})


def _tool_info(tool: JsonSchema) -> ToolInfo:
    described = tool["function"]
    parameters = ToolParams.model_validate(described["parameters"])
    return ToolInfo(name=described["name"], description=described.get("description", ""), parameters=parameters)


def _completion(output: ModelOutput) -> dict[str, Any]:
    """A model's turn in the form of OpenAI's chat completions. Any: JSON."""
    message = output.message
    turn: dict[str, Any] = {"role": "assistant", "content": message.text}
    if message.tool_calls:
        turn["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.function, "arguments": _arguments(call)}}
            for call in message.tool_calls
        ]
    cut_off = output.stop_reason in ("max_tokens", "model_length")
    return {"choices": [{"message": turn, "finish_reason": "length" if cut_off else "stop"}]}


def _arguments(call: Any) -> str:
    """Arguments as JSON; those that Inspect could not parse become text that is not JSON."""
    return f"! {call.parse_error}" if call.parse_error else orjson.dumps(call.arguments).decode()


def _inspect_messages(messages: Sequence[Message], functions: Mapping[str, str]) -> list[Any]:
    """Messages in Inspect's form. Any: its classes.

    Args:
        messages: The messages of the world.
        functions: The tool's name for each call id.
    """
    return [_inspect_message(message, functions) for message in to_openai(messages)]


def _inspect_message(message: Mapping[str, Any], functions: Mapping[str, str]) -> Any:
    content = message["content"]
    if isinstance(content, list):
        content = [
            ContentText(text=part["text"]) if part["type"] == "text" else ContentImage(image=part["image_url"]["url"])
            for part in content
        ]
    if message["role"] == "system":
        return ChatMessageSystem(content=content)
    if message["role"] == "tool":
        call_id = message["tool_call_id"]
        return ChatMessageTool(content=content, tool_call_id=call_id, function=functions.get(call_id))
    return ChatMessageUser(content=content)
