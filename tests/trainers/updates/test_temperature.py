"""What a head learns from rewards: to explore where that pays, and to be sure where that pays. Axes: T tokens."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from decoders import logits_of, tiny, varied
from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.engines.engine import Completion, Sampling, TurnRequest
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.native.core import Core
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import TemperatureRange
from palaestra.trainers.objectives import ObjectiveConfig, Recipe, build
from palaestra.trainers.updates import train_temperature_head
from palaestra.trajectory import Segment, Span, Tokens
from trajectories import episode, turn

PROMPT = (8, 8, 1)
VOCABULARY, ROLLOUTS, BATCHES = 12, 64, 36
BUILT = build(
    Recipe(
        ratio=ObjectiveConfig(preset="introllm").recipe().ratio,
        temperature={"part": "introllm", "low": 0.3, "high": 2.0, "rate": 3e-2},
    )
)


def policy() -> Decoder:
    model = varied(tiny(vocabulary=VOCABULARY, context=16), deviation=0.25)
    model.add_temperature_head(TemperatureRange(low=0.3, high=2.0, epsilon=1.0), seed=0)
    return model


def likeliest(model: Decoder, ids: Sequence[int]) -> int:
    return int(logits_of(model, list(ids))[-1].argmax())


def drawn(core: Core, step: int) -> list[Completion]:
    """Two tokens behind the prompt, many times."""
    found: list[Completion] = []
    for number in range(ROLLOUTS):
        core.admit(
            TurnRequest(
                trajectory=f"{step}/{number}",
                context=PROMPT,
                sampling=Sampling(limit=2, stop=()),
                noise=noise_key("toy", step, number),
            )
        )
    while core.running:
        for ended in core.step():
            assert isinstance(ended.result, Completion)
            found.append(ended.result)
            core.release(ended.drawing.request.trajectory)
    return found


def batch_of(completions: Sequence[Completion], rewards: Sequence[float]) -> TokenBatch:
    nothing = (0.0,) * len(PROMPT)
    episodes = []
    for one, reward in zip(completions, rewards, strict=True):
        assert one.choices is not None
        choices = replace(
            one.choices,
            temperatures=nothing + one.choices.temperatures,
            latents=nothing + one.choices.latents,
            logprobs=nothing + one.choices.logprobs,
        )
        tokens = Tokens(
            ids=PROMPT + one.ids,
            sampled=(False,) * len(PROMPT) + (True,) * len(one.ids),
            logprobs=nothing + one.logprobs,
            versions=(0,) * (len(PROMPT) + len(one.ids)),
            spans=(Span(kind="turn", start=len(PROMPT), end=len(PROMPT) + len(one.ids)),),
            stops=("length",),
            choices=choices,
        )
        episodes.append(episode(Segment(prompt=(), turns=(turn(reward),), tokens=tokens), group="all"))
    return flatten(episodes)


def mean_temperatures(batch: TokenBatch) -> tuple[float, float]:
    """At the first token, and at the second."""
    value_T = batch.column("temperature_T")[batch.trained_T].reshape(-1, 2)
    first, second = value_T.mean(0).tolist()
    return first, second


@pytest.mark.parametrize("explores", [0, 1])
def test_a_head_learns_to_explore_at_the_token_where_that_pays_and_not_at_the_other(explores: int) -> None:
    """One token is paid for being another than the likeliest, the other for being the likeliest."""
    model = policy()
    learner = Learner(model, LearnerConfig(lr=1e-3))
    core = Core(model, NativeConfig(rows=ROLLOUTS), temperature_head=True)
    weights = {name: weight.clone() for name, weight in learner.weights().items()}
    first, second = likeliest(model, PROMPT), [likeliest(model, (*PROMPT, token)) for token in range(VOCABULARY)]
    assert BUILT.temperature is not None
    temperatures: list[tuple[float, float]] = []
    returns: list[float] = []
    for step in range(BATCHES):
        completions = drawn(core, step)
        likely = [(one.ids[0] == first, one.ids[1] == second[one.ids[0]]) for one in completions]
        batch = batch_of(completions, [float(one[1 - explores]) + float(not one[explores]) for one in likely])
        temperatures.append(mean_temperatures(batch))
        returns.append(batch.return_R.mean().item())
        train_temperature_head(
            batch,
            BUILT.objective,
            learner,
            BUILT.temperature,
            requires=BUILT.requires,
            updates=2,
            stream=Stream.root("toy", step),
        )
        core.update(learner.weights(), step + 1, "keep")
    first_T, second_T = torch.tensor(temperatures).T
    means = (first_T[-5:].mean().item(), second_T[-5:].mean().item())
    assert temperatures[0][0] == pytest.approx(temperatures[0][1], abs=0.1)  # a new head knows no difference
    assert means[explores] > means[1 - explores] + 0.3
    assert sum(returns[-5:]) > sum(returns[:5]) + 0.5
    still = {name for name, weight in learner.weights().items() if torch.equal(weight, weights[name])}
    assert still == {name for name in weights if not name.startswith("temperature_head.")}
