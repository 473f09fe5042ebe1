"""The table of values against plain arithmetic."""

import pytest
import torch

from palaestra.benchmarks.objectives.batches import batch_of
from palaestra.benchmarks.objectives.critic import ValueTable
from palaestra.benchmarks.objectives.planning import Planning
from palaestra.benchmarks.objectives.table import ActionSampler, PolicyTable
from palaestra.seeding import Stream
from palaestra.trainers.critic import value_reading


@pytest.mark.parametrize(("column", "heads"), [("value_T", 1), ("values_UH", 3)])
def test_a_value_moves_towards_the_mean_of_what_its_state_should_have_been(column: str, heads: int) -> None:
    toy = Planning()
    table = PolicyTable(toy.sizes, lr=0.1)
    stream = Stream.root("critic")
    dice = ActionSampler(table, stream)
    batch = batch_of([toy.play(0, dice, stream) for _ in range(8)], [0] * 8, table)
    critic = ValueTable(toy.sizes, heads=heads, rate=0.25)
    read = value_reading(batch, column)
    for _ in range(2):
        before = critic.value_XH.clone()
        shape = read.to_column(critic.values(batch)).shape
        target = torch.randn(shape, dtype=torch.float64, generator=torch.manual_seed(0))
        critic.learn(batch, read, target)
        wanted = read.spread(target)
        for state in range(len(toy.sizes)):
            for head in range(heads):
                at = [t for t in range(len(batch.ids_T)) if read.read_TH[t, head] and batch.ids_T[t] // 2 == state]
                off = sum(float(wanted[t, head] - before[state, head]) for t in at) / max(1, len(at))
                expected = float(before[state, head]) + 0.25 * off
                assert float(critic.value_XH[state, head]) == pytest.approx(expected, abs=1e-12)
    values_TH = critic.values(batch)
    assert not values_TH[~batch.trained_T].any()
