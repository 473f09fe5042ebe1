"""Axes: T tokens of a batch, N tokens of a pass."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from decoders import causal, tiny, varied
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten, flatten_tokens
from palaestra.trainers.data.layout import Layout
from palaestra.trainers.data.layouts import LAYOUTS, LayoutName, packed_layout, padded_layout, shared_layout
from palaestra.trainers.data.micro import split
from palaestra.trainers.model.decoder import Decoder
from palaestra.trajectory import Episode
from trajectories import batches, forests, sequence

DECODER = varied(tiny(vocabulary=48, hidden=16, head_dim=8, mlp=24))
NAMES: tuple[LayoutName, ...] = ("packed", "padded", "shared")
anything = batches | forests


def logp(decoder: Decoder, hidden_NC: Tensor, before_T: Tensor, batch: TokenBatch) -> Tensor:
    """Of each trained token, in their order."""
    logits = decoder.logits(hidden_NC[before_T[batch.trained_T]])
    return logits.log_softmax(-1).gather(-1, batch.ids_T[batch.trained_T][:, None])[:, 0]


def in_layout(batch: TokenBatch, layout: Layout) -> Tensor:
    return logp(DECODER, DECODER(layout.ids_N, layout.position_N, layout.attend), layout.before_T, batch)


def plainly(batch: TokenBatch) -> Tensor:
    """Each segment by itself, whole, with its attention written out."""
    hidden: list[Tensor] = []
    for segment in range(batch.segments):
        ids = batch.ids_T[batch.segment_T == segment]
        hidden.append(DECODER(ids, torch.arange(len(ids)), causal))
    return logp(DECODER, torch.cat(hidden), torch.arange(len(batch.ids_T)) - 1, batch)


def weight(batch: TokenBatch) -> Tensor:
    """A weight for each trained token that depends on the token alone, wherever it stands."""
    return torch.cos(batch.ids_T + 2.0 * batch.position_T)[batch.trained_T]


def loss_and_gradients(batches: list[TokenBatch], logps: Callable[[TokenBatch], Tensor]) -> tuple[float, list[Tensor]]:
    """The sum of weighted log-probabilities, a part of it for each batch, and what it says to the weights."""
    DECODER.zero_grad()
    total = 0.0
    for batch in batches:
        loss = (weight(batch) * logps(batch)).sum()
        loss.backward()
        total += loss.item()
    return total, [torch.zeros(()) if w.grad is None else w.grad.clone() for w in DECODER.parameters()]


def check_alike(one: tuple[float, list[Tensor]], other: tuple[float, list[Tensor]]) -> None:
    assert one[0] == pytest.approx(other[0], rel=1e-4, abs=1e-4)
    for gradient, same in zip(one[1], other[1], strict=True):
        torch.testing.assert_close(gradient, same, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, deadline=None)
@given(given=anything)
def test_a_layout_gives_what_each_sequence_gives_by_itself(name: LayoutName, given: list[Episode]) -> None:
    batch = flatten(given)
    torch.testing.assert_close(in_layout(batch, LAYOUTS[name](batch)), plainly(batch), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8, deadline=None)
@given(given=anything, tokens=st.integers(1, 40), data=st.data())
def test_losses_and_gradients_depend_on_neither_layout_nor_micro_batches_nor_order(
    name: LayoutName, given: list[Episode], tokens: int, data: st.DataObject
) -> None:
    batch = flatten(given)
    plain = loss_and_gradients([batch], plainly)
    order = data.draw(st.permutations(range(len(given))))
    for parts in ([batch], [batch.select(order)], split(batch, tokens, name)):
        check_alike(loss_and_gradients(parts, lambda part: in_layout(part, LAYOUTS[name](part))), plain)


# What is put through


def needed(batch: TokenBatch) -> set[tuple[int, int]]:
    """(segment, position) of each token that some trained token of its segment stands behind."""
    trained = list(zip(batch.segment_T.tolist(), batch.position_T.tolist(), batch.trained_T.tolist(), strict=True))
    ends = {s: max((p for t, p, own in trained if own and t == s), default=0) for s, _, _ in trained}
    return {(s, p) for s, p, _ in trained if p < ends[s]}


def paths(batch: TokenBatch) -> set[tuple[int, ...]]:
    """The different ways from a segment's beginning to one of its needed tokens."""
    rows = [batch.ids_T[batch.segment_T == segment].tolist() for segment in range(batch.segments)]
    return {tuple(rows[segment][: position + 1]) for segment, position in needed(batch)}


@settings(max_examples=20, deadline=None)
@given(given=anything)
def test_what_follows_the_last_trained_token_is_left_out(given: list[Episode]) -> None:
    batch = flatten(given)
    need = needed(batch)
    lengths = [sum(s == segment for s, _ in need) for segment in range(batch.segments)]
    rows = [length for length in lengths if length]
    assert packed_layout(batch).tokens == max(len(need), 1)
    assert padded_layout(batch).tokens == max(len(rows) * max(rows, default=0), 1)
    assert shared_layout(batch).tokens == max(len(paths(batch)), 1)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, deadline=None)
@given(given=anything)
def test_each_needed_token_finds_the_one_before_it(name: LayoutName, given: list[Episode]) -> None:
    batch = flatten(given)
    layout = LAYOUTS[name](batch)
    assert ((layout.before_T >= 0) & (layout.before_T < layout.tokens)).all()
    need = needed(batch)
    for token, (segment, position) in enumerate(zip(batch.segment_T.tolist(), batch.position_T.tolist(), strict=True)):
        if position and (segment, position - 1) in need:
            before = layout.before_T[token]
            assert layout.ids_N[before] == batch.ids_T[token - 1]
            assert layout.position_N[before] == position - 1


def test_a_prefix_is_put_through_once_and_what_only_looks_alike_is_not_shared() -> None:
    batch = flatten_tokens(
        [
            sequence(1, 2, 3, 4, 5, own=2),
            sequence(1, 2, 3, 9, 5, own=2),
            sequence(2, 3, 4, 5, own=2),  # the same tokens at other positions
            sequence(1, 2, 3, 4, 5, own=2),
            sequence(1, 2, 3, own=1),
        ]
    )
    layout = shared_layout(batch)
    assert layout.ids_N.tolist() == [1, 2, 3, 4, 9, 2, 3, 4]
    assert layout.position_N.tolist() == [0, 1, 2, 3, 3, 0, 1, 2]
    assert layout.tokens == 8
    assert packed_layout(batch).tokens == 4 + 4 + 3 + 4 + 2


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_without_trained_tokens_can_be_put_through(name: LayoutName) -> None:
    batch = flatten_tokens([sequence(7, 8, 9, own=0), sequence(7, own=1)])
    layout = LAYOUTS[name](batch)
    assert layout.ids_N.tolist() == [7]
    assert layout.before_T.tolist() == [0, 0, 0, 0]
    assert DECODER(layout.ids_N, layout.position_N, layout.attend).shape == (1, 16)
