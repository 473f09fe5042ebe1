"""Masks, corrections, trust regions and regularisers in whole objectives: neutral, cut to pieces, and refused."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from drawn import batch_of, on_policy
from palaestra.errors import ConfigError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.build import build
from palaestra.trainers.objectives.objective import PreparedStep
from palaestra.trainers.objectives.part import PARTS, Part
from palaestra.trainers.objectives.ratio import RatioConfig
from palaestra.trainers.objectives.recipe import Recipe

LENGTHS = (9, 4, 17, 6, 11)
OLD = RatioConfig(anchor="old")
PLUGS = ("trust", "correction", "mask", "regulariser")


def prepared(recipe: Recipe, batch: TokenBatch) -> PreparedStep:
    return build(recipe).objective.prepare(batch)


def gradient(step: PreparedStep, pieces: list[list[int]] | None = None) -> tuple[float, Tensor]:
    """The loss of a step, and its gradient at each token, added up over pieces of it."""
    logp_T = step.batch.column("now_T").clone().requires_grad_()
    entropy_T = 0.5 * logp_T.square()
    place_T = torch.arange(len(logp_T))
    whole = step.batch.with_columns({"place_T": place_T})
    losses = []
    for piece in pieces or [list(range(whole.trajectories))]:
        part = whole.select(piece)
        at_T = part.column("place_T")
        losses.append(step.loss(logp_T[at_T], entropy_T[at_T], part)[0])
    loss = torch.stack(losses).sum()
    (found_T,) = torch.autograd.grad(loss, logp_T)
    return loss.item(), found_T


@pytest.mark.parametrize(
    "mask",
    [
        {"part": "reject", "level": "sequence-mean", "high": math.inf},
        {"part": "m2po", "tau": math.inf},
        {"part": "opsm", "delta": math.inf},
        {"part": "s2t", "probability": 0.0},
        {"part": "entropy-top", "share": 1.0},
        {"part": "anchors", "share": 1.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("denominator", ["survivors", "original"])
def test_a_neutral_mask_changes_no_bit(mask: Mapping[str, Any], denominator: str) -> None:
    batch = batch_of(LENGTHS)
    plain = gradient(prepared(Recipe(ratio=OLD), batch))
    masked = gradient(prepared(Recipe(ratio=OLD, masks=({**mask, "denominator": denominator},)), batch))
    assert plain[0] == masked[0]
    assert torch.equal(plain[1], masked[1])


@pytest.mark.parametrize("correction", ["token-tis", "sequence-tis", "icepop", "decoupled", "uncorrected"])
def test_a_correction_of_nothing_changes_no_bit(correction: str) -> None:
    batch = on_policy(batch_of(LENGTHS))
    plain = gradient(prepared(Recipe(ratio=OLD), batch))
    corrected = gradient(prepared(Recipe(ratio=OLD, corrections=(correction,)), batch))
    assert plain[0] == corrected[0]
    assert torch.equal(plain[1], corrected[1])


def test_decoupled_ppo_at_the_proximal_policy_is_weighed_reinforce() -> None:
    batch = batch_of(LENGTHS)
    batch = batch.with_columns({"now_T": batch.column("old_T")})
    step = prepared(Recipe(ratio=OLD, corrections=("decoupled",)), batch)
    weight_T = Aggregation().weights(batch, batch.trained_T)
    expected_T = -weight_T * (batch.column("old_T") - batch.logprob_T).exp() * batch.advantage_T
    torch.testing.assert_close(gradient(step)[1], expected_T, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(trust={"part": "clip-cov", "fraction": 0.1, "least": 0.0}, ratio=OLD),
        Recipe(trust={"part": "kl-cov", "fraction": 0.1}, ratio=OLD),
        Recipe(trust={"part": "lp-reg", "share": 0.5}, ratio=OLD),
        Recipe(trust="gmpo", ratio=OLD),
        Recipe(trust="lad", ratio=OLD),
        Recipe(trust="luffy", ratio=OLD),
        Recipe(masks=("s2t", "m2po", {"part": "opsm", "delta": 0.1}, "entropy-top"), ratio=OLD),
        Recipe(corrections=("icepop",), masks=("truncated", "invalid-turns"), ratio=OLD),
        Recipe(
            regularisers=(
                {"part": "kl", "estimator": "k3", "coefficient": 0.04},
                {"part": "entropy", "coefficient": 0.01},
                {"part": "positive-nll", "aggregation": {"name": "token-mean"}},
                "move",
            ),
            ratio=OLD,
        ),
    ],
    ids=lambda recipe: "+".join(f"{plug}/{name}" for plug, name, _ in recipe.specs()),
)
def test_the_pieces_of_a_step_add_up_to_it(recipe: Recipe) -> None:
    step = prepared(recipe, batch_of(LENGTHS, seed=1))
    every = list(range(step.batch.trajectories))
    whole = gradient(step)
    pieces = gradient(step, [every[:1], every[1:3], every[3:]])
    assert pieces[0] == pytest.approx(whole[0], abs=1e-12)
    torch.testing.assert_close(pieces[1], whole[1], rtol=1e-12, atol=1e-14)
    assert whole[1].abs().sum() > 0


def test_a_step_in_which_everything_is_masked_is_nothing() -> None:
    batch = batch_of(LENGTHS).with_columns({"done_R": torch.zeros(len(LENGTHS))})
    step = prepared(Recipe(ratio=OLD, masks=("truncated",), corrections=("token-tis",)), batch)
    assert step.batch.trajectories == 0


ROLLOUT, PLAIN = RatioConfig(anchor="rollout"), RatioConfig(anchor="none")
SEQUENCE = RatioConfig(anchor="old", granularity="sequence")


@pytest.mark.parametrize(
    ("sections", "says"),
    [
        *(
            ({"ratio": ROLLOUT, "corrections": (name,)}, "count it twice")
            for name in ("token-tis", "sequence-tis", "icepop", "uncorrected")
        ),
        ({"ratio": ROLLOUT, "corrections": ("decoupled",)}, "decoupled"),
        ({"ratio": OLD, "corrections": ("token-tis", "icepop")}, "both weigh the same mismatch"),
        ({"ratio": OLD, "corrections": ("token-tis", "uncorrected")}, "both weigh the same mismatch"),
        ({"ratio": SEQUENCE, "corrections": ("token-tis",)}, "take correction/sequence-tis"),
        ({"ratio": SEQUENCE, "corrections": ("icepop",)}, "take correction/sequence-tis"),
        ({"ratio": SEQUENCE, "trust": "gmpo"}, "takes their mean itself"),
        ({"trust": "gmpo", "aggregation": Aggregation(name="token-mean")}, "once for each of its tokens"),
        ({"ratio": SEQUENCE, "trust": "lp-reg"}, "single tokens"),
        ({"ratio": SEQUENCE, "trust": "kl-cov"}, "single tokens"),
        ({"ratio": PLAIN, "regularisers": ("move",)}, "nothing to have moved from"),
        ({"masks": ({"part": "reject", "level": "token", "low": 2.0, "high": 3.0},)}, "low=2.0"),
    ],
)
def test_what_does_not_go_together_is_refused_before_training(sections: Mapping[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        build(Recipe(**sections))


OURS = [one for one in PARTS.values() if one.plug in PLUGS and one.make.__module__.startswith("palaestra.")]


@pytest.mark.parametrize("one", OURS, ids=lambda one: f"{one.plug}/{one.name}")
def test_neutral_settings_are_settings(one: Part) -> None:
    if one.neutral is not None and not one.is_function:
        one.make(**one.neutral)
    assert one.doc
    assert one.formula
    assert ("Experimental" in (one.make.__doc__ or "")) >= (one.confidence == "derived")
