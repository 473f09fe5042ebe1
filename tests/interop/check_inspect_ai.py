# Inspect lives under another Python than the one that checks types; `make interop` runs this file there.
# mypy: disable-error-code="import-not-found, misc, unused-ignore"
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
"""The adapter for Inspect AI: conformance by `eval` with its own mock model."""

import tempfile
from collections.abc import Sequence
from typing import Any

import inspect_ai
import orjson
import pytest
from inspect_ai.model import ChatMessageAssistant, ModelOutput, get_model
from inspect_ai.tool import ToolCall as InspectCall

from adapted.conformance import AdapterConformance, AdapterOutcome, oracle
from adapted.watched import WATCHED_ID, register_watched
from palaestra.interop.inspect_ai import world_task
from palaestra.records import ToolCall
from worlds.registration import LIBRARY_ID


def evaluate(
    turns: Sequence[Sequence[ToolCall]],
    switches: dict[str, Any],
    *,
    seeds: Sequence[int],
    message_limit: int | None = None,
) -> tuple[Any, str]:
    """The log of an evaluation, and all that the model read. Any: Inspect's log."""
    left, read = list(turns), []

    def answer(messages: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        del choice, config
        read.append(orjson.dumps([one.model_dump(mode="json") for one in (*messages, *tools)]).decode())
        calls = [
            InspectCall(id=f"call-{len(left)}-{number}", function=call.tool, arguments=dict(call.arguments))
            for number, call in enumerate(left.pop(0))
        ]
        return ModelOutput.from_message(ChatMessageAssistant(content="", tool_calls=calls), stop_reason="tool_calls")

    with tempfile.TemporaryDirectory() as folder:
        [log] = inspect_ai.eval(
            world_task(env_id=WATCHED_ID, switches=switches, seeds=seeds),
            model=get_model("mockllm/model", custom_outputs=answer),
            log_dir=folder,
            display="none",
            message_limit=message_limit,
            fail_on_error=False,
        )
    return log, "\n".join(read)


class TestInspect(AdapterConformance):
    def play(self, switches: dict[str, Any], seed: int, turns: Sequence[Sequence[ToolCall]]) -> AdapterOutcome:
        # Two messages open an episode, and each turn adds one of the assistant's and an answer to each call.
        limit = 2 + sum(1 + len(turn) for turn in turns)
        log, read = evaluate(turns, switches, seeds=[seed], message_limit=limit)
        [sample] = log.samples
        if sample.error is not None:
            assert not sample.scores
            return AdapterOutcome(reward=None, read=read)
        return AdapterOutcome(reward=sample.scores["world_score"].value, read=read)


def test_the_mean_of_a_task_is_that_of_its_episodes() -> None:
    register_watched()
    finish = [ToolCall(tool="finish", arguments={})]
    log, _ = evaluate([*([call] for call in oracle(LIBRARY_ID, 0)), finish], {}, seeds=[0, 1])
    scores = [sample.scores["world_score"].value for sample in log.samples]
    assert scores[0] == 1.0
    assert log.results.scores[0].metrics["mean"].value == pytest.approx(sum(scores) / 2)
