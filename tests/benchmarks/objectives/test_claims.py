"""What single objectives are for, on the toy that is made for it. Curves are means over fixed seeds."""

import math
from collections.abc import Sequence
from statistics import fmean

import torch

from palaestra.benchmarks.objectives.bandit import Bandit
from palaestra.benchmarks.objectives.batches import batch_of
from palaestra.benchmarks.objectives.critic import ValueTable
from palaestra.benchmarks.objectives.dependency import Dependency
from palaestra.benchmarks.objectives.junction import JUNCTION, RIGHT, WRONG, Junction
from palaestra.benchmarks.objectives.planning import DOOR, KEY, Planning, plan_state
from palaestra.benchmarks.objectives.table import ActionSampler, PolicyTable
from palaestra.benchmarks.objectives.toy import Toy
from palaestra.benchmarks.objectives.training import ToyResult, ToyTraining, train_toy
from palaestra.seeding import Stream
from palaestra.trainers.critic import value_reading
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import ObjectiveConfig

SEEDS = (0, 1, 2)


def _drawn(toy: Toy, *, episodes: int, group_size: int) -> TokenBatch:
    """Episodes of the even policy."""
    table = PolicyTable(toy.sizes, lr=0.1)
    stream = Stream.root("claims", toy.name)
    dice = ActionSampler(table, stream)
    played = [toy.play(0, dice, stream) for _ in range(episodes)]
    return batch_of(played, [number // group_size for number in range(episodes)], table)


def _runs(
    toy: Toy, preset: str, training: ToyTraining, *, steps: int, parts: dict[str, object] | None = None
) -> list[ToyResult]:
    config = ObjectiveConfig(preset=preset, parts=parts or {})
    return [train_toy(toy, config.build(), steps=steps, seed=seed, training=training) for seed in SEEDS]


def _area(runs: Sequence[ToyResult]) -> float:
    return fmean(run.area for run in runs)


def test_gigpo_likes_the_wrong_turn_less_though_it_leads_out_and_grpo_cannot_tell() -> None:
    toy = Junction()
    table = PolicyTable(toy.sizes, lr=0.1)
    luck = Stream.root("luck")
    short = toy.play(0, toy.best, luck)
    long = toy.play(0, lambda room: WRONG if room == JUNCTION else 0, luck)
    assert short.passed
    assert long.passed
    batch = batch_of([short, short, long, long], [0] * 4, table)
    at_T = batch.ids_T // table.width
    first_T = batch.trained_T & (at_T == JUNCTION)
    right_T, wrong_T = first_T & (batch.ids_T % table.width == RIGHT), first_T & (batch.ids_T % table.width == WRONG)
    gigpo = ObjectiveConfig(preset="gigpo").build().objective.advantages(batch).advantage_T
    assert gigpo[right_T].min() > 0 > gigpo[wrong_T].max()
    undiscounted = ObjectiveConfig(preset="gigpo", parts={"advantage": {"gamma": 1.0}}).build()
    assert not undiscounted.objective.advantages(batch).advantage_T.any()
    assert not ObjectiveConfig(preset="grpo").build().objective.advantages(batch).advantage_T.any()


def test_gigpo_finds_the_shortest_way_sooner_than_grpo() -> None:
    training = ToyTraining(lr=0.1)
    gigpo, grpo = (_runs(Junction(), preset, training, steps=40) for preset in ("gigpo", "grpo"))
    assert _area(gigpo) > _area(grpo) + 0.01
    assert min(run.final for run in gigpo) > 0.85


def _credited(batch: TokenBatch) -> torch.Tensor:
    """HiPER's advantages, with a critic that knows what the even policy comes to."""
    toy = Planning()
    built = ObjectiveConfig(preset="hiper", parts={"advantage": {"keep": 0.0}}).build()
    assert built.critic is not None
    critic = ValueTable(toy.sizes, heads=3)
    read = value_reading(batch, built.critic.column)
    for _ in range(60):
        batch = batch.with_columns({read.column: read.to_column(critic.values(batch))})
        critic.learn(batch, read, built.critic.targets(batch))
    return built.objective.advantages(batch).advantage_T


def test_hiper_gives_the_wrong_subgoal_less_than_the_right_one() -> None:
    batch = _drawn(Planning(), episodes=512, group_size=8)
    advantage_T = _credited(batch)
    for world, right in ((0, KEY), (2, DOOR)):
        named_T = batch.trained_T & (batch.ids_T // 2 == plan_state(world))
        right_T = batch.ids_T % 2 == right - 1
        assert advantage_T[named_T & right_T].mean() > advantage_T[named_T & ~right_T].mean() + 0.005


def test_hiper_credits_good_acts_of_episodes_that_failed_where_grpo_credits_them_alike() -> None:
    toy = Planning()
    batch = _drawn(toy, episodes=512, group_size=8)
    lost_T = batch.trained_T & (batch.column("passed_R") == 0)[batch.trajectory_T]
    right_T = torch.tensor([int(one) % 2 == toy.best(int(one) // 2) for one in batch.ids_T])
    hiper_T = _credited(batch)
    assert hiper_T[lost_T & right_T].mean() > hiper_T[lost_T & ~right_T].mean() + 0.02
    grpo_T = ObjectiveConfig(preset="grpo").build().objective.advantages(batch).advantage_T
    assert grpo_T[lost_T].max() <= 0


def test_hiper_learns_to_plan_and_sooner_than_grpo_where_success_is_rare() -> None:
    training = ToyTraining(lr=0.05)
    hiper, grpo = (_runs(Planning(limit=5), preset, training, steps=80) for preset in ("hiper", "grpo"))
    assert min(run.final for run in hiper) > 0.9
    assert _area(hiper) > _area(grpo) + 0.03


def test_seeupos_reverse_order_beats_no_carrying_which_beats_forward_order() -> None:
    training = ToyTraining(lr=0.1)
    schedules: list[dict[str, object]] = [{"order": "reverse"}, {"carry": False}, {"order": "forward"}]
    reverse, without, forward = (
        _area(_runs(Dependency(), "seeupo", training, steps=40, parts={"schedule": schedule})) for schedule in schedules
    )
    assert reverse > without + 0.01 > forward + 0.02


def _kept(toy: Bandit, runs: Sequence[ToyResult]) -> float:
    """How evenly the best arms are drawn, in shares of the entropy of an even draw."""
    found: list[float] = []
    for run in runs:
        p_XA = run.table.logprobs().exp()
        for task in range(toy.tasks):
            best = [(toy.best(task) + mode) % toy.arms for mode in range(toy.modes)]
            p_M = p_XA[task, best] / p_XA[task, best].sum()
            found.append(float(-(p_M * p_M.log()).sum()) / math.log(toy.modes))
    return fmean(found)


TIED = Bandit(modes=2, good=80, other=10)


def test_flowrl_keeps_both_of_two_tied_arms_where_grpo_collapses_to_one() -> None:
    training = ToyTraining(lr=0.2, measure_every=160)
    grpo = _runs(TIED, "grpo", training, steps=160)
    flowrl = _runs(TIED, "flowrl", training, steps=160, parts={"whole": {"beta": 3.0}})
    assert min(run.final for run in (*grpo, *flowrl)) > 0.9
    assert _kept(TIED, grpo) < 0.4
    assert _kept(TIED, flowrl) > 0.85


def test_lad_keeps_both_where_it_has_time_to_come_near_its_target_and_drifts_where_it_has_not() -> None:
    parts: dict[str, object] = {"trust": {"eta": 4.0}}
    stale, fresh = (ToyTraining(lr=0.2, measure_every=160, staleness=staleness) for staleness in (8, 1))
    lad = _runs(TIED, "lad", stale, steps=160, parts=parts)
    assert min(run.final for run in lad) > 0.9
    assert _kept(TIED, lad) > 0.8
    assert _kept(TIED, _runs(TIED, "grpo", stale, steps=160)) < 0.6
    assert _kept(TIED, _runs(TIED, "lad", fresh, steps=160, parts=parts)) < 0.4
