"""Where a long chain is needed, branching learns from fewer tokens: by imitation, and by policy gradient.

Axes: T tokens, U turns, R trajectories, CPW chains, places and words.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import Tensor

from chains import TASKS, draw_turn, place_of, tokens_until_done, turns
from palaestra.trainers.branching import BranchingConfig, GrpoBranchingConfig, is_solved, with_branches
from palaestra.trainers.data.batch import TokenBatch, concatenate
from palaestra.trainers.data.branches import add_branches
from palaestra.trainers.engines.engine import TurnRequest
from palaestra.trainers.loops.examples import ExampleStore
from palaestra.trainers.loops.imitation_config import KeepConfig
from palaestra.trainers.objectives.composed import ComposedObjective
from palaestra.trainers.rollouts.fork import PivotRule
from palaestra.trainers.rollouts.groups import RolloutGroup
from worlds.chain import LINKS, WORDS, right_word

# imitation

MOST = 6_000


class CountingPolicy:
    """Writes the word that was kept most often at its chain and place, and now and then another."""

    def __init__(self) -> None:
        self._store = ExampleStore(KeepConfig())
        self._counts: defaultdict[tuple[int, int], Counter[tuple[int, ...]]] = defaultdict(Counter)
        self._solved = set[str]()

    def __call__(self, request: TurnRequest) -> Sequence[int]:
        """See `Writer`."""
        counts = self._counts[place_of(request.context)]
        return draw_turn(request, [1 + 5 * counts[turn] for turn in turns()])

    def learn(self, groups: Sequence[RolloutGroup], branches: Sequence[RolloutGroup]) -> None:
        """Keep what solved, and count anew."""
        whole = with_branches(groups, branches)
        self._store.add(whole)
        self._solved |= {group.task for group in whole if is_solved(group)}
        self._counts.clear()
        for tokens in (one.tokens for own in self._store.families.values() for one in own):
            for span in tokens.spans:
                if span.kind == "turn" and tokens.sampled[span.start]:
                    self._counts[place_of(tokens.ids[: span.start])][tokens.ids[span.start : span.end]] += 1

    def is_done(self) -> bool:
        """Whether it has a solution of every chain."""
        return len(self._solved) == len(TASKS)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("pivot", ["best", "recoverable"])
def test_a_long_chain_is_solved_from_fewer_tokens(seed: int, pivot: PivotRule) -> None:
    """Seeds 0 to 2: 994, 602 and 1626 tokens with `best`, 16,666, 19,078 and 16,528 without branching."""
    branched = tokens_until_done(CountingPolicy(), BranchingConfig(pivots=(pivot,)), seed, most=MOST)
    assert branched < MOST / 3 if pivot == "best" else branched < MOST
    assert plain_imitation(seed) >= MOST, "it has no solution yet"


@cache
def plain_imitation(seed: int) -> int:
    return tokens_until_done(CountingPolicy(), None, seed, most=MOST)


# policy gradient

GOAL, MOST_OF_GRADIENT = 0.5, 16_000


class SoftmaxPolicy:
    """A logit for each word at each place of each chain, moved by GRPO.

    Args:
        weight: Of continuations.
        lr: Of plain gradient descent.
    """

    def __init__(self, *, weight: float = 1.0, lr: float = 32.0) -> None:
        self._logits_CPW = torch.zeros(len(TASKS), LINKS, len(WORDS), requires_grad=True)
        self._optimiser = torch.optim.SGD([self._logits_CPW], lr=lr)
        self._objective = ComposedObjective()
        self._weight = weight

    def __call__(self, request: TurnRequest) -> Sequence[int]:
        """See `Writer`."""
        chain, place = place_of(request.context)
        return draw_turn(request, torch.softmax(self._logits_CPW[chain, place].detach(), 0).tolist())

    def learn(self, groups: Sequence[RolloutGroup], branches: Sequence[RolloutGroup]) -> None:
        """A step of gradient descent."""
        batch = _batch_of(groups)
        if branches:
            batch = add_branches(batch, _batch_of(branches), weight=self._weight)
        batch = replace(batch, logprob_T=self._logprobs(batch).detach())
        prepared = self._objective.prepare(self._objective.advantages(batch))
        if not prepared.batch.trajectories:
            return
        logp_T = self._logprobs(prepared.batch)
        self._optimiser.zero_grad()
        prepared.loss(logp_T, torch.zeros_like(logp_T), prepared.batch)[0].backward()
        self._optimiser.step()

    def _logprobs(self, batch: TokenBatch) -> Tensor:
        """Of each drawn token: that of a word is at its first, for the others follow from it."""
        logp_U = torch.log_softmax(self._logits_CPW, -1)[tuple(batch.column("drawn_U3").T)]
        first_T = batch.turn_T != batch.turn_T.roll(1)
        return torch.where(batch.trained_T & first_T, logp_U[batch.turn_T], 0.0)

    def is_done(self) -> bool:
        """Whether it solves each chain at every second try."""
        return min(map(self.solve_rate, range(len(TASKS)))) >= GOAL

    def solve_rate(self, chain: int) -> float:
        """How often it writes the whole chain."""
        right = torch.tensor([WORDS.index(right_word(chain, place)) for place in range(LINKS)])
        return float(torch.softmax(self._logits_CPW.detach()[chain], -1)[torch.arange(LINKS), right].prod())


def _batch_of(groups: Sequence[RolloutGroup]) -> TokenBatch:
    """The groups' trajectories, and `drawn_U3`: the chain, the place and the word of each turn."""
    drawn: list[tuple[int, int, int]] = []
    for episode in (episode for group in groups for episode in group.episodes):
        tokens = episode.segments[0].tokens
        assert tokens is not None
        for span in tokens.spans:
            word = turns().index(tokens.ids[span.start : span.end])
            drawn.append((*place_of(tokens.ids[: span.start]), word))
    return concatenate([group.batch() for group in groups]).with_columns({"drawn_U3": torch.tensor(drawn)})


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("pivot", ["best", "recoverable"])
def test_policy_gradient_learns_a_long_chain_from_fewer_tokens(seed: int, pivot: PivotRule) -> None:
    """Every right word is paid, so policy gradient learns without continuations too; they go on where it gets stuck.

    Seeds 0 to 2: 6030, 5500 and 5046 tokens with `best`, 23,126, 19,956 and 20,232 without branching.
    """
    branched = tokens_until_done(SoftmaxPolicy(), GrpoBranchingConfig(pivots=(pivot,)), seed, most=MOST_OF_GRADIENT)
    assert branched < MOST_OF_GRADIENT / 2 if pivot == "best" else branched < MOST_OF_GRADIENT
    assert plain_gradient(seed) >= MOST_OF_GRADIENT, "it does not solve each chain at every second try yet"


@cache
def plain_gradient(seed: int) -> int:
    return tokens_until_done(SoftmaxPolicy(), None, seed, most=MOST_OF_GRADIENT)
