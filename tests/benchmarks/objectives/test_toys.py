"""The toys are what their docstrings say, and what is known as best in them succeeds."""

from collections.abc import Iterator
from itertools import product

import pytest

from palaestra.benchmarks.objectives.bandit import Bandit
from palaestra.benchmarks.objectives.copying import Copying
from palaestra.benchmarks.objectives.dependency import BOLD, KEY, SAFE, Dependency
from palaestra.benchmarks.objectives.junction import HALL, JUNCTION, RIGHT, STAY, WRONG, Junction
from palaestra.benchmarks.objectives.planning import DOOR, KEEP, NO_GOAL, OPEN, PICK, SWITCH, Planning
from palaestra.benchmarks.objectives.planning import KEY as KEY_GOAL
from palaestra.benchmarks.objectives.toy import Choose, Toy
from palaestra.seeding import Stream

TOYS: list[Toy] = [
    Bandit(), Bandit(modes=2), Copying(), Copying(length=5, letters=2), Junction(), Dependency(), Planning(),
]  # fmt: skip


def _script(*actions: int) -> Choose:
    """Takes these actions, whatever the state."""
    left: Iterator[int] = iter(actions)
    return lambda _: next(left)


LUCK = Stream.root("luck")


@pytest.mark.parametrize("toy", TOYS, ids=repr)
def test_what_is_best_succeeds_in_every_task(toy: Toy) -> None:
    for task in range(toy.tasks):
        played = toy.play(task, toy.best, LUCK)
        assert played.success
        assert played.passed
        assert played.done
        assert played.total_reward == 1.0
        assert all(turn.good for turn in played.turns)
        assert all(turn.hope == 1.0 for turn in played.turns)


@pytest.mark.parametrize("toy", TOYS, ids=repr)
def test_best_actions_are_there_in_every_state(toy: Toy) -> None:
    assert all(0 <= toy.best(state) < size for state, size in enumerate(toy.sizes))


def test_a_bandit_pays_as_often_as_it_says() -> None:
    toy = Bandit(good=80, other=30)
    luck = Stream.root("pays")
    for arm, chance in ((toy.best(0), 0.8), (toy.best(0) + 1, 0.3)):
        paid = sum(toy.play(0, lambda _, arm=arm: arm, luck).total_reward for _ in range(4000)) / 4000  # type: ignore[misc]
        assert paid == pytest.approx(chance, abs=0.03)


def test_two_arms_tie_where_there_are_two_modes() -> None:
    toy = Bandit(modes=2)
    for task in range(toy.tasks):
        good = [arm for arm in range(toy.arms) if toy.play(task, _script(arm), LUCK).success]
        assert sorted(good) == sorted([toy.best(task), (toy.best(task) + 1) % toy.arms])


def test_a_bandit_of_best_arms_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="modes=4"):
        Bandit(modes=4)


def test_of_all_words_one_is_right() -> None:
    toy = Copying()
    for task in range(toy.tasks):
        right = [word for word in product(range(3), repeat=3) if toy.play(task, _script(*word), LUCK).passed]
        assert len(right) == 1


def test_the_wrong_turn_leads_out_later() -> None:
    short = Junction().play(0, _script(RIGHT, 0), LUCK)
    long = Junction().play(0, _script(WRONG, 0, 0, 0, 0), LUCK)
    assert (short.passed, short.success, len(short.turns)) == (True, True, 2)
    assert (long.passed, long.success, len(long.turns)) == (True, False, 5)
    assert short.total_reward == long.total_reward == 1.0
    assert [turn.anchor for turn in long.turns] == [JUNCTION, 1, 2, 3, HALL]


def test_the_maze_ends_in_the_pit_and_cuts_loops_short() -> None:
    pit = Junction().play(0, _script(RIGHT, 1), LUCK)
    assert (pit.passed, pit.done, pit.turns[-1].hope) == (False, True, 0.0)
    loop = Junction(limit=4).play(0, _script(*[STAY] * 4), LUCK)
    assert (loop.passed, loop.done, len(loop.turns)) == (False, False, 4)
    back = Junction().play(0, _script(WRONG, 1, RIGHT, 0), LUCK)
    assert (back.passed, back.success) == (True, False)


def test_boldness_is_worth_less_than_safety_to_who_guesses_and_more_to_who_knows() -> None:
    toy = Dependency()
    paid = {(one, two): toy.play(0, _script(one, two), LUCK).total_reward for one, two in product(range(2), range(3))}
    assert {paid[SAFE, key] for key in range(3)} == {0.5}
    assert sum(paid[BOLD, key] for key in range(3)) / 3 < 0.5 < paid[BOLD, KEY]


def test_a_door_opens_in_four_turns_of_two_subgoals() -> None:
    played = Planning().play(0, Planning().best, LUCK)
    assert [turn.switch for turn in played.turns] == [True, False, True, False]
    assert [turn.goal for turn in played.turns] == [KEY_GOAL, KEY_GOAL, DOOR, DOOR]
    assert [turn.parts for turn in played.turns] == [("switch", "plan", "action"), ("switch", "action")] * 2
    assert [turn.reward for turn in played.turns] == [0, 0, 0, 1]


def test_switching_loses_what_was_half_done() -> None:
    twice = (SWITCH, KEY_GOAL - 1, PICK)
    done = (KEEP, PICK, SWITCH, DOOR - 1, OPEN, KEEP, OPEN)
    played = Planning().play(0, _script(*twice, *twice, *done), LUCK)
    assert played.passed
    assert len(played.turns) == 5


def test_without_a_subgoal_nothing_works_and_time_runs_out() -> None:
    played = Planning(limit=4).play(0, _script(*(KEEP, PICK) * 4), LUCK)
    assert (played.passed, played.done) == (False, False)
    assert [turn.hope for turn in played.turns] == [0.0] * 4
    assert {turn.goal for turn in played.turns} == {NO_GOAL}
