"""Which agent a word means."""

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

if TYPE_CHECKING:  # what they need is not always installed
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
"""Which agents take an option; one that is not named here is taken by all, or says which agent it is."""
_FLAGS = {"python": "--vllm-python", "chat_format": "--format"}
"""Options that a command spells otherwise."""
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
"""Fields of a request that something else than `--request` and `--seed-field` sets."""


@record
class AgentOptions:
    """How agents play; what is `None` was not said, and what was said and the agent does not take is refused."""

    engine: Literal["native", "vllm"] | None = None
    """What draws a checkpoint's tokens; "native" if not said."""
    python: Path | None = None
    """An interpreter that has vLLM."""
    chat_format: str | None = None
    """Of a checkpoint that does not say one."""
    context: int | None = None
    """Tokens of a checkpoint's episode; 1,024 if not said."""
    turn: int | None = None
    """Tokens of a checkpoint's turn; 72 if not said."""
    rows: int | None = None
    """Episodes of a checkpoint's block; 128 if not said."""
    temperature: float | None = None
    """1 for a checkpoint; the server's own for a model there."""
    top_p: float | None = None
    max_tokens: int | None = None
    """Of a reply from a server."""
    base_url: str | None = None
    model: str | None = None
    key_variable: str | None = None
    seed_field: str | None = None
    """Of a request to a server; "seed" if not said, and "" sends none."""
    request: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Further fields of each request to a server."""
    timeout: float | None = None
    """Seconds that a server may take for one try; 120 if not said."""
    request_tries: int | None = None
    """Of a request to a server; 6 if not said."""
    patience: float = 300.0
    concurrency: int = 8
    seconds: float | None = None
    """That its answers may take in an episode."""
    tries: int = 2


def evaluated_agent_of(word: str, options: AgentOptions) -> EvaluatedAgent:
    """The agent that a word means: a script's name, `endpoint`, a checkpoint's folder, or a pretrained model's name.

    Raises:
        UnknownNameError: it means none; near names are in the message.
        CheckpointError: the folder is no checkpoint.
        ConfigError: options do not fit the agent, one that it needs is missing, or a model is not installed.
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
    """Refuse what was said and would have no effect."""
    for name, kinds in _TAKEN_BY.items():
        if kind not in kinds and getattr(options, name) not in (None, {}):
            flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
            way_out = _WAYS_OUT.get((name, kind), "leave it out")
            raise ConfigError(f"{flag}: {word} is {kind} and takes no such option; {way_out}")


def _check_fields(request: Mapping[str, Json], seed_field: str) -> None:
    """Refuse a field that would be set twice, so that one of both would have no effect."""
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
