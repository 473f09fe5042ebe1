import json
import sys
from collections.abc import Iterator

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv, check_env
from palaestra.envs.check import CHECKS, Subject
from palaestra.envs.check.replay import answer
from palaestra.envs.check.subject import make
from palaestra.errors import EnvironmentCheckError
from worlds.broken import BROKEN, Case
from worlds.broken.outside import SINK, release
from worlds.registration import LIBRARY_ID

pytestmark = pytest.mark.usefixtures("light_collections")

BY_ID = [pytest.param(case, id=case.id) for case in BROKEN]


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    yield
    release()
    SINK.unlink(missing_ok=True)


def subject_of(env: ToolEnv) -> Subject:
    return Subject.of(env, steps=20, seeds=(0, 1))


@pytest.mark.parametrize("reward", ["checklist", "outcome"])
def test_a_sound_world_passes_every_check(reward: str) -> None:
    check_env(make(LIBRARY_ID, reward=reward))


def test_one_seed_is_enough_to_check_with() -> None:
    check_env(make(LIBRARY_ID, split="heldout"), steps=5, seeds=[7])


def test_the_environment_given_is_not_touched() -> None:
    env = make(LIBRARY_ID)
    env.reset(seed=5)
    digest = env.digest()
    for name in sorted(set(CHECKS) - {"processes"}):
        CHECKS[name](subject_of(env))
    assert env.digest() == digest


@pytest.mark.measured
@pytest.mark.parametrize("case", BY_ID)
def test_a_broken_environment_is_told_what_broke_the_rule_and_the_way_out(case: Case) -> None:
    with pytest.raises(EnvironmentCheckError) as raised:
        CHECKS[case.check](subject_of(make(case.id)))
    message = str(raised.value)
    assert message.startswith(f"{case.id}: ")
    assert case.says.strip() in message
    assert ". " in message.partition("; ")[2], "the rule ends in a full stop, and the way out follows"


@pytest.mark.unmeasured
@pytest.mark.parametrize("case", BY_ID)
def test_a_broken_environment_trips_its_own_check_only(case: Case) -> None:
    subject = subject_of(make(case.id))
    tripped: set[str] = set()
    for name in CHECKS.keys() - {"processes"}:
        try:
            CHECKS[name](subject)
        except EnvironmentCheckError:
            tripped.add(name)
    assert tripped == ({case.check} | case.also) - {"processes"}


def test_what_differs_by_hash_order_agrees_in_one_process() -> None:
    (case,) = (case for case in BROKEN if case.check == "processes")
    with pytest.raises(EnvironmentCheckError, match="PYTHONHASHSEED"):
        check_env(make(case.id))


def test_every_check_has_a_broken_environment() -> None:
    assert {case.check for case in BROKEN} == CHECKS.keys()


def test_an_environment_nobody_can_make_again_cannot_be_checked() -> None:
    with pytest.raises(EnvironmentCheckError, match=r"it has no spec.*gymnasium\.make"):
        check_env(ToolEnv(LIBRARY_ID))


def test_an_id_that_only_this_process_knows_is_reported() -> None:
    gym.register(  # pyright: ignore[reportUnknownMemberType]
        "test/Private-v0",
        entry_point="palaestra.envs.env:ToolEnv",
        kwargs={"env_id": LIBRARY_ID},
        disable_env_checker=True,
        order_enforce=False,
    )
    try:
        with pytest.raises(EnvironmentCheckError, match="another process could not make and play it"):
            CHECKS["processes"](subject_of(make("test/Private-v0")))
    finally:
        del gym.registry["test/Private-v0"]


def test_the_other_process_answers_with_the_marks_of_each_walk() -> None:
    subject = subject_of(make(LIBRARY_ID))
    walks = json.loads(json.dumps([walk.operations for walk in subject.walks]))
    world = {"place": "worlds.library:LIBRARY", "env_id": LIBRARY_ID}
    answered = answer({"module": "worlds.library", "id": LIBRARY_ID, "kwargs": {}, "walks": walks, **world})
    assert [tuple(marks) for marks in answered] == [walk.marks for walk in subject.walks]


def test_watching_leaves_no_profiler_behind() -> None:
    before = sys.getprofile()
    CHECKS["purity"](subject_of(make(LIBRARY_ID)))
    assert sys.getprofile() is before
