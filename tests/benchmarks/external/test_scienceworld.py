"""ScienceWorld as it is installed: its solution wins, its floors are what they are, and episodes do not touch."""

import pytest

from acting import ActingBenchmark, ActingContract, play
from palaestra.errors import InfrastructureError

pytestmark = pytest.mark.xdist_group("bench-scienceworld")
SCIENCEWORLD = ActingBenchmark(
    env_id="palaestra/ScienceWorld-v0",
    argument="command",
    solved=("scienceworld/lifespan-longest-lived/93", "scienceworld/find-plant/225"),
    task="scienceworld/lifespan-longest-lived-then-shortest-lived/93",
    other="scienceworld/find-plant/225",
    bad=("", 7, None, ["look"], "x" * 500, "two\nlines", "reset task"),
    states_length=False,
)


class TestScienceWorld(ActingContract):
    """What holds of every benchmark of its kind."""

    benchmark = SCIENCEWORLD


def test_every_official_variation_is_listed() -> None:
    env = SCIENCEWORLD.make()
    counts = {split: len(env.ids(split)) for split in ("test", "dev", "train")}
    assert sum(counts.values()) == 7207  # as the package says of its thirty tasks
    assert len({task["category"] for task in env.tasks.values()}) == 30
    assert env.benchmark.trainable == ("train",)
    env.close()


def test_a_wrong_focus_ends_the_task_with_no_points() -> None:
    env = SCIENCEWORLD.make(task=SCIENCEWORLD.task)
    env.reset(seed=0)
    play(env, [SCIENCEWORLD.act("focus on agent")])
    assert (env.score().points, env.score().passed) == (0, False)
    env.close()


def test_an_unknown_simplification_is_refused() -> None:
    with pytest.raises(InfrastructureError, match="simplifications='trivial'"):
        SCIENCEWORLD.make(simplifications="trivial")
