"""A batch that has every column that any part of an objective can read, in double precision.

Axes: T tokens, U turns, R trajectories, G groups.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest
import torch
from torch import Tensor

from palaestra.trainers.data.batch import NO_TURN, PARTS, TokenBatch
from palaestra.trainers.objectives import BuiltObjective

GROUPS = (4, 4, 1, 3)
"""Trajectories of each group: one stands alone."""
LAYERS, CRITERIA, FEATURES = 4, 3, 4


def complete(
    *, seed: int = 0, groups: tuple[int, ...] = GROUPS, equal: bool = False, longest: int = 4, off: float = 0.4
) -> TokenBatch:
    """Trajectories of one to three turns, each of a prompt's tokens and the policy's own, which have parts.

    Args:
        seed: Of everything.
        groups: Trajectories of each.
        equal: Whether all of a group earn the same in the same way.
        longest: The most tokens of a part.
        off: How far old, present and reference log-probabilities are from those of the rollout.
    """
    draw = torch.Generator().manual_seed(seed)

    def whole(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (1,), generator=draw))

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    trained: list[bool] = []
    parts: list[int] = []
    turns: list[int] = []
    owners: list[int] = []
    turn_owner: list[int] = []
    positions: list[int] = []
    numbers = count()
    for trajectory in range(sum(groups)):
        start = len(trained)
        for _ in range(whole(1, 3)):
            turn = next(numbers)
            turn_owner.append(trajectory)
            for part, length in (
                (None, whole(1, 3)),
                ("switch", 1),
                ("plan", whole(1, 2)),
                ("action", whole(1, longest)),
            ):
                trained += [part is not None] * length
                parts += [PARTS.index(part or "")] * length
                turns += [NO_TURN if part is None else turn] * length
        owners += [trajectory] * (len(trained) - start)
        positions += range(len(trained) - start)
    tokens, turns_there, trajectories = len(trained), len(turn_owner), sum(groups)
    trained_T, turn_T = torch.tensor(trained), torch.tensor(turns)
    trajectory_T, trajectory_U = torch.tensor(owners), torch.tensor(turn_owner)
    group_R = torch.tensor([group for group, size in enumerate(groups) for _ in range(size)])
    reward_U = torch.zeros(turns_there, dtype=torch.float64)
    last_R = torch.tensor([max(u for u in range(turns_there) if turn_owner[u] == r) for r in range(trajectories)])
    passed_R = (torch.arange(trajectories) % 2).double()
    if equal:
        passed_R = torch.ones_like(passed_R)
    else:
        reward_U = reward_U + 0.1 * normal(turns_there)
    reward_U[last_R] += passed_R
    return_R = torch.zeros(trajectories, dtype=torch.float64).index_add(0, trajectory_U, reward_U)

    def at_own(value_T: Tensor) -> Tensor:
        return value_T.masked_fill(~trained_T, 0.0)

    logprob_T = at_own(-0.2 - 2 * torch.rand(tokens, generator=draw, dtype=torch.float64))

    def near() -> Tensor:
        return at_own((logprob_T + off * normal(tokens)).clamp_max(-0.01))

    old_T = near()
    flags_U = torch.randint(0, 2, (turns_there,), generator=draw)
    values = {
        "anchor_U": torch.randint(0, 3, (turns_there,), generator=draw),
        "passed_R": passed_R,
        "total_R": torch.ones(trajectories, dtype=torch.float64),
        "done_R": torch.ones(trajectories, dtype=torch.float64),
        "task_R": group_R + 100,
        "agent_R": torch.zeros(trajectories, dtype=torch.long),
        "invalid_U": (torch.arange(turns_there) % 5 == 0).double(),
        "tools_U": flags_U.double(),
        "layers_UL": torch.stack([reward_U, *(torch.zeros_like(reward_U) for _ in range(LAYERS - 1))], 1),
        "harm_U": flags_U.double() * 0.2,
        "unfinished_R": (torch.arange(trajectories) % 3 == 0).double(),
        "met_UC": (torch.rand(turns_there, CRITERIA, generator=draw) < 0.5).double(),
        "open_UC": (torch.arange(turns_there * CRITERIA).reshape(turns_there, CRITERIA) % 4 > 0).double(),
        "points_RC": torch.full((trajectories, CRITERIA), 1 / CRITERIA, dtype=torch.float64),
        "won_UL": (torch.arange(turns_there * LAYERS).reshape(turns_there, LAYERS) % 3).double() / 10,
        "shares_RL": torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64).repeat(trajectories, 1),
        "flip_RK": (torch.arange(trajectories * CRITERIA).reshape(trajectories, CRITERIA) % 5).double() / 10 - 0.2,
        "chance_RK": (torch.arange(trajectories * CRITERIA).reshape(trajectories, CRITERIA) % 7).double() / 7,
        "switch_U": flags_U.double(),
        "goal_U": torch.randint(0, 3, (turns_there,), generator=draw),
        "temperature_T": at_own(torch.full((tokens,), 0.8, dtype=torch.float64)),
        "latent_T": at_own(torch.full((tokens,), 0.3, dtype=torch.float64)),
        "choice_T": at_own(torch.full((tokens,), -0.4, dtype=torch.float64)),
        "old_T": old_T,
        "now_T": old_T,
        "entropy_T": at_own(torch.rand(tokens, generator=draw, dtype=torch.float64)),
        "square_T": at_own(torch.rand(tokens, generator=draw, dtype=torch.float64)),
        "proxy_T": near(),
        "ref_T": near(),
        "norm_R": 0.5 + torch.rand(trajectories, generator=draw, dtype=torch.float64),
        "value_T": at_own(0.3 * normal(tokens)),
        "values_UH": 0.3 * normal(turns_there, 3),
        "promise_U": 0.3
        * torch.randn(turns_there, generator=torch.Generator().manual_seed(seed + 77), dtype=torch.float64),
        "greedy_R": passed_R.flip(0),
        "label_U": flags_U.double(),
        "gold_U": -torch.rand(turns_there, generator=draw, dtype=torch.float64),
        "gold_R": -1 - torch.rand(trajectories, generator=draw, dtype=torch.float64),
        "potential_U": normal(turns_there),
        "potential_R": normal(trajectories),
        "counterfactual_R": 0.3 * normal(trajectories),
        "process_R": torch.rand(trajectories, generator=draw, dtype=torch.float64),
        "chosen_R": passed_R,
        "rephrased_R": torch.zeros(trajectories, dtype=torch.float64),
        "expert_T": at_own((trajectory_T == 1).double()),
        "attention_T": at_own(torch.rand(tokens, generator=draw, dtype=torch.float64)),
        "prompt_R": -torch.rand(trajectories, generator=draw, dtype=torch.float64)[group_R],
        "prompt_RF": normal(len(groups), FEATURES)[group_R],
    }
    return TokenBatch(
        ids_T=torch.arange(tokens) % 7,
        position_T=torch.tensor(positions),
        trained_T=trained_T,
        logprob_T=logprob_T,
        version_T=torch.zeros(tokens, dtype=torch.long),
        part_T=torch.tensor(parts),
        advantage_T=torch.zeros(tokens, dtype=torch.float64),
        weight_T=torch.zeros(tokens, dtype=torch.float64),
        segment_T=trajectory_T,
        turn_T=turn_T,
        trajectory_S=torch.arange(trajectories),
        trajectory_U=trajectory_U,
        reward_U=reward_U,
        group_R=group_R,
        return_R=return_R,
        columns=values,
    )


def on_policy(batch: TokenBatch) -> TokenBatch:
    """The batch as if the weights that are trained had drawn it."""
    return batch.with_columns(dict.fromkeys(("old_T", "now_T"), batch.logprob_T))


def step_of(built: BuiltObjective, batch: TokenBatch) -> "Step":
    """A step on the whole batch: filters and rewards, advantages, preparation."""
    from palaestra.trainers.updates import filter_trajectories, reshape_rewards

    return Step(built, reshape_rewards(filter_trajectories(batch, built), built))


class Step:
    """A prepared step, whose loss can be had at any log-probabilities of the batch that it was made of."""

    def __init__(self, built: BuiltObjective, batch: TokenBatch) -> None:
        self.batch = built.objective.advantages(batch.with_columns({"place_T": torch.arange(len(batch.ids_T))}))
        self.prepared = built.objective.prepare(self.batch)

    def loss(self, logp_T: Tensor, *, entropy_T: Tensor | None = None, parts: int = 1) -> Tensor:
        """The step's loss, in `parts` micro-batches.

        Args:
            logp_T: Of the tokens of the batch that the step was made of.
            entropy_T: Of the same.
            parts: How many; trajectories are dealt to them in turn.
        """
        ready = self.prepared.batch
        whole = torch.zeros((), dtype=logp_T.dtype)
        for part in range(parts):
            chosen = list(range(part, ready.trajectories, parts))
            if not chosen:
                continue
            micro = ready.select(chosen)
            place_T = micro.column("place_T")
            entropy = torch.zeros_like(logp_T) if entropy_T is None else entropy_T
            loss, _ = self.prepared.loss(logp_T[place_T], entropy[place_T], micro)
            whole = whole + loss
        return whole

    def gradient(self, logp_T: Tensor, *, parts: int = 1) -> Tensor:
        """In every token's log-probability, [T]."""
        logp_T = logp_T.detach().clone().requires_grad_()
        loss = self.loss(logp_T, parts=parts)
        if not loss.requires_grad:
            return torch.zeros_like(logp_T)  # nothing has a gradient, so nothing was put through
        (found_T,) = torch.autograd.grad(loss, logp_T)
        return found_T


def gradient(built: BuiltObjective, batch: TokenBatch) -> Tensor:
    """Of a step, in the log-probability of each token of `batch`, a little off the old ones; 0 of what filters drop."""
    step = step_of(built, batch.with_columns({"own_T": torch.arange(len(batch.ids_T))}))
    found_T = torch.zeros(len(batch.ids_T), dtype=torch.float64)
    found_T[step.batch.column("own_T")] = step.gradient((step.batch.column("old_T") + 0.05).clamp_max(-0.01))
    return found_T


class Frozen:
    """Has `detach` give again what it gave the first time: what has no gradient then stands still in differences."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._kept: list[Tensor] = []
        self._detach = Tensor.detach

    def first(self, work: Callable[[], Tensor]) -> Tensor:
        """Do `work`, and remember."""

        def remember(tensor: Tensor) -> Tensor:
            self._kept.append(self._detach(tensor).clone())
            return self._kept[-1]

        self._patch.setattr(Tensor, "detach", remember)
        try:
            return work()
        finally:
            self._patch.setattr(Tensor, "detach", self._detach)

    def again(self, work: Callable[[], Tensor]) -> Tensor:
        """Do it with other numbers, and what was detached as it was."""
        kept = iter(self._kept)

        def recall(tensor: Tensor) -> Tensor:
            del tensor
            return next(kept)

        self._patch.setattr(Tensor, "detach", recall)
        try:
            return work()
        finally:
            self._patch.setattr(Tensor, "detach", self._detach)


def permuted(batch: TokenBatch, order: list[int]) -> TokenBatch:
    """The trajectories in another order, with other numbers for their groups."""
    moved = batch.select(order)
    return replace(moved, group_R=7 - 2 * moved.group_R)
