"""A critic expects nothing at first, learns what came, in any layout and division, and goes on where it stopped."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from complete import complete
from decoders import tiny, varied
from palaestra.errors import CheckpointError, DivergedError
from palaestra.seeding import Stream
from palaestra.trainers.critic import Critic, CriticConfig, value_reading
from palaestra.trainers.data.batch import PARTS, TokenBatch
from palaestra.trainers.data.layouts import LayoutName
from palaestra.trainers.learner import LearnerConfig


def stream() -> Stream:
    return Stream.root("critic")


def config(*, layout: LayoutName = "packed", micro: int = 10_000, **settings: object) -> CriticConfig:
    learner = LearnerConfig(lr=1e-2, layout=layout, micro_tokens=micro)
    return replace(CriticConfig(learner=learner), **settings)  # type: ignore[arg-type]


def critic(settings: CriticConfig | None = None, *, heads: int = 1) -> Critic:
    return Critic(varied(tiny(), deviation=0.1), settings or config(), heads=heads)


def batch() -> TokenBatch:
    return complete(groups=(3, 3))


def targets(of: TokenBatch) -> Tensor:
    """The trajectory's return, wherever it is read."""
    return of.return_R[of.trajectory_T].float()


# Where values are read


def test_a_value_is_read_at_every_trained_token() -> None:
    one = batch()
    read = value_reading(one, "value_T")
    assert torch.equal(read.read_TH[:, 0], one.trained_T)
    value_TH = torch.arange(len(one.ids_T))[:, None].double()
    assert torch.equal(read.to_column(value_TH), value_TH[:, 0])
    assert torch.equal(read.spread(value_TH[:, 0]), value_TH)


def test_a_planners_values_are_read_where_subgoal_act_and_switch_are_decided() -> None:
    one = batch()
    read = value_reading(one, "values_UH")
    assert read.place_UH is not None
    action = PARTS.index("action")
    for turn in range(len(one.reward_U)):
        own = [t for t in range(len(one.ids_T)) if int(one.turn_T[t]) == turn and bool(one.trained_T[t])]
        acts = [t for t in own if int(one.part_T[t]) == action]
        begins = bool(one.column("switch_U")[turn])
        assert read.place_UH[turn].tolist() == [own[0] if begins else -1, (acts or own)[0], own[0]]
    assert int(read.read_TH.sum()) == int((read.place_UH >= 0).sum())


def test_what_is_read_comes_back_and_nothing_is_read_where_nothing_begins() -> None:
    one = batch()
    read = value_reading(one, "values_UH")
    assert read.place_UH is not None
    target_UH = torch.randn(len(one.reward_U), 3, generator=torch.Generator().manual_seed(0))
    back_UH = read.to_column(read.spread(target_UH))
    there_UH = read.place_UH >= 0
    assert torch.equal(back_UH, target_UH.masked_fill(~there_UH, 0.0))


def test_a_turn_without_an_act_is_read_at_its_first_token_and_one_without_tokens_nowhere() -> None:
    one = batch()
    plain = replace(one, part_T=torch.zeros_like(one.part_T))
    read = value_reading(plain, "values_UH")
    assert read.place_UH is not None
    assert torch.equal(read.place_UH[:, 1], read.place_UH[:, 2])
    nothing = value_reading(replace(one, trained_T=torch.zeros_like(one.trained_T)), "values_UH")
    assert nothing.place_UH is not None
    assert (nothing.place_UH == -1).all()
    assert not nothing.to_column(torch.ones(len(one.ids_T), 3)).any()


# What it says and learns


@pytest.mark.parametrize("heads", [1, 3])
def test_it_begins_expecting_nothing(heads: int) -> None:
    assert not critic(heads=heads).values(batch()).any()


def test_the_model_that_it_begins_with_is_left_alone() -> None:
    model = varied(tiny(), deviation=0.1)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    one = Critic(model, config(), heads=1)
    one.learn(batch(), value_reading(batch(), "value_T"), targets(batch()), stream=stream())
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


@pytest.mark.parametrize("column", ["value_T", "values_UH"])
def test_it_learns_what_came(column: str) -> None:
    one, read = batch(), value_reading(batch(), column)
    target = targets(one) if column == "value_T" else one.return_R[one.trajectory_U].float()[:, None].expand(-1, 3)
    pupil = critic(heads=read.heads)
    rows = [pupil.learn(one, read, target, stream=stream()) for _ in range(40)]
    assert rows[-1]["critic/loss"] < 0.3 * rows[0]["critic/loss"]
    assert rows[-1]["critic/explained"] > 0.5


def test_the_first_loss_is_half_the_mean_square_of_what_came() -> None:
    one = batch()
    said = critic().learn(one, value_reading(one, "value_T"), targets(one), stream=stream())
    assert said["critic/loss"] == pytest.approx(float(targets(one)[one.trained_T].square().mean() / 2), rel=1e-5)


def test_a_unit_scales_what_is_learnt_and_not_what_is_said() -> None:
    one = batch()
    small, large = critic(), critic(config(unit=100.0))
    for _ in range(30):
        small.learn(one, value_reading(one, "value_T"), targets(one), stream=stream())
        large.learn(one, value_reading(one, "value_T"), 100 * targets(one), stream=stream())
    torch.testing.assert_close(large.values(one), 100 * small.values(one), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("layout", ["packed", "padded", "shared"])
def test_no_division_or_layout_changes_what_is_learnt(layout: LayoutName) -> None:
    one = batch()
    whole, divided = critic(), critic(config(layout=layout, micro=25))
    for pupil in (whole, divided):
        for _ in range(5):
            pupil.learn(one, value_reading(one, "value_T"), targets(one), stream=stream())
    torch.testing.assert_close(whole.values(one), divided.values(one), rtol=1e-3, atol=1e-4)


def test_checkpointing_keeps_less_for_the_backward_pass_and_changes_nothing_that_is_learnt() -> None:
    one, plain = batch(), config()
    checkpointed = replace(plain, learner=replace(plain.learner, checkpointing=True))
    said: list[Tensor] = []
    kept: list[int] = []
    for settings in (plain, checkpointed):
        pupil, sizes = critic(settings), list[int]()
        with torch.autograd.graph.saved_tensors_hooks(partial(note, sizes), lambda x: x):
            pupil._values(one)
        pupil.learn(one, value_reading(one, "value_T"), targets(one), stream=stream())
        said.append(pupil.values(one))
        kept.append(sum(sizes))
    assert torch.equal(*said)
    assert kept[1] < kept[0] / 2


def note(sizes: list[int], x: Tensor) -> Tensor:
    """Write down what is kept for the backward pass."""
    sizes.append(x.nbytes)
    return x


def test_beyond_the_clip_a_value_gains_nothing_by_moving() -> None:
    free, held = config(updates=1), config(clip=0.05)
    value, before, target = (torch.tensor([[x]], requires_grad=x == 0.5) for x in (0.5, 0.0, 2.0))
    for settings, flows in ((free, True), (held, False)):
        error = critic(settings)._errors(value, before, target)
        (slope,) = torch.autograd.grad(error.sum(), value)
        assert bool(slope.any()) == flows
    near = critic(held)._errors(torch.tensor([[0.5]]), torch.tensor([[0.0]]), torch.tensor([[2.0]]))
    assert near.item() == pytest.approx((2 - 0.05) ** 2 / 2)


# What may not happen


def test_what_came_and_is_no_number_changes_nothing() -> None:
    one, pupil = batch(), critic()
    before = pupil.state()["weights"]
    with pytest.raises(DivergedError, match="the critic's loss is nan"):
        pupil.learn(one, value_reading(one, "value_T"), targets(one) * math.nan, stream=stream())
    assert all(torch.equal(weight, before[name]) for name, weight in pupil.state()["weights"].items())


def test_it_goes_on_where_it_stopped() -> None:
    one, read = batch(), value_reading(batch(), "value_T")
    whole = critic(config(updates=2))
    for _ in range(2):
        whole.learn(one, read, targets(one), stream=stream())
    resumed = critic(config(updates=2))
    resumed.restore(whole.state())
    for pupil in (whole, resumed):
        pupil.learn(one, read, targets(one), stream=stream())
    assert torch.equal(whole.values(one), resumed.values(one))


def test_the_state_of_other_heads_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"head\.weight"):
        critic(heads=3).restore(critic(heads=1).state())


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"unit": 0.0}, "unit=0.0"),
        ({"clip": 0.0}, "with 0 no value could move"),
        ({"learner": LearnerConfig(lr=1e-3, precision="bf16")}, "in single precision"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        CriticConfig(**settings)


# The promise of turns, and its losses


def test_a_promise_is_read_at_the_last_token_of_each_turn() -> None:
    one = batch()
    read = value_reading(one, "promise_U")
    assert read.place_UH is not None
    for turn in range(len(one.reward_U)):
        own = [t for t in range(len(one.ids_T)) if int(one.turn_T[t]) == turn and bool(one.trained_T[t])]
        assert read.place_UH[turn].tolist() == [own[-1]]
    target_U = torch.randn(len(one.reward_U), generator=torch.Generator().manual_seed(0))
    assert torch.equal(read.to_column(read.spread(target_U)), target_U)
    nothing = value_reading(replace(one, trained_T=torch.zeros_like(one.trained_T)), "promise_U")
    assert not nothing.to_column(torch.ones(len(one.ids_T), 1)).any()


def soft_targets(of: TokenBatch) -> Tensor:
    """Of each turn, between 0 and 1."""
    return torch.linspace(0.0, 1.0, len(of.reward_U))


def test_the_cross_entropy_is_that_of_soft_labels_and_begins_at_half_a_unit() -> None:
    """At q = 1/2 it is log 2 whatever the labels are."""
    one = batch()
    pupil = critic(config(loss="cross-entropy", unit=100.0))
    assert (pupil.values(one)[one.trained_T] == 50.0).all()
    read = value_reading(one, "promise_U")
    said = pupil.learn(one, read, 100 * soft_targets(one), stream=stream())
    assert said["critic/loss"] == pytest.approx(math.log(2), rel=1e-6)


def test_the_progress_loss_is_over_pairs_of_turns_of_one_trajectory() -> None:
    """Before its first step the critic says 0 everywhere, so that errors are the targets themselves."""
    one = batch()
    read, target_U = value_reading(one, "promise_U"), soft_targets(one)
    plain = critic().learn(one, read, target_U, stream=stream())["critic/loss"]
    both = critic(config(progress=3.0)).learn(one, read, target_U, stream=stream())["critic/loss"]
    steps = [
        float(target_U[u] - target_U[u - 1])
        for u in range(1, len(target_U))
        if int(one.trajectory_U[u]) == int(one.trajectory_U[u - 1])
    ]
    assert both - plain == pytest.approx(3.0 * sum(step**2 for step in steps) / len(steps) / 2, rel=1e-4)


@pytest.mark.parametrize("settings", [{"loss": "cross-entropy"}, {"progress": 1.0}])
def test_a_promise_is_learnt_in_any_division(settings: dict[str, Any]) -> None:
    one = batch()
    read, target_U = value_reading(one, "promise_U"), soft_targets(one)
    whole, divided = critic(config(**settings)), critic(config(micro=20, **settings))
    rows = [(whole.learn(one, read, target_U, stream=stream()), divided.learn(one, read, target_U, stream=stream()))]
    rows += [(whole.learn(one, read, target_U, stream=stream()), {}) for _ in range(40)]
    assert rows[0][1]["critic/loss"] == pytest.approx(rows[0][0]["critic/loss"], rel=1e-4)
    assert rows[-1][0]["critic/explained"] > 0.5


@pytest.mark.parametrize(
    ("settings", "match"), [({"loss": "cross-entropy", "clip": 0.2}, "clip=0.2"), ({"progress": -1.0}, "progress=-1")]
)
def test_losses_that_make_no_sense_are_refused(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        config(**settings)
