"""The table against second implementations: torch's own optimiser and gradients, and plain arithmetic."""

import math
from collections import Counter
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from palaestra.benchmarks.objectives.batches import batch_of
from palaestra.benchmarks.objectives.copying import Copying
from palaestra.benchmarks.objectives.planning import Planning
from palaestra.benchmarks.objectives.table import ActionSampler, Greedy, OptimiserName, PolicyTable
from palaestra.benchmarks.objectives.toy import Toy
from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import Metrics, PreparedStep

TOYS: list[Toy] = [Copying(tasks=2), Planning()]


def _table(toy: Toy, *, optimiser: OptimiserName = "adam") -> PolicyTable:
    """A table that prefers some actions."""
    table = PolicyTable(toy.sizes, lr=0.1, optimiser=optimiser)
    table.logits_XA = torch.randn(table.logits_XA.shape, dtype=torch.float64, generator=torch.manual_seed(3))
    return table


def _batch(toy: Toy, table: PolicyTable, *, episodes: int = 6) -> TokenBatch:
    stream = Stream.root("test")
    dice = ActionSampler(table, stream)
    return batch_of([toy.play(0, dice, stream) for _ in range(episodes)], [0] * episodes, table)


def _linear(logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch) -> tuple[Tensor, Metrics]:
    """A loss whose slope differs from token to token, in both arguments."""
    slope_T = torch.linspace(-1, 1, len(logp_T), dtype=torch.float64)
    return (slope_T * (logp_T + 0.3 * entropy_T) * batch.trained_T).sum(), {"told": 1.0}


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.name)
@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_steps_are_those_of_torchs_own_optimiser(toy: Toy, optimiser: OptimiserName) -> None:
    table = _table(toy, optimiser=optimiser)
    batch = _batch(toy, table)
    logits = torch.nn.Parameter(table.logits_XA.clone())
    own = (torch.optim.SGD if optimiser == "sgd" else torch.optim.Adam)([logits], lr=0.1)
    out = [[column >= size for column in range(table.width)] for size in toy.sizes]
    for _ in range(3):
        metrics = table.step(PreparedStep(batch=batch, loss=_linear))
        own.zero_grad()
        logp = logits.masked_fill(torch.tensor(out), -math.inf).log_softmax(-1)
        entropy = -(logp.exp() * logp.masked_fill(torch.tensor(out), 0.0)).sum(-1)
        state, action = batch.ids_T // table.width, batch.ids_T % table.width
        loss, _ = _linear(
            torch.where(batch.trained_T, logp[state, action], 0.0),
            torch.where(batch.trained_T, entropy[state], 0.0),
            batch,
        )
        loss.backward()
        own.step()
        assert metrics == pytest.approx({"loss": loss.item(), "told": 1.0}, abs=1e-12)
        assert torch.allclose(table.logits_XA, logits.detach(), atol=1e-6)


def test_a_steps_rate_multiplies_the_learning_rate() -> None:
    toy = Copying(tasks=2)
    whole, half = _table(toy, optimiser="sgd"), _table(toy, optimiser="sgd")
    begun = whole.logits_XA
    batch = _batch(toy, whole)
    whole.step(PreparedStep(batch=batch, loss=_linear))
    half.step(PreparedStep(batch=batch, loss=_linear, rate=0.5))
    assert torch.allclose(2 * (half.logits_XA - begun), whole.logits_XA - begun, atol=1e-12)


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.name)
def test_columns_are_what_the_distribution_says(toy: Toy) -> None:
    table = _table(toy)
    batch = _batch(toy, table)
    found = table.columns(batch, ["logp", "entropy", "square", "proxy"])
    assert torch.equal(found["logp"][~batch.trained_T], torch.zeros(int((~batch.trained_T).sum())).double())
    for place in batch.trained_T.nonzero()[:, 0].tolist():
        state, action = divmod(int(batch.ids_T[place]), table.width)
        odds = [math.exp(x) for x in table.logits_XA[state].tolist()[: toy.sizes[state]]]
        p = [one / sum(odds) for one in odds]
        assert found["logp"][place].item() == pytest.approx(math.log(p[action]), abs=1e-12)
        assert found["logp"][place].item() == pytest.approx(batch.logprob_T[place].item(), abs=1e-12)
        assert found["entropy"][place].item() == pytest.approx(-sum(x * math.log(x) for x in p), abs=1e-12)
        assert found["square"][place].item() == pytest.approx(sum(x * x for x in p), abs=1e-12)
        left = [x for x in p if x >= 0.02 * max(p)]
        if p[action] in left:
            assert found["proxy"][place].item() == pytest.approx(math.log(p[action] / sum(left)), abs=1e-12)


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.name)
def test_gradient_norms_are_those_of_backward_passes(toy: Toy) -> None:
    table = _table(toy)
    batch = _batch(toy, table)
    for trajectory, norm in enumerate(table.gradient_norms(batch).tolist()):
        logits = table.logits_XA.clone().requires_grad_()
        out = torch.tensor([[column >= size for column in range(table.width)] for size in toy.sizes])
        logp = logits.masked_fill(out, -math.inf).log_softmax(-1)
        own = batch.trained_T & (batch.trajectory_T == trajectory)
        (slope,) = torch.autograd.grad(logp.view(-1)[batch.ids_T[own]].sum(), logits)
        assert norm == pytest.approx(slope.square().sum().item(), abs=1e-12)


def test_dice_fall_as_often_as_the_table_says_and_never_on_what_is_not_there() -> None:
    table = PolicyTable((2, 4), lr=0.1)
    table.logits_XA = torch.tensor([[0.0, 1.0, 50.0, 50.0], [0.0, 0.5, 1.0, -1.0]], dtype=torch.float64)
    dice = ActionSampler(table, Stream.root("dice"))
    for state, size in ((0, 2), (1, 4)):
        counts = Counter(dice(state) for _ in range(20_000))
        odds = [math.exp(x) for x in table.logits_XA[state].tolist()[:size]]
        assert set(counts) == set(range(size))
        for action in range(size):
            assert counts[action] / 20_000 == pytest.approx(odds[action] / sum(odds), abs=0.015)


def test_greedy_takes_the_likeliest() -> None:
    table = _table(Copying(tasks=2))
    assert [Greedy(table)(state) for state in range(6)] == table.logits_XA.argmax(-1).tolist()


def test_a_copy_begins_where_the_table_is_and_goes_its_own_way() -> None:
    toy = Copying(tasks=2)
    table = _table(toy)
    batch = _batch(toy, table)
    copy = table.copy()
    table.step(PreparedStep(batch=batch, loss=_linear))
    assert not torch.equal(table.logits_XA, copy.logits_XA)
    fresh = _table(toy)
    copy.step(PreparedStep(batch=batch, loss=_linear))
    fresh.step(PreparedStep(batch=replace(batch), loss=_linear))
    assert torch.equal(copy.logits_XA, fresh.logits_XA)
