"""BabyAI as it is installed: its solution wins, its floors are what they are, and episodes do not touch."""

import pytest

from acting import ActingBenchmark, ActingContract

pytestmark = pytest.mark.xdist_group("bench-babyai")
BABYAI = ActingBenchmark(
    env_id="palaestra/BabyAI-v0",
    argument="action",
    solved=("babyai/GoToObj/1000000", "babyai/BossLevel/1000000", "babyai/Unlock/3"),
    task="babyai/PutNextLocal/1000001",
    other="babyai/PutNextLocal/1000002",
    bad=("", "jump", 7, None, ["left"], {"a": 1}),
)


class TestBabyAI(ActingContract):
    """What holds of every benchmark of its kind."""

    benchmark = BABYAI


def test_a_step_may_be_repeated_and_stops_at_an_obstacle() -> None:
    env = BABYAI.make(task=BABYAI.task)
    env.reset(seed=0)
    observation, *_ = env.step({"tool": "act", "arguments": {"action": "forward", "times": 20}})
    assert str(observation[0]["content"]).startswith("Nothing happens")
    *_, info = env.step({"tool": "act", "arguments": {"action": "forward", "times": 0}})
    assert info["events"][0].error == "invalid_arguments"
    env.close()


def test_splits_share_no_seed() -> None:
    env = BABYAI.make()
    seeds = {split: {id.rpartition("/")[2] for id in env.ids(split)} for split in ("train", "test")}
    assert not seeds["train"] & seeds["test"]
    assert (len(env.ids("test")), len(env.ids("train"))) == (180, 360)
    env.close()
