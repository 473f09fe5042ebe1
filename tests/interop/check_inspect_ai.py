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
from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolCall as InspectCall

from adapted.conformance import AdapterConformance, AdapterOutcome, oracle
from adapted.watched import WATCHED_ID, register_watched
from palaestra.interop.inspect_ai import world_task
from palaestra.records import ToolCall
from worlds.registration import LIBRARY_ID

pytestmark = pytest.mark.filterwarnings("ignore")  # of Inspect's own


def evaluate(
    turns: Sequence[Sequence[ToolCall]],
    switches: dict[str, Any],
    *,
    seeds: Sequence[int],
    message_limit: int | None = None,
) -> tuple[list[Any], Any, str]:
    """Samples and results of an evaluation, and all that the model read. Any: Inspect's classes."""
    left, read = list(turns), []

    def answer(messages: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        del choice, config
        read.append(orjson.dumps([one.model_dump(mode="json") for one in (*messages, *tools)]).decode())
        calls = [
            InspectCall(id=f"call-{len(left)}-{number}", function=call.tool, arguments=dict(call.arguments))
            for number, call in enumerate(left.pop(0))
        ]
        made = ModelOutput.from_message(ChatMessageAssistant(content="", tool_calls=calls), stop_reason="tool_calls")
        made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else Inspect downloads a tokenizer
        return made

    with tempfile.TemporaryDirectory() as folder:
        [log] = inspect_ai.eval(
            world_task(env_id=WATCHED_ID, switches=switches, seeds=seeds),
            model=get_model("mockllm/model", custom_outputs=answer),
            log_dir=folder,
            display="none",
            message_limit=message_limit,
            fail_on_error=False,
            max_samples=1,
        )
        samples = list(log.samples)  # they are read from the file
    return samples, log.results, "\n".join(read)


class TestInspect(AdapterConformance):
    def play(self, switches: dict[str, Any], seed: int, turns: Sequence[Sequence[ToolCall]]) -> AdapterOutcome:
        # Two messages open an episode, and each turn adds one of the assistant's and an answer to each call.
        limit = 2 + sum(1 + len(turn) for turn in turns)
        [sample], _, read = evaluate(turns, switches, seeds=[seed], message_limit=limit)
        if sample.error is not None:
            assert not sample.scores
            return AdapterOutcome(reward=None, read=read)
        return AdapterOutcome(reward=sample.scores["world_score"].value, read=read)


def test_the_mean_of_a_task_is_that_of_its_episodes() -> None:
    register_watched()
    finish = [ToolCall(tool="finish", arguments={})]
    samples, results, _ = evaluate([*([call] for call in oracle(LIBRARY_ID, 0)), finish], {}, seeds=[0, 1])
    scores = [sample.scores["world_score"].value for sample in samples]
    assert scores[0] == 1.0
    assert results.scores[0].metrics["mean"].value == pytest.approx(sum(scores) / 2)
