"""DCPO's smooth standardisation against a plain account of visits."""

import json
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import GroupAdvantage, History
from palaestra.trainers.objectives.parts import Stateful
from scored import Array, array, drawn, paid, per_trajectory


class Account:
    """Means and variances of all visits, kept as lists: by the law of total variance, visits counting alike."""

    def __init__(self) -> None:
        self.visits: dict[float, list[tuple[float, float]]] = {}

    def advantages(self, batch: TokenBatch) -> Array:
        returns, tasks = array(batch.return_R), batch.column("task_R").tolist()
        found = np.zeros(len(returns))
        for task in sorted(set(tasks)):
            places = [place for place, one in enumerate(tasks) if one == task]
            if len(places) < 2:
                continue
            now = returns[places]
            visits = self.visits.setdefault(task, [])
            visits.append((float(now.mean()), float(now.var(ddof=1))))
            means, variances = np.array(visits).T
            all_variance = variances.mean() + means.var()
            i = len(visits)
            for place in places:
                new = (returns[place] - now.mean()) / now.std(ddof=1) if len(set(now.tolist())) > 1 else 0.0
                whole = (returns[place] - means.mean()) / all_variance**0.5 if all_variance > 1e-20 else 0.0
                blends = [((i - 1) * new + whole) / i, (new + (i - 1) * whole) / i]
                found[place] = min(blends, key=abs)
        return found


def visit(returns: Sequence[float], task: int = 3) -> TokenBatch:
    return paid(returns).with_columns({"task_R": torch.full((len(returns),), task)})


@pytest.mark.parametrize("seed", range(6))
def test_advantages_are_those_of_an_account_of_all_visits(seed: int) -> None:
    part, account = History(), Account()
    for number in range(5):
        batch = drawn(10 * seed + number)
        found = per_trajectory(part(batch), batch)
        np.testing.assert_allclose(found, account.advantages(batch), rtol=0, atol=1e-12)


def test_the_first_visit_is_grpo() -> None:
    batch = visit([1, 0, 0, 1, 0.5])
    torch.testing.assert_close(History()(batch), GroupAdvantage(epsilon=0.0)(batch), rtol=0, atol=1e-12)


def test_a_task_that_is_always_solved_today_still_teaches() -> None:
    """Means 1/2 and 1, variances 1/3 and 0: in all 3/4, and 1/6 + 1/16; half of the deviation counts."""
    part = History()
    part(visit([1, 0, 1, 0]))
    batch = visit([1, 1, 1, 1])
    expected = 0.5 * 0.25 / (1 / 6 + 1 / 16) ** 0.5
    np.testing.assert_allclose(per_trajectory(part(batch), batch), [expected] * 4, rtol=0, atol=1e-12)


def test_what_never_differed_is_exactly_0() -> None:
    part = History()
    for many in (3, 4, 7, 5, 6):
        assert not part(visit([0.1] * many)).any()


def test_one_trajectory_is_no_visit() -> None:
    part = History()
    assert not part(visit([5.0])).any()
    assert part.state() == {}


def test_tasks_do_not_share_what_is_remembered() -> None:
    part = History()
    part(visit([1, 0, 1, 0], task=1))
    assert not part(visit([1, 1, 1, 1], task=2)).any()


def test_a_batch_comes_out_the_same_after_a_restart() -> None:
    part, again = History(), History()
    assert isinstance(part, Stateful)
    for seed in range(3):
        part(drawn(seed))
    again.restore(json.loads(json.dumps(part.state())))
    batch = drawn(9)
    assert torch.equal(part(batch), again(batch))
    assert part.state() == again.state()


def test_going_on_from_nothing_forgets() -> None:
    part = History()
    part(visit([1, 0]))
    part.restore({})
    assert part.state() == {}
