"""The whole pipeline is its stages one after the other, trains with each of its alternatives, and costs nothing extra
where rollouts are fresh. Axes: T tokens, R trajectories.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

from complete import complete, on_policy, step_of
from palaestra.benchmarks.objectives.copying import Copying
from palaestra.benchmarks.objectives.planning import Planning
from palaestra.benchmarks.objectives.training import ToyTraining, train_toy
from palaestra.errors import ConfigError
from palaestra.trainers.objectives import BuiltObjective, ComposedObjective, ObjectiveConfig
from palaestra.trainers.objectives.advantages import Cm2, Gigpo
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.corrections import SequenceTis
from palaestra.trainers.objectives.filters import mixed_groups
from palaestra.trainers.objectives.masks import S2t
from palaestra.trainers.objectives.rates import Ess
from palaestra.trainers.objectives.rewards import Laconic
from palaestra.trainers.objectives.segments import sum_over
from palaestra.trainers.objectives.transforms import normalised_stream

HIPER: Mapping[str, Any] = {"advantage": "hiper"}
CLIP_HIGHER: Mapping[str, Any] = {"trust": {"part": "clip", "high": 0.28}}


def built(**parts: Any) -> BuiltObjective:
    return ObjectiveConfig(preset="recipe_2026", parts=parts).build()


def test_the_step_is_its_stages_one_after_the_other() -> None:
    batch = complete()
    own = batch.select(mixed_groups(batch).nonzero()[:, 0].tolist())
    paid = replace(own, reward_U=own.reward_U / 100)
    reward_U = Laconic(budget=1500)(paid)
    paid = replace(paid, reward_U=reward_U, return_R=sum_over(reward_U, own.trajectory_U, own.trajectories))
    own_T = paid.trained_T
    advantage_T = normalised_stream(Gigpo()(paid), own_T) + normalised_stream(Cm2()(paid), own_T)
    paid = replace(paid, advantage_T=advantage_T.masked_fill(~own_T, 0.0))
    kept_T = own_T & S2t()(paid)
    weight_T = Aggregation(name="token-mean").weights(paid, kept_T).masked_fill(~kept_T, 0.0)
    weight_T = weight_T * SequenceTis(cap=8.0)(paid)

    step = step_of(built(masks=["s2t"]), batch)
    torch.testing.assert_close(step.batch.advantage_T, paid.advantage_T, rtol=1e-12, atol=1e-14)
    ready = step.prepared.batch
    place_T = ready.column("place_T")
    torch.testing.assert_close(ready.weight_T, weight_T[place_T], rtol=1e-12, atol=1e-14)
    assert step.prepared.rate == pytest.approx(Ess()(paid))
    assert 0 < step.prepared.rate < 1


@pytest.mark.parametrize("parts", [{}, HIPER, CLIP_HIGHER, {**HIPER, **CLIP_HIGHER}])
def test_fresh_rollouts_are_not_corrected_to_the_bit(parts: Mapping[str, Any]) -> None:
    batch = on_policy(complete())
    one = step_of(built(**parts), batch)
    other = step_of(built(**parts, corrections=[], rates=[]), batch)
    logp_T = one.batch.logprob_T
    assert one.prepared.rate == 1.0
    assert torch.equal(one.gradient(logp_T), other.gradient(logp_T))
    assert one.gradient(logp_T).any()


def test_two_trust_regions_have_one_slot_and_a_checklist_counts_once() -> None:
    made = built(**CLIP_HIGHER)
    assert isinstance(made.objective, ComposedObjective)
    assert [one.name for one in made.parts if one.plug == "trust"] == ["clip"]
    with pytest.raises(ConfigError, match="the checklist would be both streams"):
        built(advantage="cm2", rewards=[])


def test_a_group_that_all_passed_is_left_out_though_its_lengths_are_priced() -> None:
    made = built(rewards=[{"part": "laconic", "budget": 1, "start": 0.002}])
    assert not step_of(made, complete(groups=(4, 4), equal=True)).batch.trajectories


@pytest.mark.parametrize("parts", [{}, CLIP_HIGHER])
@pytest.mark.parametrize("staleness", [1, 8])
def test_it_learns_with_fresh_and_with_stale_rollouts(parts: Mapping[str, Any], staleness: int) -> None:
    training = ToyTraining(measure_every=80, staleness=staleness)
    assert train_toy(Copying(), built(**parts), steps=80, seed=0, training=training).final > 0.9


def test_it_learns_to_plan_with_hipers_credit() -> None:
    learnt = train_toy(Planning(), built(**HIPER), steps=100, seed=0, training=ToyTraining(measure_every=100))
    assert learnt.success[0] < 0.4
    assert learnt.final > 0.9
