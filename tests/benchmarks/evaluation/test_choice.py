"""Which options an agent takes: what was said and would have no effect is refused, and the rest arrives."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from palaestra.benchmarks.evaluation.agents import AgentOptions, evaluated_agent_of, policy
from palaestra.benchmarks.evaluation.agents.policy import PolicyOptions
from palaestra.errors import ConfigError
from palaestra.records import Json

FOLDER = "./any"
SERVER: dict[str, Any] = {"base_url": "http://127.0.0.1:1/v1", "model": "m"}
FLAGS: dict[str, tuple[str, Any]] = {
    "engine": ("--engine", "native"),
    "python": ("--vllm-python", Path("python")),
    "chat_format": ("--format", "hermes"),
    "context": ("--context", 768),
    "turn": ("--turn", 48),
    "turns": ("--turns", 5),
    "rows": ("--rows", 128),
    "temperature": ("--temperature", 0.0),
    "top_p": ("--top-p", 1.0),
    "max_tokens": ("--max-tokens", 9),
    "key_variable": ("--key-variable", "KEY"),
    "seed_field": ("--seed-field", ""),
    "request": ("--request", {"x": 1}),
    "timeout": ("--timeout", 120.0),
    "request_tries": ("--request-tries", 6),
}
"""What not every agent takes, with a value; some are those that hold where nothing is said."""
OF_POLICIES = {"engine", "python", "chat_format", "context", "turn", "turns", "rows"}
OF_BOTH = {"temperature", "top_p"}
OF_SERVERS = {"max_tokens", "key_variable", "seed_field", "request", "timeout", "request_tries"}
OF_ALL = {"concurrency", "seconds", "tries"}


def refused(word: str, name: str, **options: Any) -> str:
    """What is said of one option too many."""
    with pytest.raises(ConfigError) as told:
        evaluated_agent_of(word, AgentOptions(**{name: FLAGS[name][1]}, **options))
    return str(told.value)


def described(**options: Any) -> dict[str, Any]:
    """A model behind a server, as it will be asked."""
    with evaluated_agent_of("endpoint", AgentOptions(**SERVER, **options)) as evaluated_agent:
        return evaluated_agent.describe()


def test_every_option_is_one_of_some_agents_or_of_all() -> None:
    named = {one.name for one in fields(AgentOptions)}
    assert FLAGS.keys() == OF_POLICIES | OF_BOTH | OF_SERVERS
    assert named == FLAGS.keys() | OF_ALL | SERVER.keys() | {"patience"}


@pytest.mark.parametrize("name", FLAGS)
def test_a_script_takes_none_of_them(name: str) -> None:
    said = refused("oracle", name)
    assert said.startswith(f"{FLAGS[name][0]}: oracle is a script and takes no such option; ")
    assert said.endswith("leave it out")


@pytest.mark.parametrize("name", sorted(OF_SERVERS))
def test_a_checkpoint_takes_nothing_that_is_said_to_servers(name: str) -> None:
    way_out = "--turn says how many tokens its turns have" if name == "max_tokens" else "leave it out"
    assert refused(FOLDER, name) == f"{FLAGS[name][0]}: ./any is a checkpoint and takes no such option; {way_out}"


def test_a_checkpoint_is_limited_by_tokens_alone() -> None:
    with pytest.raises(ConfigError, match=r"--seconds: \./any is a checkpoint and takes no such option; --context and"):
        evaluated_agent_of(FOLDER, AgentOptions(seconds=9.0))


@pytest.mark.parametrize("name", sorted(OF_POLICIES))
def test_a_server_takes_nothing_that_is_said_to_checkpoints(name: str) -> None:
    way_out = {
        "turn": "--max-tokens says how many tokens its replies have",
        "rows": "--concurrency says how many episodes are played side by side",
    }.get(name, "leave it out")
    expected = f"{FLAGS[name][0]}: endpoint is a model behind a server and takes no such option; {way_out}"
    assert refused("endpoint", name, **SERVER) == expected


@pytest.mark.parametrize("word", ["oracle", "endpoint"])
def test_what_is_of_all_is_taken_by_all(word: str) -> None:
    said: dict[str, Any] = {"concurrency": 3, "seconds": 9, "tries": 1, **(SERVER if word == "endpoint" else {})}
    with evaluated_agent_of(word, AgentOptions(**said)) as evaluated_agent:
        assert evaluated_agent.name == said.get("model", word)


def test_what_is_said_to_a_server_reaches_it() -> None:
    assert described() == {
        "kind": "endpoint", "model": "m", "base_url": SERVER["base_url"], "options": {}, "seed_field": "seed",
    }  # fmt: skip
    made = described(temperature=0.0, top_p=1.0, max_tokens=9, request={"min_p": 0.1}, seed_field="random_seed")
    assert made["options"] == {"temperature": 0.0, "top_p": 1.0, "max_tokens": 9, "min_p": 0.1}
    assert made["seed_field"] == "random_seed"


def test_an_empty_field_sends_no_seed_and_frees_its_name() -> None:
    made = described(seed_field="", request={"seed": 5})
    assert made["seed_field"] is None
    assert made["options"] == {"seed": 5}


@pytest.mark.parametrize(
    ("field", "way_out"),
    [
        ("temperature", "this field has a place of its own; give --temperature"),
        ("top_p", "this field has a place of its own; give --top-p"),
        ("max_tokens", "this field has a place of its own; give --max-tokens"),
        ("model", "this field has a place of its own; give --model"),
        ("messages", "this field has a place of its own; each request sets it by itself, so leave it out"),
        ("tools", "this field has a place of its own; each request sets it by itself, so leave it out"),
        ("seed", "each episode's own seed goes into this field; --seed says from which they are drawn"),
    ],
)
def test_a_field_that_a_flag_sets_is_no_further_one(field: str, way_out: str) -> None:
    request: dict[str, Json] = {field: 1}
    with pytest.raises(ConfigError) as told:
        described(request=request)
    assert str(told.value).startswith(f"--request {field}: {way_out}")


def test_a_seed_goes_into_no_field_of_something_else() -> None:
    with pytest.raises(ConfigError, match="--request random_seed: each episode's own seed goes into this field"):
        described(seed_field="random_seed", request={"random_seed": 1})
    with pytest.raises(ConfigError, match="--seed-field model: a request has something else there; name another"):
        described(seed_field="model")


def test_a_checkpoint_plays_as_it_is_said_and_as_usual_where_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[PolicyOptions] = []

    def native(_folder: Path, options: PolicyOptions, *, format_name: str | None) -> None:
        assert format_name is None
        made.append(options)

    monkeypatch.setattr(policy, "native", native)
    evaluated_agent_of(FOLDER, AgentOptions())
    evaluated_agent_of(FOLDER, AgentOptions(context=9, turn=3, turns=4, rows=2, temperature=0.5, top_p=0.9))
    assert [(one.context, one.turn, one.turns, one.rows, one.temperature, one.top_p) for one in made] == [
        (1024, 72, None, 128, 1.0, 1.0),
        (9, 3, 4, 2, 0.5, 0.9),
    ]


def test_an_interpreter_for_vllm_is_for_vllm() -> None:
    with pytest.raises(ConfigError, match="--vllm-python: our own engine runs in this interpreter; give --engine vllm"):
        evaluated_agent_of(FOLDER, AgentOptions(python=Path("python")))
