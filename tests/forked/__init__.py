"""Samples for the credit thermometer from a toy whose values are known: rooms, a policy table, and a recursion."""

from collections.abc import Sequence
from functools import cache

import torch

from palaestra.benchmarks.credit.near_exact import TurnAdvantages, near_exact_advantages
from palaestra.benchmarks.credit.sample import CreditDesign, TaskSample
from palaestra.benchmarks.objectives import Junction, PolicyTable
from palaestra.benchmarks.objectives.batches import batch_of
from palaestra.benchmarks.objectives.toy import ToyEpisode
from palaestra.seeding import Stream

LIMIT = 5
TOY = Junction(limit=LIMIT)
_ODDS = ((0.5, 0.3, 0.2), (0.7, 0.3), (0.6, 0.4), (0.8, 0.2), (0.65, 0.35))
"""Of each action in each room."""
_NEXT = ((4, 1, 0), (2, 0), (3, 0), (4, 0))
"""The room that each action leads to; from the hall the world ends."""
_HALL = 4


def table() -> PolicyTable:
    """The policy."""
    policy = PolicyTable(TOY.sizes, lr=0.1)
    for room, odds in enumerate(_ODDS):
        policy.logits_XA[room, : len(odds)] = torch.tensor(odds, dtype=torch.float64).log()
    return policy


@cache
def moments(room: int, left: int) -> tuple[float, float]:
    """Mean and mean square of what is still paid in a room with so many turns left: 1 for the way out, else 0."""
    if left == 0:
        return 0.0, 0.0
    value = _ODDS[_HALL][0] if room == _HALL else _following(room, left)
    return value, value


def _following(room: int, left: int) -> float:
    return sum(odds * moments(after, left - 1)[0] for odds, after in zip(_ODDS[room], _NEXT[room], strict=True))


def state_values(episode: ToyEpisode) -> list[float]:
    """The exact value of the state before each turn."""
    return [moments(turn.states[0], LIMIT - place)[0] for place, turn in enumerate(episode.turns)]


def exact_advantages(episode: ToyEpisode) -> TurnAdvantages:
    """Of its turns, without an error."""
    values = state_values(episode)
    nothing = (0.0,) * len(values)
    advantages = tuple(
        turn.reward + after - before
        for turn, before, after in zip(episode.turns, values, [*values[1:], 0.0], strict=True)
    )
    return TurnAdvantages(advantages=advantages, errors=nothing, values=tuple(values), value_errors=nothing)


def play(stream: Stream, actions: Sequence[int] = ()) -> ToyEpisode:
    """An episode of the policy that begins with these actions."""
    forced = list(actions)

    def choose(room: int) -> int:
        if forced:
            return forced.pop(0)
        number = stream.word() / 2**64
        for action, odds in enumerate(_ODDS[room]):
            if (number := number - odds) < 0:
                return action
        return len(_ODDS[room]) - 1

    return TOY.play(0, choose, stream)


def sample(design: CreditDesign, number: int, *, known: bool = True) -> TaskSample:
    """The sample of task `number`.

    Args:
        design: How often everything is drawn.
        number: Names the luck.
        known: Whether near-exact advantages are the exact ones, or come from continuations.
    """
    root = Stream.root("forked", number)
    reference = play(root.split("reference"))
    actions = [turn.actions[0] for turn in reference.turns]
    companions = [play(root.split("companion", place)) for place in range(design.companions)]
    members = [
        play(root.split("member", turn, place), actions[: turn + 1])
        for turn in range(len(actions) - 1)
        for place in range(design.groups)
    ]
    episodes = [*companions, reference, *members]
    batch = batch_of(episodes, [0] * len(episodes), table())
    values = torch.tensor([value for episode in episodes for value in state_values(episode)], dtype=torch.float64)
    exact = exact_advantages(reference) if known else _from_continuations(reference, actions, design, root)
    return TaskSample(
        task=f"rooms/{number}",
        family=f"family {number % 10}",
        exact=exact,
        batch=batch.with_columns({"truth_U": values}),
    )


def _from_continuations(
    reference: ToyEpisode, actions: Sequence[int], design: CreditDesign, root: Stream
) -> TurnAdvantages:
    paid = [
        [
            sum(turn.reward for turn in play(root.split("value", place, number), actions[:place]).turns[place:])
            for number in range(design.continuations)
        ]
        for place in range(len(actions))
    ]
    return near_exact_advantages([turn.reward for turn in reference.turns], paid)
