from collections.abc import Mapping
from typing import Any

import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs.check.subject import make
from palaestra.envs.noise import Noise
from palaestra.errors import TaskError, UnknownNameError
from palaestra.trajectory import dump_episode
from worlds.noisy import ALL, STOREFRONT, SWITCHES, storefront
from worlds.registration import LIBRARY_ID

TASK = "storefront/price-match/5000"


@pytest.mark.parametrize("off", [None, {}, Noise(), {"failures": 0}, {"caps": False}])
def test_noise_without_a_switch_that_is_on_is_none(off: Any) -> None:
    assert Noise.of(off) is None


def test_the_switches_that_are_on_are_told_in_order() -> None:
    noise = Noise.of({"events": 3, "renames": True, "stale": 0})
    assert noise is not None
    assert list(noise.switches.items()) == [("renames", True), ("events", 3)]


def test_every_switch_is_tested_here() -> None:
    assert ALL.keys() == Noise.__dataclass_fields__.keys() == SWITCHES.keys()


def test_an_unknown_switch_is_told_the_near_one() -> None:
    with pytest.raises(UnknownNameError, match="unknown noise switch 'failure'; did you mean 'failures'"):
        storefront({"failure": 10})


@pytest.mark.parametrize(
    ("noise", "says"),
    [
        ({"failures": 101}, "failures=101: give a whole number from 0, which is off, to 100"),
        ({"failures": -1}, "failures=-1"),
        ({"events": 2.5}, r"events=2\.5"),
        ({"stale": True}, "stale=True: give a whole number"),
        ({"caps": 1}, "caps=1: it is on or off"),
        ({"distractors": 41}, "distractors=41: .* to 40"),
        ("failures", "noise='failures': give switches"),
    ],
)
def test_a_bad_value_is_told_what_it_may_be(noise: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        storefront(noise)


@pytest.mark.parametrize("switch", ["stale", "conflicts", "events", "injections"])
def test_a_world_without_material_refuses_what_is_made_of_it(switch: str) -> None:
    with pytest.raises(ValueError, match=f"noise {switch}=5: the world 'library' does not declare it"):
        make(LIBRARY_ID, noise={switch: 5})


def test_with_every_switch_off_an_episode_is_the_same_to_the_byte() -> None:
    episodes: list[bytes] = []
    for kwargs in ({}, {"noise": None}, {"noise": {"failures": 0, "caps": False}}, {"noise": Noise()}):
        env = make(STOREFRONT, **kwargs)
        episodes.append(dump_episode(rollout(env, oracle(env.oracle), name="oracle", seed=1, task=TASK)))
        assert env.episode.noise_state is None
        assert env.snapshot().noise_state is None
    assert len(set(episodes)) == 1


def test_without_noise_info_says_nothing_of_it_and_with_it_which_switches_are_on() -> None:
    quiet, loud = make(STOREFRONT), storefront({"failures": 30})
    assert "noise" not in quiet.reset(seed=1)[1]
    assert "noise" not in quiet.step({"tool": "finish", "arguments": {}})[-1]
    assert loud.reset(seed=1)[1]["noise"]["switches"] == {"failures": 30}


def test_noise_is_given_as_a_record_or_as_switches() -> None:
    given: list[Noise | Mapping[str, Any]] = [Noise(failures=40, renames=True), {"failures": 40, "renames": True}]
    digests: set[str] = set()
    for noise in given:
        env = make(STOREFRONT, noise=noise)
        env.reset(seed=3)
        for _ in range(6):
            env.step({"tool": env.offered_tools[0].name, "arguments": {}})
        digests.add(env.digest())
    assert len(digests) == 1


def test_a_snapshot_fits_an_environment_with_the_same_noise_alone() -> None:
    noisy, quiet = storefront({"failures": 30}), storefront(None)
    for env in (noisy, quiet):
        env.reset(seed=1)
    with pytest.raises(TaskError, match=r"a snapshot with Noise\(.*failures=30.*\) does not fit .* with no noise"):
        quiet.restore(noisy.snapshot())
    with pytest.raises(TaskError, match="a snapshot with no noise does not fit"):
        noisy.restore(quiet.snapshot())
