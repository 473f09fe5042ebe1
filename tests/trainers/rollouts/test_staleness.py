"""The bound on staleness, against every order of completion that chance or an adversary comes up with."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.errors import ConfigError
from palaestra.trainers.rollouts.staleness import GroupOrder, Staleness

LIMITS = st.builds(Staleness, per_step=st.integers(1, 4), staleness=st.integers(0, 3), window=st.integers(0, 9))


def _filled(order: GroupOrder) -> list[int]:
    begun: list[int] = []
    while order.may_begin():
        begun.append(order.begin())
    return begun


def _trained(order: GroupOrder, versions: dict[int, int], taken: list[int]) -> int:
    """Train the step that these were taken for; its groups' greatest staleness."""
    oldest = max(order.version - versions[index] for index in taken)
    order.version += 1
    return oldest


@given(LIMITS, st.data())
def test_no_order_of_completions_or_drops_breaks_the_bound_or_loses_a_group(
    limits: Staleness, data: st.DataObject
) -> None:
    order, versions = GroupOrder(limits), dict[int, int]()
    fates: Counter[int] = Counter()
    for _ in range(60):
        versions |= dict.fromkeys(_filled(order), order.version)
        growing = sorted(set(order.pending) - set(order.complete))
        assert order.complete or growing, "training would wait in vain"
        if growing:
            index = data.draw(st.sampled_from(growing), label="ends")
            if data.draw(st.integers(0, 4), label="drop it") == 0:
                order.drop(index)
                fates[index] += 1
            else:
                order.mark_complete(index)
        pending = order.pending
        if taken := order.take():
            _check_window(limits, pending, taken)
            fates.update(taken)
            assert _trained(order, versions, taken) <= limits.bound
        else:
            assert growing, "every group is complete, and the step is refused"
    assert set(fates.values()) <= {1}
    assert set(fates) | set(order.pending) == set(range(order.begun))


def _check_window(limits: Staleness, pending: tuple[int, ...], taken: list[int]) -> None:
    """The second rule, said the other way round: nobody is overtaken by one too far behind."""
    left = list(pending)
    assert len(taken) == limits.per_step
    for index in taken:
        assert index <= left[0] + limits.window
        left.remove(index)


def _withholding(limits: Staleness, slow: int, *, steps: int = 16) -> int:
    """The greatest staleness where group `slow` completes only once nothing else helps."""
    order, versions, greatest = GroupOrder(limits), dict[int, int](), 0
    while order.version < steps:
        versions |= dict.fromkeys(_filled(order), order.version)
        for index in set(order.pending) - set(order.complete) - {slow}:
            order.mark_complete(index)
        taken = order.take()
        if taken is None:
            order.mark_complete(slow)
            taken = order.take()
        assert taken is not None
        greatest = max(greatest, _trained(order, versions, taken))
    return greatest


@pytest.mark.parametrize("per_step", [1, 2, 3, 4])
@pytest.mark.parametrize("staleness", [0, 1, 2, 3])
@pytest.mark.parametrize("window", [0, 1, 2, 3, 4, 7])
def test_the_bound_is_reached_by_the_slowest_of_groups(per_step: int, staleness: int, window: int) -> None:
    limits = Staleness(per_step=per_step, staleness=staleness, window=window)
    ample = range(per_step * (staleness + 1), per_step * (staleness + 4))
    assert max(_withholding(limits, slow) for slow in ample) == limits.bound


def test_with_no_staleness_the_next_step_begins_once_the_last_is_trained() -> None:
    order = GroupOrder(Staleness(per_step=2, window=5))
    assert _filled(order) == [0, 1]
    order.mark_complete(1)
    order.mark_complete(0)
    assert order.take() == [0, 1]
    assert not order.may_begin()
    order.version = 1
    assert _filled(order) == [2, 3]


def test_without_a_window_groups_are_taken_in_order_whoever_completes_first() -> None:
    order = GroupOrder(Staleness(per_step=1, staleness=2))
    _filled(order)
    order.mark_complete(2)
    order.mark_complete(1)
    assert order.take() is None
    order.mark_complete(0)
    assert [order.take() for _ in range(3)] == [[0], [1], [2]]


@given(LIMITS, st.data())
def test_an_order_that_was_saved_goes_on_as_it_would_have(limits: Staleness, data: st.DataObject) -> None:
    order = GroupOrder(limits)
    for _ in range(data.draw(st.integers(0, 20))):
        _filled(order)
        growing = sorted(set(order.pending) - set(order.complete))
        if growing:
            order.mark_complete(data.draw(st.sampled_from(growing)))
        if order.take():
            order.version += 1
    again = GroupOrder(limits, version=order.version, begun=order.begun, dropped=order.dropped, pending=order.pending)
    for index in order.complete:
        again.mark_complete(index)
    assert _filled(again) == _filled(order)
    assert (again.pending, again.complete, again.take()) == (order.pending, order.complete, order.take())


@pytest.mark.parametrize("wrong", [{"per_step": 0}, {"staleness": -1}, {"window": -2}])
def test_a_limit_below_its_least_is_refused_by_name(wrong: dict[str, int]) -> None:
    (name,) = wrong
    with pytest.raises(ConfigError, match=f"^{name} = {wrong[name]}: it must be at least"):
        Staleness(**{"per_step": 1, **wrong})
