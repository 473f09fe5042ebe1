"""Everybody draws the same work, and our engine's log-probabilities are transformers' own."""

import asyncio
import sys
from pathlib import Path

import pytest
import torch

from palaestra.benchmarks.speed.figures import MissingFigure
from palaestra.benchmarks.speed.training.drawing import EngineDraws, TransformersDraws, distance
from palaestra.benchmarks.speed.training.engines import native, vllm
from palaestra.benchmarks.speed.training.models import Transformers, make_peaked_decoder
from palaestra.benchmarks.speed.training.scale import TrainingScale
from palaestra.benchmarks.speed.training.turns import EngineTurns, TransformersTurns
from palaestra.benchmarks.speed.training.work import RoundWork
from palaestra.trainers.learner import Precision
from palaestra.trainers.model.checkpoint import save_decoder
from palaestra.trainers.model.decoder import Decoder

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model(scale: TrainingScale) -> Decoder:
    return make_peaked_decoder(scale.engine.shape)


@pytest.fixture(scope="module")
def folder(model: Decoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    save_decoder(model, folder)
    return folder


def test_work_is_equal_for_equal_rounds_and_differs_otherwise(scale: TrainingScale) -> None:
    one, other = RoundWork(scale.engine), RoundWork(scale.engine)
    assert one.prompt(1, 2) == other.prompt(1, 2)
    assert len(one.prompt(1, 2)) == scale.engine.prompt
    assert len({one.prompt(0, 0), one.prompt(0, 1), one.prompt(1, 0)}) == 3
    assert one.answer(0, 0, 1) != one.answer(0, 0, 2)
    assert one.delay(0, 0, 1) == other.delay(0, 0, 1)
    low, high = scale.engine.latency
    assert low <= one.delay(0, 1, 1) <= high


def test_some_tokens_are_much_likelier_than_others(model: Decoder, folder: Path, scale: TrainingScale) -> None:
    judge = Transformers(folder, dtype=torch.float32, device=CPU)
    logprobs = judge.logprobs(judge.draw(torch.arange(60)[None], 40), 40)
    assert model.shape == scale.engine.shape
    assert float(logprobs.std()) > 0.5


def test_transformers_draws_as_much_with_a_static_cache(folder: Path) -> None:
    prompt = torch.arange(60)[None]
    drawn = Transformers(folder, dtype=torch.float32, device=CPU, static=True).draw(prompt, 40)
    assert drawn.shape == (1, 100)
    assert torch.equal(drawn[:, :60], prompt)


@pytest.mark.parametrize(("precision", "most"), [("fp32", 1e-4), ("bf16", 0.5)])
def test_our_engine_draws_what_is_asked_and_says_what_transformers_says(
    precision: Precision, most: float, model: Decoder, folder: Path, scale: TrainingScale
) -> None:
    async def drawn() -> EngineDraws:
        draws = EngineDraws(native(model, scale.engine, precision, CPU), scale.engine)
        assert await draws(0) > 0
        await draws.engine.close()
        return draws

    draws = asyncio.run(drawn())
    work = RoundWork(scale.engine)
    assert [prompt for prompt, _ in draws.drawn] == [work.prompt(0, n) for n in range(scale.engine.sequences)]
    off = distance(draws, Transformers(folder, dtype=torch.float32, device=CPU))
    assert off.shape == (scale.engine.sequences, scale.engine.new)
    assert float(off.max()) < most


def test_turns_go_to_their_end_with_both(model: Decoder, folder: Path, scale: TrainingScale) -> None:
    theirs = Transformers(folder, dtype=torch.float32, device=CPU)

    async def played() -> list[float]:
        engine = native(model, scale.engine, "fp32", CPU)
        rates = [
            await EngineTurns(engine, scale.engine)(0),
            await TransformersTurns(theirs, scale.engine)(0),
            await TransformersDraws(theirs, scale.engine, CPU)(0),
        ]
        drawn = engine.stats().drawn
        await engine.close()
        assert drawn == scale.engine.sequences * scale.engine.turns * scale.engine.turn
        return rates

    assert all(rate > 0 for rate in asyncio.run(played()))


@pytest.mark.parametrize(
    ("python", "says"), [("nowhere/python", "there is no nowhere/python"), (sys.executable, "not measured: ")]
)
def test_vllm_that_is_not_there_says_why(python: str, says: str, folder: Path, scale: TrainingScale) -> None:
    found = asyncio.run(vllm(folder, Path(python), scale.engine, "fp32", eager=True))
    assert isinstance(found, MissingFigure)
    assert says in found.why
