"""Any two parts stand together as what is said of them has it, or are refused with the reason.

Parts of two places of a step are composed: filters and rewards first, then advantages and their transforms; what
masks, corrections and rates say is a factor each; regularisers are summands. Axes: T tokens, U turns, R trajectories.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from complete import Step, complete, step_of
from complete.recipes import REQUIRED, sections
from palaestra.errors import ConfigError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import PARTS, ObjectiveConfig
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.compatible import RULES
from palaestra.trainers.objectives.part import Denominator, Part, Plug
from palaestra.trainers.objectives.segments import sum_over
from palaestra.trainers.updates import filter_trajectories, reshape_rewards

ORDER: tuple[Plug, ...] = (
    "filter", "reward", "advantage", "transform", "whole", "trust", "correction", "mask", "regulariser", "rate",
    "temperature",
)  # fmt: skip
"""In which a step comes to them."""
ALONE: frozenset[Plug] = frozenset({"advantage", "trust", "whole", "temperature"})
"""Of which a recipe has one."""
FIRST = ("unit", "solved", "ungraded")
"""Rewards are converted first; then come the parts that pay something else in place of all."""
OURS: list[Part] = sorted(
    (part for part in PARTS.values() if part.make.__module__.startswith("palaestra.trainers.objectives.")),
    key=lambda part: (ORDER.index(part.plug), [part.name != name for name in FIRST], part.name),
)
BEFORE_COLUMNS = ("is filled in only after it was asked", "and the advantage has no critic", "would not be used")
"""Reasons that follow from when columns are filled in, and from what `whole` replaces."""
MEANS = Aggregation()
BATCH = complete(groups=(3, 3, 2), longest=2)


def spec(part: Part, *, neutral: bool = False) -> dict[str, Any]:
    return {**REQUIRED.get(part.name, {}), **((part.neutral or {}) if neutral else {})}


def recipe(parts: list[Part], *, neutral: Part | None = None, **settings: Any) -> dict[str, Any]:
    """Sections that hold these parts, in this order, and what they need beside."""
    found: dict[str, Any] = {} if any(part.plug == "whole" for part in parts) else {"ratio": {"anchor": "old"}}
    found["aggregation"] = {"name": aggregation_of(parts).name}
    for part in parts:
        own = spec(part, neutral=part is neutral)
        if part.plug == "mask" and settings.get("denominator"):
            own["denominator"] = settings["denominator"]
        for section, value in sections(part.plug, part.name, own).items():
            there = found.get(section)
            found[section] = [*there, *value] if isinstance(there, list) and isinstance(value, list) else value
        for fact in part.needs:
            place, _, value = fact.partition("=")
            section, _, setting = place.partition(".")
            found[section] = {**found.get(section, {}), setting: value}
    if "ratio" in found:
        found.setdefault("trust", plain_trust(found["ratio"]))
    return found


def plain_trust(ratio: dict[str, str]) -> str:
    """The trust region where neither part is one: a product of ratios leaves every clip at once."""
    return "unclipped" if ratio.get("granularity") == "product" else "clip"


def aggregation_of(parts: list[Part]) -> Aggregation:
    """How tokens are added up: as usual, but for a baseline that is the best for sums over tokens only."""
    return Aggregation(name="token-mean") if any(part.name == "opo" for part in parts) else Aggregation()


def stepped(parts: list[Part], **settings: Any) -> Step:
    return step_of(ObjectiveConfig(parts=recipe(parts, **settings)).build(), BATCH)


@cache
def single(
    key: tuple[Plug, str], ratio: str, denominator: Denominator | None = None, sums: Aggregation = MEANS
) -> Step:
    """A step with one part, under the ratio and the aggregation that a pair has."""
    table = recipe([PARTS[key]], denominator=denominator)
    table["aggregation"] = {"name": sums.name}
    if PARTS[key].plug != "whole":
        table["ratio"] = dict(one.split("=") for one in ratio.split(","))
        if PARTS[key].plug != "trust":
            table["trust"] = plain_trust(table["ratio"])
    return step_of(ObjectiveConfig(parts=table).build(), BATCH)


def ratio_of(parts: list[Part]) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(recipe(parts).get("ratio", {"anchor": "old"}).items()))


def fresh(part: Part) -> Any:
    """The part itself, with nothing remembered."""
    return part.make if part.is_function else part.make(**spec(part))


def whole_T(step: Step, value_T: Tensor) -> Tensor:
    """What a prepared step says of its tokens, at all tokens that it was made of; 0 of those it is without."""
    place_T = step.prepared.batch.column("place_T")
    return torch.zeros(len(step.batch.ids_T), dtype=value_T.dtype).index_put((place_T,), value_T)


def signal(step: Step) -> Tensor:
    """What gradients are multiplied with before the trust region, [T]."""
    ready = step.prepared.batch
    return whole_T(step, ready.weight_T * ready.advantage_T)


def gradient(step: Step) -> Tensor:
    draw = torch.Generator().manual_seed(9)
    noise_T = 0.3 * torch.randn(len(step.batch.ids_T), generator=draw, dtype=torch.float64)
    logp_T = (step.batch.logprob_T + noise_T).clamp_max(-0.01).masked_fill(~step.batch.trained_T, 0.0)
    return step.gradient(logp_T)


def close(found_T: Tensor, expected_T: Tensor) -> None:
    torch.testing.assert_close(found_T, expected_T, rtol=1e-10, atol=1e-13)


def reasons(*parts: Part) -> Iterator[str]:
    for part in parts:
        yield from part.conflicts.values()
        yield from part.needs.values()
    yield from (reason for *_, reason in RULES)
    yield from BEFORE_COLUMNS


def builds(*parts: Part) -> bool:
    return can_build(tuple((part.plug, part.name) for part in parts))


@cache
def can_build(keys: tuple[tuple[Plug, str], ...]) -> bool:
    try:
        ObjectiveConfig(parts=recipe([PARTS[key] for key in keys]))
    except ConfigError:
        return False
    return True


def counted(part: Part, denominator: Denominator | None, step: Step) -> Tensor:
    """The tokens that means are over with a mask, [T]."""
    own_T = step.batch.trained_T
    return own_T & fresh(part)(step.batch) if (denominator or part.denominator) == "survivors" else own_T


def check_composition(one: Part, other: Part, both: Step) -> None:
    """`other` comes after `one` in a step, or beside it."""
    sums = aggregation_of([one, other])
    first = single((one.plug, one.name), ratio_of([one, other]), sums=sums)
    own_T = first.batch.trained_T
    match other.plug:
        case "filter":
            keeps = [keep.nonzero()[:, 0].tolist() for keep in (fresh(other)(first.batch),)]
            assert torch.equal(both.batch.return_R, first.batch.select(keeps[0]).return_R)
        case "reward":
            table = recipe([one])
            filtered = filter_trajectories(BATCH, ObjectiveConfig(parts=table).build())
            paid = reshape_rewards(filtered, ObjectiveConfig(parts=table).build())
            assert torch.equal(both.batch.reward_U, fresh(other)(paid))
        case "advantage":
            expected_T = fresh(other)(first.batch).masked_fill(~own_T, 0.0)
            close(both.batch.advantage_T, expected_T)
        case "transform":
            expected_T = fresh(other)(first.batch.advantage_T, first.batch).masked_fill(~own_T, 0.0)
            close(both.batch.advantage_T, expected_T)
        case "whole":
            assert torch.equal(both.batch.return_R, first.batch.return_R)
        case "trust":
            assert torch.equal(both.batch.advantage_T, first.batch.advantage_T)
            close(signal(both), signal(first))
        case "correction":
            close(signal(both), signal(first) * fresh(other)(first.batch).masked_fill(~own_T, 0.0))
        case "mask":
            keep_T = fresh(other)(first.batch)
            masks = [part for part in (one, other) if part.plug == "mask"]
            counted_T = own_T.clone()
            for part in masks:
                counted_T &= counted(part, None, first)
            before_T = counted(one, None, first) if one.plug == "mask" else own_T
            scale = sums.weights(first.batch, counted_T), sums.weights(first.batch, before_T)
            there_T = scale[1] != 0
            factor_T = torch.where(there_T, scale[0] / scale[1].where(there_T, torch.ones_like(scale[1])), 0.0)
            close(signal(both), signal(first) * factor_T.masked_fill(~keep_T, 0.0))
        case "regulariser":
            if one.plug != "whole":
                close(signal(both), signal(first))
        case "temperature":  # it has steps of its own, and changes none of the policy's
            close(signal(both), signal(first))
            close(gradient(both), gradient(first))
        case "rate":
            close(signal(both), signal(first))
            assert both.prepared.rate == pytest.approx(first.prepared.rate * fresh(other)(first.batch))


PAIRS = [
    (one, other)
    for one, other in combinations(OURS, 2)
    if not (one.plug == other.plug and one.plug in ALONE)
    and {one.plug, other.plug} not in ({"whole", "advantage"}, {"whole", "trust"})
]
"""Those of which a recipe can have both. The same part twice is no pair, and one slot holds one."""


@pytest.mark.parametrize("one", OURS, ids=lambda part: f"{part.plug}/{part.name}")
def test_two_parts_are_composed_as_is_said_of_them_or_refused_with_a_reason(one: Part) -> None:
    stood = 0
    for other in (other for first, other in PAIRS if first is one):
        if not (builds(one) and builds(other)):
            continue
        try:
            both = stepped([one, other])
        except ConfigError as error:
            told = str(error)
        else:
            check_composition(one, other, both)
            stood += 1
            continue
        assert any(reason in told for reason in reasons(one, other)), (other.plug, other.name)
    assert stood or ORDER.index(one.plug) >= ORDER.index("correction") or one.plug == "whole"


@pytest.mark.parametrize("plug", ["mask", "regulariser"])  # no two corrections go together
def test_the_order_of_factors_and_summands_changes_nothing(plug: Plug) -> None:
    tried = 0
    for one, other in PAIRS:
        if one.plug == other.plug == plug and builds(one, other):
            tried += 1
            there, back = stepped([one, other]), stepped([other, one])
            close(signal(there), signal(back))
            close(gradient(there), gradient(back))
    assert tried >= 3


@pytest.mark.parametrize("denominator", get_args(Denominator))
def test_masks_divide_by_the_tokens_that_they_declare(denominator: Denominator) -> None:
    """Over the original tokens a mask is a factor of 0 or 1; over the survivors weights sum to what they did."""
    plain, tried = stepped([]), 0
    for part in OURS:
        if part.plug != "mask" or not builds(part):
            continue
        tried += 1
        step = single((part.plug, part.name), ratio_of([part]), denominator)
        weight_T = whole_T(step, step.prepared.batch.weight_T)
        keep_T = fresh(part)(plain.batch) & plain.batch.trained_T
        if denominator == "original":
            close(signal(step), signal(plain).masked_fill(~keep_T, 0.0))
        else:
            expected_T = Aggregation().weights(plain.batch, keep_T)
            seen_T = whole_T(step, torch.ones_like(step.prepared.batch.weight_T)) != 0
            close(weight_T[seen_T], expected_T[seen_T])
    assert tried >= 5


NEUTRAL: list[Part] = [
    part
    for part in OURS
    if part.neutral is not None and part.plug in ("transform", "mask", "regulariser", "reward", "filter")
]
"""Parts that are, at their neutral settings, as if they were not there."""
SEEN: dict[Plug, tuple[Plug, ...]] = {
    "filter": ("filter", "reward", "advantage"),
    "reward": ("filter", "reward", "advantage"),
    "transform": ("advantage", "transform", "mask"),
    "mask": ("trust", "correction", "mask", "regulariser", "rate"),
    "regulariser": ("whole", "trust", "correction", "mask", "regulariser"),
}
"""Plugs that see what such a part would have changed; others see nothing but what these make of it."""


@pytest.mark.parametrize("neutral", NEUTRAL, ids=lambda part: f"{part.plug}/{part.name}")
def test_beside_any_other_part_neutral_settings_change_nothing_to_the_bit(neutral: Part) -> None:
    for other in OURS:
        if other is neutral or other.plug not in SEEN[neutral.plug] or not builds(neutral, other):
            continue
        pair = sorted([neutral, other], key=OURS.index)
        alone = single((other.plug, other.name), ratio_of(pair), sums=aggregation_of(pair))
        with_it = stepped(pair, neutral=neutral)
        assert torch.equal(gradient(with_it), gradient(alone)), (other.plug, other.name)


@pytest.mark.parametrize("term", [part for part in OURS if part.plug == "regulariser"], ids=lambda part: part.name)
def test_a_regulariser_is_a_summand_beside_any_part_that_leaves_tokens_and_advantages(term: Part) -> None:
    """It reads advantages or counts tokens, so those that change either are left to the test of single parts."""
    tried = 0
    for other in OURS:
        if other.plug not in ("trust", "correction") or not builds(term, other):
            continue
        tried += 1
        ratio = ratio_of([term, other])
        both = stepped([other, term])
        plain = single((other.plug, other.name), ratio)
        without = Step.__new__(Step)
        without.batch, without.prepared = both.batch, both.prepared
        silent = both.prepared.batch
        without.prepared = replace(both.prepared, batch=replace(silent, weight_T=torch.zeros_like(silent.weight_T)))
        close(gradient(both), gradient(plain) + gradient(without))
    assert tried >= 5


def paid_otherwise() -> TokenBatch:
    """The batch with other rewards, and returns that follow from them."""
    draw = torch.Generator().manual_seed(5)
    reward_U = BATCH.reward_U + torch.randn(len(BATCH.reward_U), generator=draw, dtype=torch.float64)
    return replace(BATCH, reward_U=reward_U, return_R=sum_over(reward_U, BATCH.trajectory_U, BATCH.trajectories))


def refuses_rewards(part: Part) -> bool:
    return not any(builds(part, reward) for reward in OURS if reward.plug == "reward" and reward.name != "unit")


@pytest.mark.parametrize("advantage", [part for part in OURS if part.plug == "advantage"], ids=lambda part: part.name)
def test_rewards_are_not_changed_beside_an_advantage_that_does_not_read_them(advantage: Part) -> None:
    own_T = BATCH.trained_T
    reads = not torch.equal(fresh(advantage)(paid_otherwise())[own_T], fresh(advantage)(BATCH)[own_T])
    assert reads or refuses_rewards(advantage)


@pytest.mark.parametrize("whole", [part for part in OURS if part.plug == "whole"], ids=lambda part: part.name)
def test_rewards_are_not_changed_beside_a_loss_that_does_not_read_them(whole: Part) -> None:
    logp_R = BATCH.return_R - 3
    reads = not torch.equal(fresh(whole)(logp_R, paid_otherwise()), fresh(whole)(logp_R, BATCH))
    assert reads != refuses_rewards(whole)


def test_rewards_are_not_changed_beside_a_baseline_that_has_the_worlds_pay() -> None:
    assert refuses_rewards(PARTS["advantage", "remax"])
