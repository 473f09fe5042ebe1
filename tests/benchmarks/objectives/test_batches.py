"""Batches of toys hold what was played, and every column that anybody but a pass through a model fills in."""

import pytest
import torch

from palaestra.benchmarks.objectives.batches import batch_of
from palaestra.benchmarks.objectives.given import fill_given_columns, needs_demonstration
from palaestra.benchmarks.objectives.junction import Junction
from palaestra.benchmarks.objectives.planning import Planning
from palaestra.benchmarks.objectives.table import ActionSampler, PolicyTable
from palaestra.benchmarks.objectives.toy import Toy, ToyEpisode
from palaestra.seeding import Stream
from palaestra.trainers.data.batch import NO_TURN, PARTS, TokenBatch
from palaestra.trainers.objectives import COLUMNS

# Of the package alone: other tests declare further columns when they run.
GIVEN = {name for name, column in COLUMNS.items() if column.source in ("rollout", "given")}


def _played(toy: Toy, *, episodes: int = 5) -> tuple[list[ToyEpisode], TokenBatch, PolicyTable]:
    table = PolicyTable(toy.sizes, lr=0.1)
    stream = Stream.root("batches")
    dice = ActionSampler(table, stream)
    played = [toy.play(0, dice, stream) for _ in range(episodes)]
    return played, batch_of(played, [n // 2 for n in range(episodes)], table, version=7), table


@pytest.mark.parametrize("toy", [Junction(), Planning()], ids=lambda toy: toy.name)
def test_a_batch_says_token_for_token_what_was_played(toy: Toy) -> None:
    played, batch, table = _played(toy)
    place, number = 0, 0
    for trajectory, episode in enumerate(played):
        assert (bool(batch.trained_T[place]), int(batch.turn_T[place])) == (False, NO_TURN)
        place += 1
        for turn in episode.turns:
            assert int(batch.trajectory_U[number]) == trajectory
            assert float(batch.reward_U[number]) == turn.reward
            assert int(batch.column("anchor_U")[number]) == turn.anchor
            assert bool(batch.column("switch_U")[number]) == turn.switch
            assert int(batch.column("goal_U")[number]) == turn.goal
            for token, (state, action) in enumerate(zip(turn.states, turn.actions, strict=True)):
                assert divmod(int(batch.ids_T[place]), table.width) == (state, action)
                assert float(batch.logprob_T[place]) == float(table.logprobs()[state, action])
                assert int(batch.turn_T[place]) == number
                assert int(batch.trajectory_T[place]) == trajectory
                assert int(batch.version_T[place]) == 7
                assert PARTS[int(batch.part_T[place])] == (turn.parts[token] if turn.parts else "")
                place += 1
            number += 1
    assert (place, number) == (len(batch.ids_T), len(batch.reward_U))
    assert batch.return_R.tolist() == [episode.total_reward for episode in played]
    assert batch.group_R.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("toy", [Junction(), Planning()], ids=lambda toy: toy.name)
def test_every_column_of_rollouts_and_all_that_is_given_is_there(toy: Toy) -> None:
    played, batch, _ = _played(toy)
    batch = fill_given_columns(batch, COLUMNS.keys(), played, toy, greedy={0: 0.5}, shown=[False] * 4 + [True])
    assert set(batch.columns) == GIVEN
    sizes = {"T": len(batch.ids_T), "U": len(batch.reward_U), "R": batch.trajectories}
    for name, column in batch.columns.items():
        axes = name.rpartition("_")[2]
        assert len(column) == sizes[axes[0]], name
        assert column.dim() == len(axes), name
        assert torch.isfinite(column.double()).all(), name


def test_nothing_is_given_that_nobody_reads() -> None:
    played, batch, _ = _played(Junction())
    assert fill_given_columns(batch, {"old_T", "anchor_U"}, played, Junction(), greedy={}, shown=[False] * 5).equals(
        batch
    )


def test_demonstrations_are_for_recipes_that_read_them() -> None:
    assert needs_demonstration({"chosen_R", "ref_T"})
    assert needs_demonstration({"expert_T"})
    assert not needs_demonstration({"ref_T"})
