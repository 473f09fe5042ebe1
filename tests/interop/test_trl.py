"""The adapter for TRL: conformance, what TRL makes of the tools, and a run of `GRPOTrainer` through tool calls."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
from transformers.utils import chat_template_utils

import palaestra
from adapted.conformance import FINISH, AdapterConformance, AdapterOutcome
from adapted.watched import make_watched
from palaestra.errors import CapabilityError, ConfigError
from palaestra.interop.trl import TrlEnvironment, environment_class, prompt_rows
from palaestra.records import ToolCall
from worlds.registration import LIBRARY_ID, register


class TestTrl(AdapterConformance):
    turns_hold_one_call = True

    def play(self, switches: dict[str, Any], seed: int, turns: Sequence[Sequence[ToolCall]]) -> AdapterOutcome:
        """As `GRPOTrainer` does: `reset` with the row, methods of the class by name, `get_reward`."""
        made = environment_class(lambda: make_watched(**switches))
        [row] = prompt_rows(made, [seed])
        environment = made()
        environment.reset(**row)
        read = [message["content"] for message in row["prompt"]]
        for [call] in turns:
            read.append(getattr(environment, call.tool)(**call.arguments))
        return AdapterOutcome(reward=environment.get_reward(), read="\n".join(read))


def library(**switches: Any) -> type[TrlEnvironment]:
    register()
    return environment_class(lambda: palaestra.make(LIBRARY_ID, **switches))


def test_the_methods_that_trl_offers_are_the_tools() -> None:
    made = library()
    public = {name for name in dir(made) if not name.startswith("_") and callable(getattr(made, name))}
    assert public - {"reset", "get_reward"} == {tool["function"]["name"] for tool in made._tools}


@pytest.mark.parametrize("world", ["Storefront", "ITDesk", "Insurer", "Shop"])
def test_trl_reads_the_schemas_of_the_tools(world: str) -> None:
    made = environment_class(lambda: palaestra.make(f"palaestra/{world}-v0"))
    environment, readable = made(), cast("Any", chat_template_utils)  # it has no types
    for tool in made._tools:
        said = tool["function"]
        read: dict[str, Any] = readable.get_json_schema(getattr(environment, said["name"]))["function"]
        assert (read["name"], read["description"]) == (said["name"], " ".join(said["description"].split()))
        parameters = read["parameters"]
        assert parameters.get("required", []) == said["parameters"].get("required", [])
        assert list(parameters["properties"]) == [
            *said["parameters"].get("required", []),
            *(name for name in said["parameters"]["properties"] if name not in said["parameters"].get("required", [])),
        ]
        for name, schema in said["parameters"]["properties"].items():
            kinds = schema.get("anyOf", [schema])
            stated = parameters["properties"][name]
            assert stated["description"].startswith(" ".join(schema["description"].split()))
            assert stated.get("type", "string") in {kind["type"] for kind in kinds}
            assert [kind["enum"] for kind in kinds if "enum" in kind] == ([stated["enum"]] if "enum" in stated else [])


def test_bounds_that_a_type_cannot_say_are_in_the_description() -> None:
    made = environment_class(lambda: palaestra.make("palaestra/Storefront-v0"))
    texts = [getattr(made, tool["function"]["name"]).__doc__ for tool in made._tools]
    assert any('{"maximum":99,"minimum":1}' in text for text in texts)


def test_a_prompt_of_another_episode_is_refused() -> None:
    made = library()
    first, second = prompt_rows(made, [0, 1])
    with pytest.raises(ConfigError, match="opens another episode"):
        made().reset(seed=first["seed"], prompt=second["prompt"])


def test_tools_that_change_with_the_task_are_refused() -> None:
    environment = library(noise={"renames": True})()
    with pytest.raises(CapabilityError, match="tools change"):
        environment.reset(seed=1)


def test_a_left_episode_takes_no_more_calls() -> None:
    made = library()
    environment = made()
    environment.reset(seed=0)
    reward = environment.get_reward()
    assert "episode_over" in getattr(environment, FINISH.tool)()
    assert environment.get_reward() == reward


@pytest.mark.filterwarnings("ignore")
def test_grpo_runs_through_tool_calls_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = Path(__file__).parents[2] / "examples" / "interop"
    monkeypatch.syspath_prepend(examples)  # pyright: ignore[reportUnknownMemberType]
    register()
    figures = import_module("trl_grpo").train(LIBRARY_ID, steps=2, warm_steps=160)
    assert [entry["step"] for entry in figures] == [1, 2]
    assert sum(entry["tools/call_frequency"] for entry in figures) > 0
    assert all(-1.0 <= entry["reward"] <= 1.0 for entry in figures)
