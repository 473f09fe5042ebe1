"""All learners take the same step: the same tokens, and the same loss."""

import asyncio
import math
from pathlib import Path

import pytest
import torch

from palaestra.benchmarks.speed.training.learners import LearnerStep, OurSteps, ReferenceSteps
from palaestra.benchmarks.speed.training.scale import TrainingScale
from palaestra.trainers.data.layouts import LayoutName
from palaestra.trainers.model.checkpoint import fresh, save_decoder

CPU = torch.device("cpu")


def test_trajectories_of_a_group_begin_alike_and_go_on_at_different_lengths(scale: TrainingScale) -> None:
    step = LearnerStep(scale.train)
    groups = [step.trajectories[:2], step.trajectories[2:]]
    for group in groups:
        prompts = {tokens.ids[: scale.train.prompt] for tokens in group}
        assert len(prompts) == 1
        for tokens in group:
            assert scale.train.shortest <= len(tokens.ids) - scale.train.prompt <= scale.train.longest
            assert tokens.sampled[-1]
            assert not any(tokens.sampled[: scale.train.prompt])
    assert len({len(tokens.ids) for tokens in step.trajectories}) > 1
    assert step.tokens == sum(len(tokens.ids) for tokens in step.trajectories)
    assert step.trained_tokens == sum(sum(tokens.sampled) for tokens in step.trajectories)


def test_every_trajectory_has_a_gradient_and_equal_scales_give_equal_steps(scale: TrainingScale) -> None:
    step, again = LearnerStep(scale.train), LearnerStep(scale.train)
    assert step.trajectories == again.trajectories
    assert all(sample.advantage for sample in step.samples())
    assert math.isclose(sum(sample.advantage for sample in step.samples()), 0, abs_tol=1e-6)


@pytest.mark.parametrize("layout", ["packed", "padded", "shared"])
def test_our_learner_and_the_reference_come_to_the_same_loss(
    layout: LayoutName, scale: TrainingScale, tmp_path: Path
) -> None:
    model = fresh(scale.train.shape, seed=0)
    save_decoder(model, tmp_path)
    step = LearnerStep(scale.train)
    ours = OurSteps(model, step, scale.train, layout=layout, precision="fp32", device=CPU)
    theirs = ReferenceSteps(tmp_path, step, scale.train, dtype=torch.float32, device=CPU)
    for learner in (ours, theirs):
        for round_ in range(2):
            assert asyncio.run(learner(round_)) > 0
    assert ours.losses == pytest.approx(theirs.losses, abs=1e-6)
    assert ours.losses[0] != ours.losses[1]
