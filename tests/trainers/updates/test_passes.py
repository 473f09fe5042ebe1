"""The confidence in prompts against a model that reads each prompt by itself. Axes: T tokens, R trajectories."""

from dataclasses import replace

import pytest
import torch

from complete import complete
from counting import Counting
from decoders import logits_of, tiny, varied
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layouts import LayoutName
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.objectives.corrections import TokenTis
from palaestra.trainers.updates.passes import fill_columns, prompt_logprobs

DECODER = varied(tiny())


def filled(batch: TokenBatch, *, layout: LayoutName = "packed", temperature: float = 1.0) -> list[float]:
    learner = Learner(DECODER, LearnerConfig(lr=1e-3, layout=layout, micro_tokens=20))
    found = fill_columns(batch, {"prompt_R"}, learner, temperature=temperature)
    numbers: list[float] = found.column("prompt_R").tolist()
    return numbers


def by_itself(batch: TokenBatch, temperature: float) -> list[float]:
    """Each prompt goes through the model alone."""
    found: list[float] = []
    for trajectory in range(batch.trajectories):
        mine = (batch.trajectory_T == trajectory).nonzero()[:, 0].tolist()
        start = next(place for place, token in enumerate(mine) if bool(batch.trained_T[token]))
        ids = batch.ids_T[mine[:start]].tolist()
        logp = (logits_of(DECODER, ids) / temperature).log_softmax(-1)
        tokens = [float(logp[place - 1, ids[place]]) for place in range(1, len(ids))]
        found.append(sum(tokens) / max(1, len(tokens)))
    return found


@pytest.mark.parametrize("layout", ["packed", "padded", "shared"])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_a_prompts_confidence_is_that_of_a_model_that_reads_the_prompt_alone(
    layout: LayoutName, temperature: float
) -> None:
    batch = complete()
    expected = by_itself(batch, temperature)
    assert 0.0 in expected, "some prompt has one token alone"
    assert filled(batch, layout=layout, temperature=temperature) == pytest.approx(expected, abs=1e-4)


def test_what_follows_the_prompt_changes_nothing() -> None:
    batch = complete()
    begins_R = torch.full((batch.trajectories,), len(batch.ids_T))
    own_T = batch.trained_T
    begins_R = begins_R.scatter_reduce(0, batch.trajectory_T[own_T], own_T.nonzero()[:, 0], "amin")
    later_T = torch.arange(len(own_T)) >= begins_R[batch.trajectory_T]
    other = replace(batch, ids_T=torch.where(later_T, batch.ids_T + 11, batch.ids_T))
    assert filled(other) == pytest.approx(filled(batch), abs=1e-6)


def test_a_later_segment_begins_with_no_prompt() -> None:
    """A trajectory that goes on in a second segment is still one that answers its first prompt."""
    batch = complete()
    halves = replace(
        batch,
        segment_T=2 * batch.segment_T + (batch.position_T >= 4),
        position_T=torch.where(batch.position_T >= 4, batch.position_T - 4, batch.position_T),
        trajectory_S=torch.arange(batch.trajectories).repeat_interleave(2),
    )
    assert filled(halves) == pytest.approx(filled(batch), abs=1e-6)


def test_where_no_prompt_has_a_second_token_no_pass_is_taken() -> None:
    batch, policy = complete(), Counting()
    bare = replace(batch, position_T=torch.zeros_like(batch.position_T))
    assert not prompt_logprobs(bare, policy).any()
    assert policy.passes == []


def test_a_rephrased_solution_has_the_policys_log_probabilities_for_those_of_its_rollout() -> None:
    """What drew it read the solution; a correction between the two would compare prompts, and is exactly 1."""
    batch = complete()
    mark_R = torch.zeros(batch.trajectories, dtype=torch.float64).index_fill(0, torch.tensor([1, 4]), 1.0)
    learner = Learner(DECODER, LearnerConfig(lr=1e-3))
    found = fill_columns(batch.with_columns({"rephrased_R": mark_R}), {"old_T"}, learner)
    mine_T = (mark_R != 0)[batch.trajectory_T] & batch.trained_T
    assert torch.equal(found.logprob_T[mine_T], found.column("old_T")[mine_T].double())
    assert torch.equal(found.logprob_T[~mine_T], batch.logprob_T[~mine_T])
    assert bool((TokenTis()(found)[mine_T] == 1).all())
    without = fill_columns(batch, {"old_T"}, learner)
    assert torch.equal(without.logprob_T, batch.logprob_T)
