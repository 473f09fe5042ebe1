"""CM2 against a loop over turns and criteria, its golden example, and what a checklist may not depend on."""

from typing import get_args

import numpy as np
import pytest
import torch
from torch import Tensor

from credit import column, of_turns, played
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import Cm2, GroupAdvantage, checklist_advantages, first_satisfaction
from palaestra.trainers.objectives.advantages.checklist import Assignment

GROUPS = [4, 4, 4, 9, 9, 2]
POINTS = {4: [0.5, 0.3, 0.2], 9: [0.6, 0.4, 0.0], 2: [1.0, 0.0, 0.0]}
"""The last criterion of a group may be padding."""
SEEDS = range(10)
ASSIGNMENTS: tuple[Assignment, ...] = get_args(Assignment)
Checked = list[list[list[int]]]
"""Of each trajectory, after each turn, each criterion."""


def drawn(seed: int) -> Checked:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 2, (int(rng.integers(1, 5)), 3)).tolist() for _ in GROUPS]


def batch_of(met: Checked, groups: list[int], points: list[list[float]], able: Checked | None = None) -> TokenBatch:
    met_UC = torch.tensor([turn for own in met for turn in own])
    open_UC = torch.ones_like(met_UC) if able is None else torch.tensor([turn for own in able for turn in own])
    columns = {"met_UC": met_UC, "open_UC": open_UC, "points_RC": column(points)}
    return played([[0.0] * len(own) for own in met], groups, columns=columns)


def by_loops(met: Checked, able: Checked, assignment: str, divisor: float, least: int) -> list[float]:
    def first(own: list[list[int]], c: int) -> int | None:
        return next((t for t, turn in enumerate(own) if turn[c]), None)

    def earned(place: int, c: int) -> bool:
        when = first(met[place], c)
        return when is not None and bool(able[place][when][c])

    def turn_pay(place: int, t: int) -> float:
        weights = POINTS[GROUPS[place]]
        return sum(weights[c] for c in range(3) if first(met[place], c) == t and earned(place, c))

    found: list[float] = []
    for place, own in enumerate(met):
        rivals = [other for other, group in enumerate(GROUPS) if group == GROUPS[place]]
        for t in range(len(own)):
            if assignment == "trajectory":
                values = [sum(turn_pay(other, s) for s in range(len(met[other]))) for other in rivals]
                value, compared = values[rivals.index(place)], values
            elif assignment == "turn":
                compared = [turn_pay(other, t) for other in rivals if t < len(met[other])]
                value = turn_pay(place, t)
            else:
                total = weight = 0.0
                for c, points in enumerate(POINTS[GROUPS[place]]):
                    when = first(own, c)
                    if (when is not None and when < t) or not able[place][t][c]:
                        continue
                    share = np.mean([earned(other, c) for other in rivals])
                    total += points * (float(when is not None) - float(share))
                    weight += points
                value, compared = (total / weight if weight else 0.0), [0.0] * len(rivals)
            advantage = (value - float(np.mean(compared))) / divisor
            found.append(advantage if len(compared) >= least else 0.0)
    return found


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize(("divisor", "least"), [(1.0, 1), (2.0, 2), (1.0, 3)])
@pytest.mark.parametrize("seed", SEEDS)
def test_advantages_are_those_of_a_loop_over_criteria(
    seed: int, assignment: Assignment, divisor: float, least: int
) -> None:
    met = drawn(seed)
    rng = np.random.default_rng(100 + seed)
    able: Checked = [(rng.random((len(own), 3)) < 0.7).astype(int).tolist() for own in met]
    batch = batch_of(met, GROUPS, [POINTS[group] for group in GROUPS], able)
    found = of_turns(Cm2(assignment=assignment, divisor=divisor, least=least)(batch), batch)
    np.testing.assert_allclose(found, by_loops(met, able, assignment, divisor, least), atol=1e-12)


def test_what_was_met_before_what_it_depends_on_is_never_paid() -> None:
    """c1 (0.5) from step 1; c2 (0.3) and its dependency from step 2; c3 (0.2), of the same, from step 1: 0.5 in all."""
    met_UC = torch.tensor([[1, 0, 1], [1, 1, 1], [1, 1, 1]])
    open_UC = torch.tensor([[1, 0, 0], [1, 0, 0], [1, 1, 1]])
    nobody_UC = torch.zeros(3, 3).long()
    points_RC = column([[0.5, 0.3, 0.2]] * 2)
    owner_U, group_R = torch.tensor([0, 0, 0, 1, 1, 1]), torch.zeros(2).long()
    both_UC, opened_UC = torch.cat([met_UC, nobody_UC]), torch.cat([open_UC, open_UC])
    found_U = checklist_advantages(both_UC, points_RC, owner_U, group_R, open_UC=opened_UC)
    assert found_U.tolist() == [0.25] * 3 + [-0.25] * 3
    turns_U = checklist_advantages(both_UC, points_RC, owner_U, group_R, open_UC=opened_UC, assignment="turn")
    assert turns_U.tolist() == [0.25, 0, 0, -0.25, 0, 0]


def test_a_criterion_that_no_longer_holds_pays_nothing_when_it_does_again() -> None:
    first_UC, before_UC = first_satisfaction(torch.tensor([[0], [1], [0], [1], [1]]), torch.tensor([0, 0, 0, 0, 1]), 2)
    assert first_UC[:, 0].tolist() == [False, True, False, False, True]
    assert before_UC[:, 0].tolist() == [False, False, True, True, False]


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_criteria_does_not_matter(seed: int, assignment: Assignment) -> None:
    batch = batch_of(drawn(seed), GROUPS, [POINTS[group] for group in GROUPS])
    order = torch.tensor([2, 0, 1])
    swapped = {name: batch.column(name)[:, order] for name in ("met_UC", "open_UC", "points_RC")}
    part = Cm2(assignment=assignment)
    torch.testing.assert_close(part(batch.with_columns(swapped)), part(batch), rtol=0, atol=1e-12)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_one_criterion_in_one_turn_is_an_outcome_of_0_or_1(assignment: Assignment) -> None:
    batch = batch_of([[[1]], [[0]], [[0]], [[1]], [[0]]], [0] * 5, [[1.0]] * 5)
    found = of_turns(Cm2(assignment=assignment)(batch), batch)
    np.testing.assert_allclose(found, [0.6, -0.4, -0.4, 0.6, -0.4], atol=1e-12)
    outcome = played([[1.0], [0.0], [0.0], [1.0], [0.0]], [0] * 5)
    plain_T = GroupAdvantage(scale="none")(outcome)[outcome.trained_T]
    torch.testing.assert_close(Cm2(assignment=assignment)(batch)[batch.trained_T], plain_T, rtol=0, atol=1e-12)


def test_a_step_is_credited_for_what_is_met_later_until_nothing_is_open() -> None:
    met = [[[0, 0], [1, 0], [1, 1], [1, 1]], [[0, 0]]]
    batch = batch_of(met, [0, 0], [[0.75, 0.25]] * 2)
    found = of_turns(Cm2(assignment="step")(batch), batch)
    assert found == [0.5, 0.5, 0.5, 0.0, -0.5]


def test_a_step_answers_only_for_criteria_whose_dependencies_are_met() -> None:
    """c2 is after c1. Before c1 is met the step's eligible set is c1 alone; afterwards it is c2 alone."""
    met = [[[1, 0], [1, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 0]], [[0, 0], [0, 0]]]
    able = [[[1, 0], [1, 1]], [[1, 0], [1, 1]], [[1, 0], [1, 0]], [[1, 0], [1, 0]]]
    batch = batch_of(met, [0] * 4, [[0.5, 0.5]] * 4, able)
    found = of_turns(Cm2(assignment="step")(batch), batch)
    assert found == [0.5, 0.75, 0.5, -0.25, -0.5, -0.5, -0.5, -0.5]
    ignored = of_turns(Cm2(assignment="step")(batch_of(met, [0] * 4, [[0.5, 0.5]] * 4)), batch)
    assert ignored == [0.625, 0.75, 0.125, -0.25, -0.375, -0.375, -0.375, -0.375]


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_a_group_of_one_and_equal_trajectories_have_advantage_exactly_0(assignment: Assignment) -> None:
    turns = [[1, 0, 0], [1, 1, 0]]
    for count in (1, 3):
        for least in (1, 2):
            batch = batch_of([turns] * count, [0] * count, [[0.1, 0.2, 0.7]] * count)
            assert not Cm2(assignment=assignment, least=least)(batch).any()


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_a_batch_without_turns_or_criteria_has_no_advantage(assignment: Assignment) -> None:
    empty: list[tuple[list[list[float]], Tensor, Tensor]] = [
        ([[], []], torch.zeros(0, 2), torch.ones(2, 2)),
        ([[0.0], [1.0]], torch.zeros(2, 0), torch.ones(2, 0)),
    ]
    for rewards, met_UC, points_RC in empty:
        batch = played(rewards, [0, 0], columns={"met_UC": met_UC, "open_UC": met_UC, "points_RC": points_RC})
        assert not Cm2(assignment=assignment)(batch).any()


@pytest.mark.parametrize("setting", [{"divisor": 0.0}, {"least": 0}])
def test_a_setting_that_makes_no_sense_is_refused(setting: dict[str, float]) -> None:
    ((name, value),) = setting.items()
    with pytest.raises(ValueError, match=rf"{name}={value}"):
        Cm2(**setting)  # type: ignore[arg-type]
