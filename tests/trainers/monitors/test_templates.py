"""The probe against models that read each prompt and text by themselves. Axes: T tokens."""

import math

import pytest
import torch
from torch import Tensor

from complete import complete
from decoders import logits_of, tiny, varied
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.monitors import collapse, template_metrics


def opening(batch: TokenBatch, trajectory: int) -> tuple[list[int], list[int]]:
    mine = (batch.trajectory_T == trajectory).nonzero()[:, 0].tolist()
    own = [token for token in mine if bool(batch.trained_T[token])]
    first = [token for token in own if int(batch.turn_T[token]) == int(batch.turn_T[own[0]])]
    return batch.ids_T[mine[: mine.index(own[0])]].tolist(), batch.ids_T[first].tolist()


def test_every_first_turn_is_scored_behind_every_prompt() -> None:
    decoder, batch = varied(tiny()), complete()
    learner = Learner(decoder, LearnerConfig(lr=1e-3, layout="shared", micro_tokens=30))
    found = template_metrics(batch, lambda crossed: learner.columns(crossed, ["logp"])["logp"], prompts=3)
    chosen = [0, 4, 8]  # the first of each of three tasks
    table = torch.zeros(3, 3, dtype=torch.float64)
    for i, text in enumerate(chosen):
        for j, prompt in enumerate(chosen):
            before, after = opening(batch, prompt)[0], opening(batch, text)[1]
            logp = logits_of(decoder, before + after).log_softmax(-1)
            tokens = [float(logp[len(before) + k - 1, token]) for k, token in enumerate(after)]
            table[i, j] = sum(tokens) / len(tokens)
    expected = collapse(table)
    assert found["collapse/information"] == pytest.approx(expected.information, abs=1e-4)
    assert found["collapse/entropy"] == pytest.approx(expected.entropy, abs=1e-4)
    assert found["collapse/conditional_entropy"] == pytest.approx(expected.conditional_entropy, abs=1e-4)
    assert (found["collapse/retrieval"], found["collapse/chance"]) == (expected.retrieval, 1 / 3)


def blind(crossed: TokenBatch) -> Tensor:
    """A policy whose text has nothing to do with the prompt."""
    return torch.where(crossed.trained_T, -0.1 * (1 + crossed.ids_T), 0).double()


def test_a_template_tells_nothing_of_its_task() -> None:
    found = template_metrics(complete(), blind, prompts=4)
    assert found["collapse/information"] == pytest.approx(0.0, abs=1e-12)
    assert found["collapse/retrieval"] <= found["collapse/chance"] == 0.25


def test_a_policy_that_knows_its_task_tells_all_of_it() -> None:
    batch = complete(groups=(2, 2))
    batch = batch.with_columns({"task_R": torch.tensor([5, 5, 6, 6])})

    def knows(crossed: TokenBatch) -> Tensor:
        """Trajectories are rows and columns of a table of two; the texts on its diagonal are likely."""
        fits_R = torch.tensor([True, False, False, True])
        return torch.where(fits_R[crossed.trajectory_T], -0.01, -30.0).double()

    found = template_metrics(batch, knows, prompts=8)
    assert found["collapse/information"] == pytest.approx(math.log(2), abs=1e-6)
    assert found["collapse/retrieval"] == 1.0


@pytest.mark.parametrize("groups", [(3,), (1,)])
def test_one_task_alone_is_no_probe(groups: tuple[int, ...]) -> None:
    assert template_metrics(complete(groups=groups), blind, prompts=8) == {}
