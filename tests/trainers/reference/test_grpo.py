"""Axes: B sequences, T tokens, V actions. Everything in float64, so that an identity is seen to be one."""

import math
from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from palaestra.trainers.reference.grpo import clipped_surrogate, group_advantages, grpo_loss, sequence_mean

CLIP = 0.2
INF = math.inf

returns = st.lists(st.integers(-60, 100), min_size=2, max_size=9)


def f64(values: Sequence[float] | Sequence[Sequence[float]]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def advantages(values: Sequence[float], groups: Sequence[int] | None = None) -> Tensor:
    return group_advantages(f64(values), torch.tensor(groups or [0] * len(values)))


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def gradient(loss: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    leaf = at.clone().requires_grad_()
    loss(leaf).backward()
    assert leaf.grad is not None
    return leaf.grad


def central_differences(loss: Callable[[Tensor], Tensor], at: Tensor, *, h: float = 1e-6) -> Tensor:
    flat = torch.zeros(at.numel(), dtype=at.dtype)
    for i in range(at.numel()):
        step = torch.zeros(at.numel(), dtype=at.dtype)
        step[i] = h
        flat[i] = (loss(at + step.view_as(at)) - loss(at - step.view_as(at))) / (2 * h)
    return flat.view_as(at)


def ragged() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Five sequences of unlike lengths, off-policy, on both sides of the clip."""
    old_BT = -random(5, 7, seed=1).abs()
    logp_BT = old_BT + 0.3 * random(5, 7, seed=2)
    trained_BT = random(5, 7, seed=3) > 0
    trained_BT[0] = True
    return logp_BT, old_BT, random(5, seed=4), trained_BT


# Advantages


def test_advantages_of_other_shapes_than_their_groups_are_a_mistake() -> None:
    with pytest.raises(AssertionError, match="groups"):
        group_advantages(torch.zeros(3), torch.zeros(2, dtype=torch.long))


def test_advantages_of_a_known_group() -> None:
    # Mean 0.6; squares 3 * 0.16 + 2 * 0.36 = 1.2 over n - 1 = 4: std sqrt(0.3); 0.4 / sqrt(0.3) and -0.6 / sqrt(0.3).
    expected = [0.730295, -1.095443, -1.095443, 0.730295, 0.730295]
    assert advantages([1, 0, 0, 1, 1]).tolist() == pytest.approx(expected, abs=2e-6)


@given(values=returns, constant=st.integers(-1000, 1000))
def test_a_constant_added_to_all_returns_changes_nothing(values: list[int], constant: int) -> None:
    # Not to the bit: the mean is rounded.
    assert torch.allclose(advantages(values), advantages([v + constant for v in values]), atol=1e-9, rtol=0)


@given(values=returns, factor=st.floats(0.1, 100))
def test_a_positive_factor_changes_nothing_but_for_epsilon(values: list[int], factor: float) -> None:
    scaled = advantages([v * factor for v in values])
    # d/d eps of 1 / (std + eps) is at most eps / std in proportion; std of unequal integers is at least 1 / 3.
    assert torch.allclose(advantages(values), scaled, atol=1e-12, rtol=4e-6 / min(1.0, factor))


@given(value=st.floats(-1e6, 1e6), count=st.integers(1, 9))
def test_equal_returns_and_a_group_of_one_give_exactly_zero(value: float, count: int) -> None:
    assert advantages([value] * count).tolist() == [0.0] * count
    single = group_advantages(torch.tensor([value] * count), torch.zeros(count, dtype=torch.long))  # in float32 too
    assert single.tolist() == [0.0] * count


@given(values=returns)
def test_advantages_of_a_group_sum_to_zero_and_keep_the_order_of_returns(values: list[int]) -> None:
    found = advantages(values).tolist()
    assert sum(found) == pytest.approx(0, abs=1e-6)
    assert all(
        (a < b) == (x < y) for a, x in zip(found, values, strict=True) for b, y in zip(found, values, strict=True)
    )


@given(data=st.data(), values=returns)
def test_the_order_of_episodes_and_the_names_of_groups_do_not_matter(data: st.DataObject, values: list[int]) -> None:
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
    order = data.draw(st.permutations(range(len(values))))
    found = advantages(values, groups)
    shuffled = advantages([values[i] for i in order], [7 - 3 * groups[i] for i in order])
    assert torch.allclose(found[list(order)], shuffled, atol=1e-9, rtol=0)  # sums are rounded in another order


def test_groups_do_not_see_each_other() -> None:
    both = advantages([1, 5, 0, 100, 2, 100], [3, 0, 3, 1, 0, 1])
    assert both[[0, 2]].tolist() == advantages([1, 0]).tolist()
    assert both[[1, 4]].tolist() == advantages([5, 2]).tolist()
    assert both[[3, 5]].tolist() == [0.0, 0.0]


# The gradient of a bandit with two actions, each episode one token
#
# p = softmax(theta), logp_i = log p[x_i], so d logp_i / d theta = onehot(x_i) - p.
# loss = -sum_i A_i r_i with r_i = exp(logp_i - old_i) and d r_i = r_i d logp_i, hence inside the clip
# d loss / d theta = -sum_i A_i r_i (onehot(x_i) - p), and r_i = 1 on-policy.

ACTIONS, ADVANTAGES = torch.tensor([0, 1, 1, 0, 1]), [1.5, -0.5, 0.25, -1.0, 2.0]


def bandit(theta_V: Tensor, old_B: Tensor) -> Tensor:
    logp_B = theta_V.log_softmax(-1)[ACTIONS]
    return grpo_loss(
        logp_B[:, None], old_B[:, None], f64(ADVANTAGES), torch.ones(len(ACTIONS), 1, dtype=torch.bool), clip=CLIP
    )


def closed_form(theta_V: Tensor, old_B: Tensor) -> Tensor:
    p_V = theta_V.softmax(-1)
    ratio_B = (theta_V.log_softmax(-1)[ACTIONS] - old_B).exp()
    score_BV = torch.nn.functional.one_hot(ACTIONS, 2) - p_V
    return -((f64(ADVANTAGES) * ratio_B)[:, None] * score_BV).sum(0)


@given(theta=st.tuples(st.floats(-3, 3), st.floats(-3, 3)))
def test_on_policy_the_gradient_of_a_bandit_is_the_policy_gradient(theta: tuple[float, float]) -> None:
    theta_V = f64(theta)
    old_B = theta_V.log_softmax(-1)[ACTIONS]
    found = gradient(lambda x: bandit(x, old_B), theta_V)
    assert torch.allclose(found, closed_form(theta_V, old_B), atol=1e-12)


def test_within_the_clip_the_gradient_of_a_bandit_is_weighted_by_the_ratio() -> None:
    theta_V = f64([0.3, -0.2])
    old_B = theta_V.log_softmax(-1)[ACTIONS] + f64([0.1, -0.1, 0.05, 0.15, -0.15])
    found = gradient(lambda x: bandit(x, old_B), theta_V)
    assert torch.allclose(found, closed_form(theta_V, old_B), atol=1e-12)


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.5, 2.0])  # of the ratios: on-policy, inside the clip, and far outside
def test_the_gradient_of_a_bandit_is_that_of_finite_differences(spread: float) -> None:
    theta_V = f64([0.4, -0.7])
    old_B = theta_V.log_softmax(-1)[ACTIONS] + spread * f64([1.0, -1.0, 0.9, -1.1, 1.2])
    found = gradient(lambda x: bandit(x, old_B), theta_V)
    assert torch.allclose(found, central_differences(lambda x: bandit(x, old_B), theta_V), atol=1e-8)


def test_the_gradient_of_ragged_sequences_is_that_of_finite_differences() -> None:
    logp_BT, old_BT, advantage_B, trained_BT = ragged()

    def loss(x: Tensor) -> Tensor:
        return grpo_loss(x, old_BT, advantage_B, trained_BT, clip=CLIP)

    assert torch.allclose(gradient(loss, logp_BT), central_differences(loss, logp_BT), atol=1e-8)


# The clip


@pytest.mark.parametrize(
    ("advantage", "ratio", "flows"),
    [
        (1.0, 1.5, False),  # already likelier than the clip lets it gain
        (1.0, 0.5, True),  # good, and has become rarer: all the way back
        (-1.0, 0.5, False),
        (-1.0, 1.5, True),
        (1.0, 1.19, True),
        (1.0, 1.21, False),
        (-1.0, 0.81, True),
        (-1.0, 0.79, False),
    ],
)
def test_the_gradient_is_exactly_zero_where_the_clip_binds(advantage: float, ratio: float, flows: bool) -> None:
    old_BT = f64([[-1.0]])
    mask_BT = torch.tensor([[True]])
    found = gradient(
        lambda x: grpo_loss(x, old_BT, f64([advantage]), mask_BT, clip=CLIP), old_BT + f64([[math.log(ratio)]])
    )
    assert found.item() == pytest.approx(-advantage * ratio) if flows else found.item() == 0.0


def test_the_clip_binds_however_far_the_ratio_is_from_one() -> None:
    mask_BT = torch.tensor([[True]])
    found = gradient(lambda x: grpo_loss(x, f64([[-800.0]]), f64([1.0]), mask_BT, clip=CLIP), f64([[-1.0]]))
    assert found.item() == 0.0


@pytest.mark.parametrize(
    ("advantage", "ratio", "loss"), [(2.0, 1.5, -2.4), (2.0, 0.5, -1.0), (-2.0, 0.5, 1.6), (-2.0, 1.5, 3.0)]
)
def test_the_loss_is_the_worse_of_clipped_and_unclipped(advantage: float, ratio: float, loss: float) -> None:
    found = clipped_surrogate(f64([[math.log(ratio)]]), f64([[0.0]]), f64([advantage]), clip=CLIP)
    assert found.item() == pytest.approx(loss)


# Masks and padding


@pytest.mark.parametrize("value", [0.0, -60.0, 5.0, -INF])
def test_a_token_that_is_not_the_policys_changes_nothing_and_has_a_gradient_of_exactly_zero(value: float) -> None:
    logp_BT, old_BT, advantage_B, trained_BT = ragged()
    other_BT = logp_BT.masked_fill(~trained_BT, value)

    def loss(x: Tensor) -> Tensor:
        return grpo_loss(x, old_BT, advantage_B, trained_BT)

    assert loss(other_BT).item() == loss(logp_BT).item()
    found = gradient(loss, other_BT)
    assert (found[~trained_BT] == 0.0).all()
    assert torch.equal(found, gradient(loss, logp_BT))


@pytest.mark.parametrize(("new", "old"), [(0.0, -800.0), (0.0, -INF), (INF, 0.0)])
def test_a_token_that_is_not_the_policys_has_no_gradient_even_where_its_ratio_overflows(new: float, old: float) -> None:
    logp_BT, old_BT, advantage_B, trained_BT = ragged()
    found = gradient(
        lambda x: grpo_loss(x, old_BT.masked_fill(~trained_BT, old), advantage_B, trained_BT),
        logp_BT.masked_fill(~trained_BT, new),
    )
    assert (found[~trained_BT] == 0.0).all()


def test_a_sequence_without_a_trained_token_counts_nothing() -> None:
    logp_BT, old_BT, advantage_B, trained_BT = ragged()
    trained_BT[2] = False
    rest = [0, 1, 3, 4]
    whole = grpo_loss(logp_BT, old_BT, advantage_B, trained_BT)
    part = grpo_loss(logp_BT[rest], old_BT[rest], advantage_B[rest], trained_BT[rest])
    assert whole.item() == pytest.approx(part.item(), abs=1e-12)
    assert (gradient(lambda x: grpo_loss(x, old_BT, advantage_B, trained_BT), logp_BT)[2] == 0.0).all()


def test_rows_and_columns_of_padding_change_nothing() -> None:
    logp_BT, old_BT, advantage_B, trained_BT = ragged()

    def padded(of_BT: Tensor) -> Tensor:
        return torch.nn.functional.pad(of_BT, (0, 3, 0, 2))

    wide_B = torch.cat([advantage_B, f64([9.0, -9.0])])
    found = gradient(lambda x: grpo_loss(x, padded(old_BT), wide_B, padded(trained_BT)), padded(logp_BT))
    assert torch.equal(found[:5, :7], gradient(lambda x: grpo_loss(x, old_BT, advantage_B, trained_BT), logp_BT))
    assert (found[5:] == 0.0).all()
    assert (found[:, 7:] == 0.0).all()


@pytest.mark.parametrize("sizes", [[5], [1, 1, 1, 1, 1], [2, 3], [4, 1]])
def test_micro_batches_add_up_to_the_same_gradient(sizes: list[int]) -> None:
    logp_BT, old_BT, advantage_B, trained_BT = ragged()
    leaf = logp_BT.clone().requires_grad_()
    for rows in torch.arange(5).split(sizes):
        grpo_loss(leaf[rows], old_BT[rows], advantage_B[rows], trained_BT[rows]).backward()
    whole = gradient(lambda x: grpo_loss(x, old_BT, advantage_B, trained_BT), logp_BT)
    assert leaf.grad is not None
    assert torch.equal(leaf.grad, whole)


# What the loss is


def test_a_group_of_equal_rewards_has_a_gradient_of_exactly_zero() -> None:
    logp_BT, old_BT, _, trained_BT = ragged()
    equal_B = advantages([40.0] * 5)
    assert (gradient(lambda x: grpo_loss(x, old_BT, equal_B, trained_BT), logp_BT) == 0.0).all()


def test_no_gradient_flows_into_old_log_probabilities_and_advantages() -> None:
    logp_BT, old_BT, advantage_B, trained_BT = ragged()
    for leaf in (logp_BT, old_BT, advantage_B):
        leaf.requires_grad_()
    grpo_loss(logp_BT, old_BT, advantage_B, trained_BT).backward()
    assert logp_BT.grad is not None
    assert old_BT.grad is None
    assert advantage_B.grad is None


def test_at_ratio_one_the_gradient_is_that_of_reinforce_with_means_over_sequences() -> None:
    logp_BT, _, advantage_B, trained_BT = ragged()

    def reinforce(x: Tensor) -> Tensor:
        return sequence_mean(-advantage_B[:, None] * x, trained_BT)

    found = gradient(lambda x: grpo_loss(x, logp_BT, advantage_B, trained_BT), logp_BT)
    assert torch.allclose(found, gradient(reinforce, logp_BT), atol=1e-15)
    weight_BT = -advantage_B[:, None] * trained_BT / trained_BT.sum(-1, keepdim=True).clamp_min(1)
    assert torch.allclose(found, weight_BT, atol=1e-15)


def test_a_long_sequence_weighs_as_much_as_a_short_one() -> None:
    loss_BT = f64([[1.0, 2.0, 3.0, 6.0], [4.0, 100.0, 100.0, 100.0]])
    trained_BT = torch.tensor([[True] * 4, [True, False, False, False]])
    assert sequence_mean(loss_BT, trained_BT).item() == 3.0 + 4.0
