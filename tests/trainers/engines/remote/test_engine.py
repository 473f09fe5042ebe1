"""Turns drawn by a server elsewhere: what it is asked, what is believed, and what is refused."""

import asyncio
import dataclasses
import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
import torch

from chatserver import Answer, Asked, ChatServer, Cut, Hang, Reset, chat_server, completion, said
from palaestra.agents.remote import EndpointConfig
from palaestra.errors import ConfigError, EngineError, WaitError
from palaestra.seeding import Stream
from palaestra.trainers.engines.engine import Completion, Sampling, TurnRequest
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.engines.remote import RemoteEngine, RemoteEngineConfig

T = TypeVar("T")
VOCABULARY, CONTEXT = 40, 64
STOPS = (3, 5)
REQUEST = TurnRequest(
    trajectory="a", context=(7, 8, 9), sampling=Sampling(limit=6, stop=STOPS), noise=noise_key("test", 1), timeout=30.0
)


def drawn(asked: Asked) -> Answer:
    """A model that draws from its own seed, with log-probabilities that tell which token they belong to."""
    body = asked.body
    stream, ids = Stream.root("model", body["seed"]), list[int]()
    while len(ids) < body["max_tokens"] and (not ids or ids[-1] not in body["stop_token_ids"]):
        ids.append(stream.below(VOCABULARY))
    finish = "stop" if ids[-1] in body["stop_token_ids"] else "length"
    return completion(body["prompt"], ids, [-token / 8 for token in ids], finish=finish)


def engine_of(server: ChatServer, **settings: Any) -> RemoteEngine:
    ours = {"model": "tiny", "context": CONTEXT, "vocabulary": VOCABULARY, "logprobs": "processed", "version": 4}
    config: Any = ours | {name: settings.pop(name) for name in ours if name in settings}
    more: Any = {"tries": 1, **settings}
    endpoint = EndpointConfig(base_url=server.url, **more)
    return RemoteEngine(RemoteEngineConfig(endpoint=endpoint, **config))


def with_engine(
    story: Callable[[RemoteEngine, ChatServer], Awaitable[T]],
    *script: Any,
    behaviour: Callable[[Asked], Any] | None = None,
    **settings: Any,
) -> T:
    """What a story comes to that an engine plays in."""

    async def told(server: ChatServer) -> T:
        engine = engine_of(server, **settings)
        try:
            return await story(engine, server)
        finally:
            await engine.close()
            await engine.close()

    with chat_server(*script, behaviour=behaviour) as server:
        return asyncio.run(told(server))


def turn(*script: Any, request: TurnRequest = REQUEST, **settings: Any) -> Completion:
    """What a server's answers make of a request."""
    return with_engine(lambda engine, _: engine.generate(request), *script, **settings)


def test_a_turn_is_asked_for_by_token_ids_and_comes_back_aligned() -> None:
    async def story(engine: RemoteEngine, server: ChatServer) -> None:
        sampling = Sampling(limit=6, stop=STOPS, temperature=0.7, top_p=0.9)
        got = await engine.generate(dataclasses.replace(REQUEST, sampling=sampling))
        (asked,) = server.asked
        assert asked.path == "/v1/completions"
        assert asked.body == {
            "model": "tiny",
            "prompt": [7, 8, 9],
            "max_tokens": 6,
            "temperature": 0.7,
            "top_p": 0.9,
            "stop_token_ids": [3, 5],
            "ignore_eos": True,
            "seed": Stream(REQUEST.noise, 3).word() >> 1,
            "logprobs": 1,
            "return_token_ids": True,
            "skip_special_tokens": False,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
        }
        assert got.logprobs == tuple(-token / 8 for token in got.ids)
        assert got.versions == (4,) * len(got.ids)
        assert got.stop == ("end" if got.ids[-1] in STOPS else "length")
        stats = engine.stats()
        assert (stats.drawn, stats.prefilled, stats.version) == (len(got.ids), 3, 4)
        assert (stats.running, stats.waiting, stats.resident, stats.capacity, stats.reused) == (0, 0, 0, 0, 0)
        assert stats.busy_seconds > 0
        engine.release("a")

    with_engine(story, behaviour=drawn)


def test_turns_end_at_a_stop_token_at_the_limit_and_at_the_context_s_end() -> None:
    async def story(engine: RemoteEngine, server: ChatServer) -> None:
        requests = [
            dataclasses.replace(REQUEST, trajectory=f"{n}", noise=noise_key(n), context=(1,) * (CONTEXT - 4))
            for n in range(40)
        ]
        turns = await asyncio.gather(*map(engine.generate, requests))
        for got in turns:
            assert not any(token in STOPS for token in got.ids[:-1])
            assert got.stop == "end" or len(got.ids) == 4
        assert {got.stop for got in turns} == {"end", "length"}
        again = await asyncio.gather(*map(engine.generate, requests))
        assert again == turns, "the seed follows from the noise and the place"

    with_engine(story, behaviour=drawn)


def answered(**changes: Any) -> Answer:
    """A sound answer but for what is changed in it; `...` takes something out."""
    choice: dict[str, Any] = {
        "token_ids": [1, 2, 3],
        "prompt_token_ids": [7, 8, 9],
        "logprobs": {"token_logprobs": [-0.5, -1.5, 0.0]},
        "finish_reason": "stop",
    }
    return said({"choices": [{key: value for key, value in {**choice, **changes}.items() if value is not ...}]})


def test_a_sound_answer_is_believed() -> None:
    sound = Completion(ids=(1, 2, 3), logprobs=(-0.5, -1.5, 0.0), versions=(4, 4, 4), stop="end")
    assert turn(answered()) == sound
    assert turn(answered(prompt_token_ids=...)) == sound
    assert turn(answered(logprobs={"token_logprobs": [-0.5, -1.5, 3e-6]})) == sound
    assert turn(answered(token_ids=[1] * 6, logprobs={"token_logprobs": [-1.0] * 6}, finish_reason="length")).stop == (
        "length"
    )


def test_a_stop_token_at_the_limit_is_an_end() -> None:
    ids = [1, 1, 1, 1, 1, 3]
    at_once = answered(token_ids=ids, logprobs={"token_logprobs": [-1.0] * 6}, finish_reason="length")
    assert turn(at_once).stop == "end"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"token_ids": ...}, r"by token ids: choices\.0\.token_ids: Field required; it has to know prompts of ids"),
        ({"token_ids": []}, "token_ids: List should have at least 1 item"),
        ({"token_ids": ["a"]}, r"token_ids\.0: Input should be a valid integer"),
        ({"logprobs": ...}, r"choices\.0\.logprobs: Field required"),
        ({"logprobs": None}, r"choices\.0\.logprobs: Input should be"),
        ({"logprobs": {"token_logprobs": [-1.0, None, -1.0]}}, r"token_logprobs\.1: Input should be a valid number"),
        ({"logprobs": {"token_logprobs": [-1.0, -1.0]}}, "gave 3 tokens and 2 log-probabilities"),
        ({"logprobs": {"token_logprobs": [-1.0, 0.5, -1.0]}}, "log-probabilities that are none, such as 0.5"),
        ({"logprobs": {"token_logprobs": [-1.0, "nan", -1.0]}}, "that are none, such as nan"),
        ({"logprobs": {"token_logprobs": [-1.0, "-inf", -1.0]}}, "that are none, such as -inf"),
        ({"prompt_token_ids": [7, 8]}, "read 2 tokens that are not the 3 of the context"),
        ({"prompt_token_ids": [1, 7, 8]}, "read 3 tokens that are not the 3 of the context"),
        ({"token_ids": [1] * 7, "logprobs": {"token_logprobs": [-1.0] * 7}}, "gave 7 tokens of 6 at most"),
        ({"token_ids": [1, VOCABULARY, 3]}, "gave tokens outside of 0 to 39, the vocabulary"),
        ({"token_ids": [-1, 2, 3]}, "gave tokens outside of 0 to 39, the vocabulary"),
        ({"token_ids": [1, 5, 3]}, "went on behind a token that ends the turn"),
        ({"token_ids": [1, 2, 4]}, "ended the turn at token 4, which ends none"),
        ({"token_ids": [1, 2, 4], "finish_reason": "length"}, "for its length after 3 tokens of 6; check the context"),
        ({"finish_reason": "abort"}, "ended the turn with finish_reason='abort'"),
        ({"finish_reason": None}, "finish_reason: Input should be a valid string"),
    ],
)
def test_an_answer_that_is_not_what_was_asked_for_is_an_engine_error(changes: Any, says: str) -> None:
    with pytest.raises(EngineError, match=says) as told:
        turn(answered(**changes))
    assert "tiny at http://127.0.0.1" in str(told.value)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Answer(body=b"{"), "answered with no JSON object"),
        (said({"choices": []}), "choices: List should have at least 1 item"),
        (said({"error": "out of memory"}, status=500), "status 500: out of memory; tried 1 times"),
        (said({"error": "busy"}, status=429), "status 429: busy"),
        (said({"error": {"message": "no such model"}}, status=404), "status 404: no such model; check the address"),
        (said({"error": {"message": "prompt must be text"}}, status=400), "status 400: prompt must be text"),
        (Reset(), "the connection failed"),
        (Cut(), "the connection failed"),
    ],
    ids=str,
)
def test_every_fault_of_the_server_is_an_engine_error(fault: Any, says: str) -> None:
    with pytest.raises(EngineError, match=says):
        turn(fault)


def test_a_fault_that_passes_is_not_seen() -> None:
    assert turn(Answer(status=503), Reset(), answered(), tries=3, patience=60.0).ids == (1, 2, 3)


def test_a_turn_that_takes_longer_than_its_time_out_is_given_up() -> None:
    with pytest.raises(WaitError, match=r"trajectory 'a' waited for a turn of 6 tokens from tiny at .* for 0\.1 s"):
        turn(Hang(), request=dataclasses.replace(REQUEST, timeout=0.1))


def test_a_server_that_takes_longer_than_a_try_may_is_a_time_out_too() -> None:
    with pytest.raises(WaitError, match=r"no answer within 0\.1 s"):
        turn(Hang(), timeout=0.1)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"context": ()}, "its context is empty"),
        ({"context": (1,) * CONTEXT}, "leaves no room for a turn"),
        ({"context": (VOCABULARY,)}, "names tokens outside of 0 to 39"),
        ({"sampling": Sampling(limit=0, stop=())}, "a turn has at least 1 token"),
    ],
)
def test_a_request_that_breaks_a_rule_is_not_sent(change: Any, says: str) -> None:
    async def story(engine: RemoteEngine, server: ChatServer) -> None:
        with pytest.raises(ValueError, match=says):
            await engine.generate(dataclasses.replace(REQUEST, **change))
        assert server.asked == []

    with_engine(story, behaviour=drawn)


@pytest.mark.parametrize(("temperature", "top_p"), [(0.5, 1.0), (1.0, 0.9)])
def test_raw_log_probabilities_serve_a_temperature_and_top_p_of_one_alone(temperature: float, top_p: float) -> None:
    async def story(engine: RemoteEngine, server: ChatServer) -> None:
        sampling = Sampling(limit=6, stop=STOPS, temperature=temperature, top_p=top_p)
        with pytest.raises(ValueError, match="start it with --logprobs-mode processed_logprobs and say so"):
            await engine.generate(dataclasses.replace(REQUEST, sampling=sampling))
        assert server.asked == []
        assert (await engine.generate(REQUEST)).ids

    with_engine(story, behaviour=drawn, logprobs="raw")


def test_weights_that_are_not_ours_are_left_alone() -> None:
    async def story(engine: RemoteEngine, server: ChatServer) -> None:
        del server
        for refused in (engine.update_weights({"w": torch.zeros(1)}, 5), engine.pause(), engine.resume()):
            with pytest.raises(EngineError, match="a remote server's weights are not ours; use the native engine or"):
                await refused
        assert (await engine.generate(REQUEST)).versions[0] == 4

    with_engine(story, behaviour=drawn)


async def hanging(engine: RemoteEngine, server: ChatServer) -> "asyncio.Task[Completion]":
    """A turn that the server has been asked for and does not answer."""
    under_way = asyncio.create_task(engine.generate(REQUEST))
    while not server.asked:
        await asyncio.sleep(0)
    return under_way


def test_a_trajectory_has_one_turn_at_a_time() -> None:
    async def story(engine: RemoteEngine, server: ChatServer) -> None:
        under_way = await hanging(engine, server)
        with pytest.raises(ValueError, match="has a turn under way"):
            await engine.generate(REQUEST)
        assert (engine.stats().running, engine.stats().waiting) == (1, 0)
        under_way.cancel()
        with pytest.raises(asyncio.CancelledError):
            await under_way
        assert (await engine.generate(REQUEST)).ids == (1, 2, 3), "what was cancelled left nothing behind"

    with_engine(story, Hang(), answered(), concurrency=1)


def test_turns_under_way_end_when_the_engine_is_closed() -> None:
    async def story(engine: RemoteEngine, server: ChatServer) -> None:
        under_way = await hanging(engine, server)
        await engine.close()
        with pytest.raises(EngineError, match="the engine was closed while the turn was drawn"):
            await under_way
        with pytest.raises(EngineError, match="the engine was closed; make another one"):
            await engine.generate(REQUEST)

    with_engine(story, Hang())


def test_an_engine_without_an_address_is_refused() -> None:
    with pytest.raises(ConfigError, match="is no address"):
        RemoteEngine(
            RemoteEngineConfig(
                endpoint=EndpointConfig(base_url="nowhere"), model="m", context=9, vocabulary=9, logprobs="raw"
            )
        )


def test_certainty_is_not_more_than_certain() -> None:
    (first, *_) = turn(answered(logprobs={"token_logprobs": [9e-5, -1.0, -1.0]})).logprobs
    assert first == 0.0
    assert not math.isnan(first)
