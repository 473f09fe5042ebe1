"""TextWorld as it is installed: its solution wins, its floors are what they are, and episodes do not touch."""

import pytest

from acting import ActingBenchmark, ActingContract

pytestmark = pytest.mark.xdist_group("bench-textworld")
TEXTWORLD = ActingBenchmark(
    env_id="palaestra/TextWorld-v0",
    argument="command",
    solved=("textworld/coin-easy/1000000", "textworld/custom-small/1000000"),
    task="textworld/coin-easy/1000000",
    other="textworld/custom-small/1000000",
    bad=("", 7, None, ["look"], "x" * 500, "two\nlines", "save", "look. restart", "tw-extra-infos score"),
)


class TestTextWorld(ActingContract):
    """What holds of every benchmark of its kind."""

    benchmark = TEXTWORLD


def test_commands_that_the_game_takes_are_told_where_they_are_asked_for() -> None:
    env = TEXTWORLD.make(task=TEXTWORLD.task, admissible=True)
    observation, _ = env.reset(seed=0)
    assert "Commands that the game takes now: " in str(observation[1]["content"])
    env.close()
