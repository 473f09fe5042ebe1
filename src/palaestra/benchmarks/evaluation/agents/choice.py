"""Choosing an evaluated agent by its word."""

import math
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from palaestra.benchmarks.evaluation.agents.agent import EvaluatedAgent
from palaestra.benchmarks.evaluation.agents.scripted import AGENT_NAMES, EvaluatedScript
from palaestra.errors import ConfigError, UnknownNameError
from palaestra.record import record
from palaestra.records import Json
from palaestra.trainers.pretrained import MODELS, checkpoint_of

if TYPE_CHECKING:  # their dependencies are not always installed
    from palaestra.benchmarks.evaluation.agents.endpoint import EvaluatedEndpoint
    from palaestra.benchmarks.evaluation.agents.policy import EvaluatedPolicy

ENDPOINT = "endpoint"
"""The word for a model behind a server."""
AgentKind: TypeAlias = Literal["a script", "a checkpoint", "a model behind a server"]
_T = TypeVar("_T")

_CHECKPOINT: tuple[AgentKind, ...] = ("a checkpoint",)
_SERVER: tuple[AgentKind, ...] = ("a model behind a server",)
_TAKEN_BY: Mapping[str, tuple[AgentKind, ...]] = {
    "engine": _CHECKPOINT,
    "python": _CHECKPOINT,
    "chat_format": _CHECKPOINT,
    "context": _CHECKPOINT,
    "turn": _CHECKPOINT,
    "turns": _CHECKPOINT,
    "rows": _CHECKPOINT,
    "temperature": (*_CHECKPOINT, *_SERVER),
    "top_p": (*_CHECKPOINT, *_SERVER),
    "max_tokens": _SERVER,
    "key_variable": _SERVER,
    "seed_field": _SERVER,
    "request": _SERVER,
    "timeout": _SERVER,
    "request_tries": _SERVER,
    "seconds": ("a script", *_SERVER),
}
"""The agents that take each option. Options not listed here are for all agents, or name the agent."""
_FLAGS = {"python": "--vllm-python", "chat_format": "--format"}
"""Options whose flags have another name."""
_WAYS_OUT: Mapping[tuple[str, AgentKind], str] = {
    ("engine", "a script"): "--engine says what draws a checkpoint's tokens, so leave it out",
    ("seconds", "a checkpoint"): "--context and --turn limit it, and do so alike on every machine",
    ("max_tokens", "a checkpoint"): "--turn says how many tokens its turns have",
    ("turn", "a model behind a server"): "--max-tokens says how many tokens its replies have",
    ("rows", "a model behind a server"): "--concurrency says how many episodes are played side by side",
}
_FIELDS: Mapping[str, str] = {
    "temperature": "give --temperature",
    "top_p": "give --top-p",
    "max_tokens": "give --max-tokens",
    "model": "give --model",
    "messages": "each request sets it by itself, so leave it out",
    "tools": "each request sets it by itself, so leave it out",
}
"""Fields of a request that are not set by `--request` or `--seed-field`."""


@record
class AgentOptions:
    """Options of agents. `None` means not given; a given option that the agent does not take is refused."""

    engine: Literal["native", "vllm"] | None = None
    """The engine of a checkpoint. Default: "native"."""
    python: Path | None = None
    """A Python interpreter with vLLM."""
    chat_format: str | None = None
    """The chat format of a checkpoint that does not name one."""
    context: int | None = None
    """Maximum tokens of a checkpoint's episode. Default: 1,024."""
    turn: int | None = None
    """Maximum tokens of a checkpoint's turn. Default: 72."""
    turns: int | None = None
    """Maximum turns of a checkpoint's episode, besides the task's own limit. Default: only that limit."""
    rows: int | None = None
    """Episodes of a checkpoint's block. Default: 128."""
    temperature: float | None = None
    """The sampling temperature. Default: 1 for a checkpoint, the server's own for a model there."""
    top_p: float | None = None
    max_tokens: int | None = None
    """Maximum tokens of a reply from a server."""
    base_url: str | None = None
    model: str | None = None
    key_variable: str | None = None
    seed_field: str | None = None
    """The field for the seed in a request to a server. Default: "seed"; "" sends none."""
    request: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Further fields of each request to a server."""
    timeout: float | None = None
    """Maximum seconds of one try at a server. Default: 120."""
    request_tries: int | None = None
    """Maximum tries of a request to a server. Default: 6."""
    patience: float = 300.0
    concurrency: int = 8
    seconds: float | None = None
    """Maximum seconds for all answers in an episode."""
    tries: int = 2


def evaluated_agent_of(word: str, options: AgentOptions) -> EvaluatedAgent:
    """The agent for a word: a script's name, `endpoint`, a checkpoint's folder, or a pretrained model's name.

    Raises:
        UnknownNameError: the word is unknown; the message has near names.
        CheckpointError: the folder is not a checkpoint.
        ConfigError: options do not fit the agent, a required one is missing, or a model is not installed.
    """
    if word == ENDPOINT or (options.base_url is not None and word not in AGENT_NAMES):
        return _endpoint(word, options)
    if options.base_url is not None or options.model is not None:
        raise ConfigError(f"--base-url and --model say which model to ask, and {word} asks none; give {ENDPOINT!r}")
    if word in AGENT_NAMES:
        _check_taken(word, "a script", options)
        return EvaluatedScript(word)
    if Path(word).exists() or "/" in word or word in MODELS:
        _check_taken(word, "a checkpoint", options)
        return _policy(checkpoint_of(word), options)
    hint = "(a checkpoint is given by its folder, a model behind a server by --base-url and --model)"
    raise UnknownNameError.of("agent", word, [*AGENT_NAMES, ENDPOINT, *MODELS], hint)


def _check_taken(word: str, kind: AgentKind, options: AgentOptions) -> None:
    """Refuse given options that would have no effect."""
    for name, kinds in _TAKEN_BY.items():
        if kind not in kinds and getattr(options, name) not in (None, {}):
            flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
            way_out = _WAYS_OUT.get((name, kind), "leave it out")
            raise ConfigError(f"{flag}: {word} is {kind} and takes no such option; {way_out}")


def _check_fields(request: Mapping[str, Json], seed_field: str) -> None:
    """Refuse a field that would be set twice, so that one setting would have no effect."""
    if seed_field in _FIELDS:
        raise ConfigError(f"--seed-field {seed_field}: a request has something else there; name another field")
    for name in request:
        if name in _FIELDS:
            raise ConfigError(f"--request {name}: this field has a place of its own; {_FIELDS[name]}")
        if name == seed_field:
            raise ConfigError(
                f"--request {name}: each episode's own seed goes into this field; --seed says from which they are "
                'drawn, and --seed-field names another field, or "" for none'
            )


def _or(said: _T | None, usual: _T) -> _T:
    return usual if said is None else said


def _endpoint(word: str, options: AgentOptions) -> "EvaluatedEndpoint":
    if options.base_url is None or options.model is None:
        lacking = "--base-url" if options.base_url is None else "--model"
        raise ConfigError(
            f"{word}: {lacking} is missing; a model behind a server is named by --base-url, such as "
            "http://127.0.0.1:8000/v1, and --model"
        )
    if word not in (ENDPOINT, options.model):
        raise ConfigError(f"{word} and --model {options.model} name two agents; write {ENDPOINT!r} for the server's")
    _check_taken(word, "a model behind a server", options)
    seed_field = _or(options.seed_field, "seed")
    _check_fields(options.request, seed_field)
    said = {"temperature": options.temperature, "top_p": options.top_p, "max_tokens": options.max_tokens}
    try:
        from palaestra.agents.remote import EndpointConfig, RemoteChatConfig  # noqa: PLC0415
        from palaestra.benchmarks.evaluation.agents.endpoint import EvaluatedEndpoint  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{error.name} is not installed, and models behind servers need it; `pip install 'palaestra[remote]'`"
        ) from error
    fields: dict[str, Json] = {name: value for name, value in said.items() if value is not None}
    return EvaluatedEndpoint(
        RemoteChatConfig(
            endpoint=EndpointConfig(
                base_url=options.base_url,
                key_variable=options.key_variable,
                timeout=_or(options.timeout, 120.0),
                tries=_or(options.request_tries, 6),
                patience=options.patience,
                concurrency=options.concurrency,
            ),
            model=options.model,
            options={**fields, **options.request},
            seed_field=seed_field or None,
        )
    )


def _policy(folder: Path, options: AgentOptions) -> "EvaluatedPolicy":
    from palaestra.benchmarks.evaluation.agents.policy import PolicyOptions, native, vllm  # noqa: PLC0415

    if options.temperature is not None and not 0 <= options.temperature < math.inf:
        raise ConfigError(
            f"temperature={options.temperature:g}: a checkpoint's is a number of 0 or more; 0 takes the likeliest token"
        )
    if options.top_p is not None and not 0 < options.top_p <= 1:
        raise ConfigError(f"top_p={options.top_p:g}: a checkpoint's is above 0 and at most 1; 1 cuts nothing off")
    how = PolicyOptions(
        context=_or(options.context, 1024),
        turn=_or(options.turn, 72),
        turns=options.turns,
        rows=_or(options.rows, 128),
        temperature=_or(options.temperature, 1.0),
        top_p=_or(options.top_p, 1.0),
        tries=options.tries,
    )
    if options.engine == "vllm":
        return vllm(folder, how, python=options.python, format_name=options.chat_format)
    if options.python is not None:
        raise ConfigError("--vllm-python: our own engine runs in this interpreter; give --engine vllm, or leave it out")
    return native(folder, how, format_name=options.chat_format)
