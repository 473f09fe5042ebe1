"""The columns that are computed from records alone: data of rollouts besides tokens and rewards, for objectives.

A last turn that the world never answered did nothing and has reward 0; it continues the subgoal of the turn before.

Axes: U turns, R trajectories, L layers of a rubric, C its expectations, K all its criteria, prohibitions included.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import chain, pairwise
from typing import TypeAlias

import torch
from torch import Tensor

from palaestra.records import LAYERS, CriterionSpec, ToolEvent
from palaestra.seeding import Stream
from palaestra.tools import PlannedTurn, read_plan
from palaestra.trajectory import Episode, Turn

_Answered: TypeAlias = Sequence[Turn | None]
"""A trajectory's turns; `None` for a turn that the world never answered."""
_NO_GOAL = 0


def rollout_columns(episodes: Sequence[Episode], turns: Sequence[int]) -> dict[str, Tensor]:
    """The columns that a rollout's records determine, by name.

    Args:
        episodes: The episodes, in the batch's order.
        turns: The number of turns that the policy wrote in each episode; at least the recorded ones.
    """
    answered = [_pad(episode, count) for episode, count in zip(episodes, turns, strict=True)]
    every = list(chain.from_iterable(answered))
    expected = [[spec for spec in episode.rubric if spec.kind == "expect"] for episode in episodes]
    width = max(map(len, expected), default=0)
    criteria = max((len(episode.rubric) for episode in episodes), default=0)
    plans = [_plans(one) for one in answered]
    anchors = chain.from_iterable(_anchors(e, one) for e, one in zip(episodes, answered, strict=True))
    return {
        "anchor_U": _numbers(anchors),
        "passed_R": _floats(episode.score.passed for episode in episodes),
        "total_R": _floats(episode.score.total for episode in episodes),
        "done_R": _floats(episode.end is not None and episode.end.terminates for episode in episodes),
        "unfinished_R": _floats(episode.end is None or episode.end.is_unfinished for episode in episodes),
        "task_R": _numbers(stable_number("task", episode.task.id) for episode in episodes),
        "agent_R": _numbers(stable_number("agent", episode.agent) for episode in episodes),
        "invalid_U": _floats(map(_number_of_turn(_invalid), every)),
        "tools_U": _floats(map(_number_of_turn(_count_successes), every)),
        "layers_UL": _table([_layers(turn) for turn in every], len(LAYERS)),
        "harm_U": _floats(chain.from_iterable(_harm(e, one) for e, one in zip(episodes, answered, strict=True))),
        "met_UC": _table(
            [_mark_met(turn, specs) for one, specs in zip(answered, expected, strict=True) for turn in one], width
        ),
        "open_UC": _table(
            list(
                chain.from_iterable(_open_criteria(one, specs) for one, specs in zip(answered, expected, strict=True))
            ),
            width,
        ),
        "points_RC": _table([_shares(specs) for specs in expected], width),
        "won_UL": _table(
            list(chain.from_iterable(_list_gained(one, specs) for one, specs in zip(answered, expected, strict=True))),
            len(LAYERS),
        ),
        "shares_RL": _table([_layer_shares(specs) for specs in expected], len(LAYERS)),
        "flip_RK": _table(list(map(_flips, episodes)), criteria),
        "chance_RK": _table(list(map(_chances, episodes)), criteria),
        "switch_U": _floats(begins for one in plans for begins, _ in one),
        "goal_U": _numbers(goal for one in plans for _, goal in one),
    }


def stable_number(kind: str, name: str) -> int:
    """A 64-bit number for `name`, the same in every process; it differs between kinds."""
    return int.from_bytes(blake2b(f"{kind}\0{name}".encode(), digest_size=8).digest(), "big", signed=True)


def _pad(episode: Episode, count: int) -> list[Turn | None]:
    turns: list[Turn | None] = list(episode.turns)
    return [*turns, *[None] * (count - len(turns))]


def _anchors(episode: Episode, turns: _Answered) -> list[int]:
    """A number for the world's state before each turn; before the first turn the task determines it."""
    numbers = [stable_number("opening", episode.task.id)]
    for before, _ in pairwise(turns):
        assert before is not None, "only the last turn may be without an answer"
        numbers.append(stable_number("anchor", before.anchor))
    return numbers[: len(turns)]


def _number_of_turn(number: Callable[[Turn], float]) -> Callable[[Turn | None], float]:
    """The function `number`, extended by 0 for a turn that was never answered."""
    return lambda turn: 0.0 if turn is None else number(turn)


def _invalid(turn: Turn) -> bool:
    """Whether no call of the turn could be read, or a call fits no tool; each call that was read has an event."""
    events = _own(turn)
    return not events or not all(event.schema_ok for event in events)


def _count_successes(turn: Turn) -> int:
    return sum(event.duplicate_of is None and event.executed and event.semantic_ok for event in _own(turn))


def _own(turn: Turn) -> list[ToolEvent]:
    """The events that the turn's calls caused, without world events."""
    return [event for event in turn.events if not event.call_id.startswith("world_")]


def _layers(turn: Turn | None) -> list[float]:
    return [0.0 if turn is None else float(turn.components.get(layer, 0)) for layer in LAYERS]


def _harm(episode: Episode, turns: _Answered) -> list[float]:
    """The points that prohibitions deducted in each turn; negative if a violation was undone."""
    price = {spec.id: spec.points for spec in episode.rubric if spec.kind == "forbid"}
    taken = [0, *(sum(price.get(id, 0) for id in turn.violated) if turn else None for turn in turns)]
    return [0.0 if now is None else float(now - (before or 0)) for before, now in pairwise(taken)]


def _mark_met(turn: Turn | None, specs: Sequence[CriterionSpec]) -> list[float]:
    met = frozenset[str]() if turn is None else frozenset(turn.met)
    return [float(spec.id in met) for spec in specs]


def _open_criteria(turns: _Answered, specs: Sequence[CriterionSpec]) -> list[list[float]]:
    """For each turn, the expectations that could be met in it: all criteria in `after` were met in earlier turns.

    An expectation that the turn met counts too: the rubric counts a criterion only once those in its `after` are met,
    and one turn may hold the calls for both.
    """
    known = {spec.id for spec in specs}
    reached: set[str] = set()
    rows: list[list[float]] = []
    for turn in turns:
        met = frozenset[str]() if turn is None else frozenset(turn.met)
        rows.append([float(spec.id in met or reached.issuperset(known.intersection(spec.after))) for spec in specs])
        reached |= met
    return rows


def _shares(specs: Sequence[CriterionSpec]) -> list[float]:
    total = sum(spec.points for spec in specs)
    return [spec.points / total if total else 0.0 for spec in specs]


def _list_gained(turns: _Answered, specs: Sequence[CriterionSpec]) -> list[list[float]]:
    """The points gained by expectations in each turn, by layer; negative if a met expectation no longer holds."""
    points: list[list[float]] = [[0.0] * len(LAYERS)]
    rows: list[list[float]] = []
    for turn in turns:
        points.append(points[-1] if turn is None else _by_layer([spec for spec in specs if spec.id in turn.met]))
        rows.append([now - before for before, now in zip(*points[-2:], strict=True)])
    return rows


def _layer_shares(specs: Sequence[CriterionSpec]) -> list[float]:
    points = _by_layer(specs)
    return [one / (sum(points) or 1.0) for one in points]


def _by_layer(specs: Sequence[CriterionSpec]) -> list[float]:
    return [float(sum(spec.points for spec in specs if spec.layer == layer)) for layer in LAYERS]


def _flips(episode: Episode) -> list[float]:
    """The change of the points if the last verdict on a criterion were the opposite, for each criterion."""
    turns = list(episode.turns)
    counts = frozenset((*turns[-1].met, *turns[-1].violated)) if turns else frozenset[str]()
    return [
        float(spec.points if (spec.kind == "expect") != (spec.id in counts) else -spec.points)
        for spec in episode.rubric
    ]


def _chances(episode: Episode) -> list[float]:
    """A uniform random number in [0, 1) for each criterion, seeded by the trajectory's name and the run's seed.

    It has 24 bits, so that it is never rounded to 1.
    """
    stream = Stream.root("verdicts", episode.seed, episode.id)
    return [stream.split(spec.id).below(2**24) / 2**24 for spec in episode.rubric]


def _plans(turns: _Answered) -> list[tuple[bool, int]]:
    """Whether each turn begins a subgoal, and the number of its subgoal.

    The first turn always begins a subgoal. A turn that cannot be read continues the current subgoal.
    """
    plans: list[tuple[bool, int]] = []
    goal = _NO_GOAL
    for place, turn in enumerate(turns):
        plan = None if turn is None else _plan(turn)
        goal = goal if plan is None else stable_number("goal", plan.subgoal)
        plans.append((place == 0 or (plan is not None and plan.switches), goal))
    return plans


def _plan(turn: Turn) -> PlannedTurn | None:
    try:
        return None if turn.text is None else read_plan(turn.text)
    except ValueError:
        return None


def _numbers(values: Iterable[int]) -> Tensor:
    return torch.tensor(list(values), dtype=torch.long)


def _floats(values: Iterable[float]) -> Tensor:
    return torch.tensor(list(values), dtype=torch.float32)


def _table(rows: Sequence[list[float]], width: int) -> Tensor:
    """The rows, padded with 0 to `width`."""
    return torch.tensor([row + [0.0] * (width - len(row)) for row in rows]).reshape(len(rows), width)
