"""Masks against loops in numpy, the tokens that they are made for, and the settings at which they keep all."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from drawn import Array, batch_of, column, on_policy
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.masks import (
    Anchors,
    EntropyTop,
    M2po,
    Opsm,
    RejectTokens,
    S2t,
    drop_invalid_turns,
    drop_truncated,
)
from palaestra.trainers.objectives.masks.rejection import RejectionLevel, RejectionStatistic
from palaestra.trainers.objectives.part import PARTS
from palaestra.trainers.objectives.parts import Mask

LENGTHS = (5, 1, 12, 8, 20)


def trained(found_T: Tensor, batch: TokenBatch) -> list[bool]:
    kept: list[bool] = found_T[batch.trained_T].tolist()
    return kept


def rows(value_T: Tensor, batch: TokenBatch) -> list[Array]:
    """The trained tokens' values of each trajectory."""
    return [value_T[batch.trained_T & (batch.trajectory_T == number)].numpy() for number in range(batch.trajectories)]


def flat(rows: list[list[bool]]) -> list[bool]:
    return [one for row in rows for one in row]


def statistic_of(off: float, statistic: RejectionStatistic) -> float:
    return {"k1": off, "k2": off * off / 2, "k3": math.exp(off) - off - 1}[statistic]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("level", ["token", "sequence-sum", "sequence-mean", "sequence-max"])
@pytest.mark.parametrize(
    ("statistic", "low", "high"), [("k1", 0.5, 2.0), ("k1", 0.8, 1.1), ("k2", 0.0, 0.05), ("k3", 0.0, 0.04)]
)
def test_rejected_is_what_is_too_far_off(
    level: RejectionLevel, statistic: RejectionStatistic, low: float, high: float, seed: int
) -> None:
    if level == "sequence-max" and statistic == "k1":
        return
    batch = batch_of(LENGTHS, seed=seed)
    expected: list[list[bool]] = []
    for row in rows(batch.column("old_T") - batch.logprob_T, batch):
        far = [statistic_of(float(off), statistic) for off in row]
        if level == "sequence-sum":
            far = [sum(far)] * len(far)
        elif level == "sequence-mean":
            far = [sum(far) / len(far)] * len(far)
        elif level == "sequence-max":
            far = [max(far)] * len(far)
        expected.append([low <= math.exp(one) <= high if statistic == "k1" else one <= high for one in far])
    found_T = RejectTokens(level=level, statistic=statistic, low=low, high=high)(batch)
    assert trained(found_T, batch) == flat(expected)


def test_geometric_rejection_and_masked_sampling_by_sequence_are_settings() -> None:
    """The mean within a thousandth, and the product within a factor of 2."""
    batch = batch_of((2, 2, 2), prompt=1, turns=1)
    batch = column(batch, "logprob_T", [-1.0] * 6)
    batch = column(batch, "old_T", [-1.5, -0.5, -1.002, -1.001, -0.6, -0.6])
    geometric = RejectTokens(level="sequence-mean", low=0.999, high=1.001)(batch)
    assert trained(geometric, batch) == [True, True, False, False, False, False]
    by_sequence = RejectTokens(level="sequence-sum", low=0.5, high=2.0)(batch)
    assert trained(by_sequence, batch) == [True, True, True, True, False, False]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tau", [0.001, 0.04, 0.1, 10.0])
def test_m2po_drops_the_farthest_until_the_moment_is_low(seed: int, tau: float) -> None:
    batch = batch_of(LENGTHS, seed=seed)
    squares = ((batch.column("old_T") - batch.logprob_T)[batch.trained_T] ** 2).tolist()
    left = sorted(range(len(squares)), key=squares.__getitem__)
    while left and sum(squares[place] for place in left) / len(left) >= tau:
        left.pop()
    assert trained(M2po(tau=tau)(batch), batch) == [place in left for place in range(len(squares))]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("delta", [0.0, 0.05, 0.5])
def test_opsm_drops_bad_trajectories_that_the_policy_has_left(seed: int, delta: float) -> None:
    batch = batch_of(LENGTHS, seed=seed)
    expected = [
        [not (advantage[0] < 0 and float(np.mean(fall)) > delta)] * len(fall)
        for fall, advantage in zip(
            rows(batch.logprob_T - batch.column("now_T"), batch), rows(batch.advantage_T, batch), strict=True
        )
    ]
    assert trained(Opsm(delta=delta)(batch), batch) == flat(expected)


def test_opsm_never_drops_a_good_trajectory() -> None:
    batch = batch_of((3, 3), prompt=1, turns=1)
    batch = column(column(batch, "logprob_T", [-1.0] * 6), "now_T", [-9.0] * 6)
    batch = column(batch, "advantage_T", [1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    assert trained(Opsm(delta=0.5)(batch), batch) == [True, True, True, False, False, False]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("probability", "share"), [(0.002, 0.8), (0.4, 0.8), (0.9, 0.5)])
def test_s2t_is_the_loop(seed: int, probability: float, share: float) -> None:
    batch = batch_of(LENGTHS, seed=seed)
    own_T = batch.trained_T
    advantage, old = batch.advantage_T[own_T].tolist(), batch.column("old_T")[own_T].tolist()
    entropy = batch.column("entropy_T")[own_T].numpy()
    bound = np.quantile(entropy, share)
    expected = [
        not (a > 0 and math.exp(p) < probability and h < bound)
        for a, p, h in zip(advantage, old, entropy.tolist(), strict=True)
    ]
    assert trained(S2t(probability=probability, quantile=share)(batch), batch) == expected


def test_s2t_drops_a_token_only_where_all_three_conditions_hold() -> None:
    batch = batch_of((5,), prompt=1, turns=1)
    batch = column(batch, "advantage_T", [1.0, -1.0, 1.0, 1.0, 1.0])  # the second is not praised
    batch = column(
        batch, "old_T", [math.log(0.001), math.log(0.001), -0.1, math.log(0.001), -0.1]
    )  # the third is likely
    batch = column(batch, "entropy_T", [0.1, 0.1, 0.1, 3.0, 3.0])  # the fourth is one of many
    assert trained(S2t(quantile=0.5)(batch), batch) == [True] * 5  # the median is the lowest there is
    assert trained(S2t(quantile=0.8)(batch), batch) == [False, True, True, True, True]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_kept_is_the_share_of_greatest_entropy(seed: int, share: float) -> None:
    batch = batch_of(LENGTHS, seed=seed)
    entropy = batch.column("entropy_T")[batch.trained_T].numpy()
    assert trained(EntropyTop(share=share)(batch), batch) == (entropy >= np.quantile(entropy, 1 - share)).tolist()


def test_where_all_entropies_are_equal_all_are_kept() -> None:
    batch = batch_of((7,), turns=1)
    batch = column(batch, "entropy_T", [0.1 + 0.2] * 7)
    assert all(trained(EntropyTop(share=0.3)(batch), batch))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.15, 0.5])
def test_anchors_are_the_greatest_share_of_each_trajectory(seed: int, share: float) -> None:
    batch = batch_of(LENGTHS, seed=seed)
    expected: list[list[bool]] = []
    for row in rows(batch.column("attention_T"), batch):
        least = sorted(row.tolist(), reverse=True)[math.ceil(round(share * len(row), 9)) - 1]
        expected.append([one >= least for one in row.tolist()])
    assert trained(Anchors(share=share)(batch), batch) == flat(expected)
    assert sum(flat(expected)) == sum(math.ceil(round(share * length, 9)) for length in LENGTHS)


def test_what_was_cut_short_and_what_could_not_be_read_is_left_out() -> None:
    batch = batch_of((2, 4), prompt=1, turns=2)
    batch = batch.with_columns({"done_R": torch.tensor([0.0, 1.0]), "invalid_U": torch.tensor([0.0, 1.0, 1.0, 0.0])})
    assert trained(drop_truncated(batch), batch) == [False] * 2 + [True] * 4
    assert trained(drop_invalid_turns(batch), batch) == [True, False, False, False, True, True]


def test_tokens_of_no_turn_are_kept() -> None:
    batch = batch_of((3, 3))
    nowhere = replace(batch, turn_T=torch.full_like(batch.turn_T, -1), reward_U=batch.reward_U[:0])
    assert drop_invalid_turns(nowhere.with_columns({"invalid_U": torch.zeros(0)})).all()
    assert drop_invalid_turns(batch.with_columns({"invalid_U": torch.ones(4)}))[~batch.trained_T].all()


NEUTRAL: list[Mask] = [
    RejectTokens(level="token", high=math.inf),
    RejectTokens(level="sequence-sum", statistic="k3", high=math.inf),
    M2po(tau=math.inf),
    Opsm(delta=math.inf),
    S2t(probability=0.0),
    EntropyTop(share=1.0),
    Anchors(share=1.0),
]


@pytest.mark.parametrize("mask", NEUTRAL, ids=repr)
def test_a_neutral_setting_keeps_all(mask: Mask) -> None:
    batch = batch_of(LENGTHS)
    assert all(trained(mask(batch), batch))


@pytest.mark.parametrize(
    "mask",
    [
        RejectTokens(level="token", low=0.999, high=1.001),
        RejectTokens(level="sequence-sum", low=1.0, high=1.0),
        RejectTokens(level="sequence-mean", low=0.999, high=1.001),
        RejectTokens(level="sequence-max", statistic="k2", high=0.0),
        RejectTokens(level="token", statistic="k3", high=0.0),
        M2po(tau=1e-9),
        Opsm(delta=0.0),
    ],
    ids=repr,
)
def test_what_the_weights_drew_themselves_is_kept(mask: Mask) -> None:
    batch = on_policy(batch_of(LENGTHS))
    assert all(trained(mask(batch), batch))


def told(mask: Mask) -> str:
    """A name that is the same in every process."""
    return getattr(mask, "__name__", repr(mask))


EVERY: list[Mask] = [
    RejectTokens(level="token", high=2.0),
    RejectTokens(level="sequence-mean", high=2.0),
    RejectTokens(level="sequence-max", statistic="k3", high=2.0),
    M2po(),
    Opsm(delta=0.1),
    S2t(),
    EntropyTop(),
    Anchors(),
    drop_truncated,
    drop_invalid_turns,
]


@pytest.mark.parametrize("mask", EVERY, ids=told)
@pytest.mark.parametrize("lengths", [(), (0, 0), (1,), (0, 3)])
def test_batches_of_next_to_nothing_are_masked(mask: Mask, lengths: tuple[int, ...]) -> None:
    batch = batch_of(lengths) if lengths else batch_of((1,)).select([])
    found_T = mask(batch)
    assert found_T.dtype == torch.bool
    assert found_T.shape == batch.ids_T.shape


@pytest.mark.parametrize("mask", EVERY, ids=told)
def test_what_is_not_trained_is_never_looked_at(mask: Mask) -> None:
    batch = batch_of(LENGTHS)
    spoilt = {
        name: value_T.masked_fill(~batch.trained_T, math.nan)
        for name, value_T in batch.columns.items()
        if name.endswith("_T")
    }
    assert trained(mask(batch.with_columns(spoilt)), batch) == trained(mask(batch), batch)


@pytest.mark.parametrize("mask", EVERY, ids=told)
def test_the_order_of_trajectories_makes_no_difference(mask: Mask) -> None:
    batch = batch_of(LENGTHS)
    order = [3, 1, 4, 0, 2]
    before = batch.with_columns({"kept_T": mask(batch)}).select(order)
    after = batch.select(order)
    assert trained(before.column("kept_T"), before) == trained(mask(after), after)


def test_means_are_over_what_each_mask_says() -> None:
    said = {name: PARTS["mask", name].denominator for plug, name in PARTS if plug == "mask"}
    assert {name: said[name] for name in ("reject", "s2t", "truncated", "anchors")} == dict.fromkeys(
        ("reject", "s2t", "truncated", "anchors"), "survivors"
    )
    assert said["entropy-top"] == said["opsm"] == said["m2po"] == "original"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: RejectTokens(level="token", low=1.5, high=2.0), "low=1.5, high=2.0: 1, the ratio"),
        (lambda: RejectTokens(level="token", high=0.9), "high=0.9: 1, the ratio"),
        (lambda: RejectTokens(level="sequence-max", high=2.0), "level=sequence-max, statistic=k1"),
        (lambda: RejectTokens(level="token", statistic="k2", low=0.5, high=2.0), "k2 is 0 without a mismatch"),
        (lambda: RejectTokens(level="token", statistic="k3", high=-1.0), "k3 is 0 without a mismatch"),
        (lambda: M2po(tau=0.0), "tau=0.0"),
        (lambda: Opsm(delta=-0.1), "delta=-0.1"),
        (lambda: S2t(probability=2.0), "probability=2.0, quantile=0.8"),
        (lambda: S2t(quantile=-1.0), "quantile=-1.0"),
        (lambda: EntropyTop(share=0.0), "share=0.0"),
        (lambda: Anchors(share=1.1), "share=1.1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make: Callable[[], Mask], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
