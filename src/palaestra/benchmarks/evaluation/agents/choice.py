"""Which agent a word means."""

import math
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from palaestra.benchmarks.evaluation.agents.contender import Contender
from palaestra.benchmarks.evaluation.agents.scripted import WORDS, ScriptedContender
from palaestra.errors import ConfigError, UnknownNameError
from palaestra.record import record
from palaestra.records import Json

if TYPE_CHECKING:  # what they need is not always installed
    from palaestra.benchmarks.evaluation.agents.endpoint import EndpointContender
    from palaestra.benchmarks.evaluation.agents.policy import PolicyContender

ENDPOINT = "endpoint"
"""The word for a model behind a server."""


@record
class AgentOptions:
    """How agents play that are not scripts; what an agent does not know is refused."""

    engine: Literal["native", "vllm"] | None = None
    """What draws a checkpoint's tokens; "native" if not said."""
    python: Path | None = None
    """An interpreter that has vLLM."""
    chat_format: str | None = None
    """Of a checkpoint that does not say one."""
    context: int = 768
    turn: int = 48
    rows: int = 128
    temperature: float | None = None
    """1 for a checkpoint; the server's own for a model there."""
    top_p: float | None = None
    max_tokens: int | None = None
    """Of a reply from a server."""
    base_url: str | None = None
    model: str | None = None
    key_variable: str | None = None
    seed_field: str | None = "seed"
    request: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Further fields of each request to a server."""
    timeout: float = 120.0
    """Seconds that a server may take for one try."""
    request_tries: int = 6
    patience: float = 300.0
    concurrency: int = 8
    seconds: float | None = None
    """That an episode may last."""
    tries: int = 2


def contender_of(word: str, options: AgentOptions) -> Contender:
    """The agent that a word means: a script's name, `endpoint`, or a checkpoint's folder.

    Raises:
        UnknownNameError: it means none; near names are in the message.
        CheckpointError: the folder is no checkpoint.
        ConfigError: options do not fit the agent, or one that it needs is missing.
    """
    if word == ENDPOINT or (options.base_url is not None and word not in WORDS):
        return _endpoint(word, options)
    if options.base_url is not None or options.model is not None:
        raise ConfigError(f"--base-url and --model say which model to ask, and {word} asks none; give {ENDPOINT!r}")
    path = Path(word)
    policy = word not in WORDS and (path.exists() or "/" in word)
    if not policy and (options.engine is not None or options.python is not None):
        raise ConfigError(f"--engine says what draws a checkpoint's tokens, and {word} is none; leave it out")
    if word in WORDS:
        return ScriptedContender(word)
    if policy:
        return _policy(path, options)
    hint = "(a checkpoint is given by its folder, a model behind a server by --base-url and --model)"
    raise UnknownNameError.of("agent", word, [*WORDS, ENDPOINT], hint)


def _endpoint(word: str, options: AgentOptions) -> "EndpointContender":
    if options.base_url is None or options.model is None:
        lacking = "--base-url" if options.base_url is None else "--model"
        raise ConfigError(
            f"{word}: {lacking} is missing; a model behind a server is named by --base-url, such as "
            "http://127.0.0.1:8000/v1, and --model"
        )
    if word not in (ENDPOINT, options.model):
        raise ConfigError(f"{word} and --model {options.model} name two agents; write {ENDPOINT!r} for the server's")
    said = {"temperature": options.temperature, "top_p": options.top_p, "max_tokens": options.max_tokens}
    try:
        from palaestra.agents.remote import EndpointConfig, RemoteChatConfig  # noqa: PLC0415
        from palaestra.benchmarks.evaluation.agents.endpoint import EndpointContender  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{error.name} is not installed, and models behind servers need it; `pip install 'palaestra[remote]'`"
        ) from error
    fields: dict[str, Json] = {name: value for name, value in said.items() if value is not None}
    return EndpointContender(
        RemoteChatConfig(
            endpoint=EndpointConfig(
                base_url=options.base_url,
                key_variable=options.key_variable,
                timeout=options.timeout,
                tries=options.request_tries,
                patience=options.patience,
                concurrency=options.concurrency,
            ),
            model=options.model,
            options={**fields, **options.request},
            seed_field=options.seed_field,
        )
    )


def _policy(folder: Path, options: AgentOptions) -> "PolicyContender":
    from palaestra.benchmarks.evaluation.agents.policy import PolicyOptions, native, vllm  # noqa: PLC0415

    if options.temperature is not None and not 0 < options.temperature < math.inf:
        raise ConfigError(
            f"temperature={options.temperature:g}: a checkpoint's is above 0; 1e-3 draws the likeliest token"
        )
    if options.top_p is not None and not 0 < options.top_p <= 1:
        raise ConfigError(f"top_p={options.top_p:g}: a checkpoint's is above 0 and at most 1; 1 cuts nothing off")
    how = PolicyOptions(
        context=options.context,
        turn=options.turn,
        rows=options.rows,
        temperature=1.0 if options.temperature is None else options.temperature,
        top_p=1.0 if options.top_p is None else options.top_p,
        seconds=options.seconds,
        tries=options.tries,
    )
    if options.engine == "vllm":
        return vllm(folder, how, python=options.python, format_name=options.chat_format)
    return native(folder, how, format_name=options.chat_format)
