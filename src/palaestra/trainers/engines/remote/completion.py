"""Parses and checks a server's completion by token ids."""

import math
from collections.abc import Iterator

from pydantic import BaseModel, Field, ValidationError

from palaestra.agents.remote.reply import first_fault
from palaestra.errors import EngineError
from palaestra.record import record
from palaestra.records import JsonObject
from palaestra.trainers.engines.engine import Completion

_ROUNDING = 1e-4
"""The maximum excess of a log-probability over 0 by rounding."""


@record
class CompletionRequest:
    """The request that a completion is checked against."""

    name: str
    """The server's name in messages."""
    context: tuple[int, ...]
    stop: tuple[int, ...]
    limit: int
    """Maximum tokens of the turn."""
    vocabulary: int
    version: int
    """The version of the weights."""


class _Logprobs(BaseModel):
    token_logprobs: list[float]


class _Choice(BaseModel):
    token_ids: list[int] = Field(min_length=1)
    prompt_token_ids: list[int] | None = None
    logprobs: _Logprobs
    finish_reason: str


class _Completions(BaseModel):
    choices: list[_Choice] = Field(min_length=1, max_length=1)


def read_completion(answer: JsonObject, asked: CompletionRequest) -> Completion:
    """The turn in a server's answer.

    Raises:
        EngineError: the answer is no completion by token ids, or does not match the request; the message says why.
    """
    try:
        choice = _Completions.model_validate(answer).choices[0]
    except ValidationError as error:
        raise EngineError(
            f"{asked.name} gave no completion by token ids: {first_fault(error)}; it has to know prompts of ids, "
            "`return_token_ids` and `logprobs`, as vLLM does"
        ) from None
    for doubt in _doubts(choice, asked):
        raise EngineError(f"{asked.name} {doubt}; nothing of the turn is kept")
    return Completion(
        ids=tuple(choice.token_ids),
        logprobs=tuple(min(0.0, logprob) for logprob in choice.logprobs.token_logprobs),
        versions=(asked.version,) * len(choice.token_ids),
        stop="end" if choice.token_ids[-1] in asked.stop else "length",
    )


def _doubts(choice: _Choice, asked: CompletionRequest) -> Iterator[str]:
    ids, logprobs, reason = choice.token_ids, choice.logprobs.token_logprobs, choice.finish_reason
    if choice.prompt_token_ids is not None and tuple(choice.prompt_token_ids) != asked.context:
        yield f"read {len(choice.prompt_token_ids)} tokens that are not the {len(asked.context)} of the context"
    if len(ids) > asked.limit:
        yield f"gave {len(ids)} tokens of {asked.limit} at most"
    if len(logprobs) != len(ids):
        yield f"gave {len(ids)} tokens and {len(logprobs)} log-probabilities"
    if not 0 <= min(ids) <= max(ids) < asked.vocabulary:
        yield f"gave tokens outside of 0 to {asked.vocabulary - 1}, the vocabulary"
    if strange := [logprob for logprob in logprobs if not -math.inf < logprob <= _ROUNDING]:
        yield f"gave log-probabilities that are none, such as {strange[0]}"
    if any(token in asked.stop for token in ids[:-1]):
        yield "went on behind a token that ends the turn"
    if reason not in {"stop", "length"}:
        yield f"ended the turn with finish_reason={reason!r}"
    if reason == "stop" and ids[-1] not in asked.stop:
        yield f"ended the turn at token {ids[-1]}, which ends none"
    if reason == "length" and ids[-1] not in asked.stop and len(ids) < asked.limit:
        yield f"ended the turn for its length after {len(ids)} tokens of {asked.limit}; check the context it was given"
