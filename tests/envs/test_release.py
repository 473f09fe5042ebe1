"""A release: what was proved is listed, what was not is found by its id, and what changed is told."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import pytest

from palaestra.envs import TaskSet, ToolEnv, World, bundled_tasks, open_world
from palaestra.envs.release import ProvedTasks, Release, load
from palaestra.errors import RecordError, TaskError
from palaestra.packs import BUNDLED
from palaestra.proof import Proof, prove, release_of
from palaestra.proof.release import changed_families, make_release
from worlds.library import LIBRARY, lend, renew


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """The lending library with a place for a release."""
    yield replace(LIBRARY, release=tmp_path / "release.json")
    bundled_tasks.cache_clear()


def whole(world: World) -> Release:
    """A release of all that there is."""
    return make_release(TaskSet(world, [renew, lend]), proof="of a test")


def test_without_a_file_everything_is_listed(world: World) -> None:
    assert load(world) is None
    assert load(LIBRARY) is None
    tasks = bundled_tasks(world)
    assert all(tasks.ids(split) == tasks.candidates(split) for split in tasks.splits)
    assert tasks.splits


def test_it_is_read_as_it_was_written(world: World) -> None:
    assert world.release is not None
    whole(world).save(world.release)
    assert load(world) == whole(world)


def test_only_what_it_lists_is_listed_and_the_rest_is_found_by_its_id(world: World) -> None:
    assert world.release is not None
    release = whole(world)
    renewals = release.families["library/renew-loan"]
    kept = replace(release, families={"library/renew-loan": {"train": renewals["train"]}})
    kept.save(world.release)
    tasks = bundled_tasks(world)
    assert {task.rpartition("/")[0] for task in tasks.ids("train")} == {"library/renew-loan"}
    assert tasks.ids("dev") == tasks.ids("heldout") == ()
    assert "library/lend-book/0000" in tasks.candidates("train")
    assert tasks.instance("library/lend-book/0000").spec.id == "library/lend-book/0000"


def test_a_users_own_tasks_are_listed_whatever_a_world_releases(world: World) -> None:
    assert world.release is not None
    replace(whole(world), families={}).save(world.release)
    assert TaskSet(world, [renew]).ids("train") != ()
    assert bundled_tasks(world).ids("train") == ()


def test_nothing_has_changed_where_nothing_changed(world: World) -> None:
    assert changed_families(whole(world), TaskSet(world, [renew, lend])) == []


def test_it_tells_which_family_changed_in_which_split(world: World) -> None:
    release = whole(world)
    otherwise = {**release.families["library/lend-book"], "train": ProvedTasks(count=4, digest="00")}
    changed = replace(release, families={**release.families, "library/lend-book": otherwise})
    assert changed_families(changed, TaskSet(world, [renew, lend])) == [
        "library/lend-book: its tasks in train are not those that were proved"
    ]


def test_it_tells_that_a_family_is_gone(world: World) -> None:
    assert changed_families(whole(world), TaskSet(world, [renew])) == [
        "library/lend-book is in the release, and the world has no such family"
    ]


def test_one_task_more_is_another_release(world: World) -> None:
    more = replace(world, instances={**world.instances, "dev": world.instances["dev"] + 1})
    assert changed_families(whole(world), TaskSet(more, [renew, lend])) == [
        "library/renew-loan: its tasks in dev are not those that were proved"
    ]


@pytest.mark.parametrize(("text", "says"), [("{}", "not a release"), ("[", "not a release")])
def test_a_file_that_is_no_release_is_told_with_its_name(world: World, text: str, says: str) -> None:
    assert world.release is not None
    world.release.write_text(text)
    with pytest.raises(RecordError, match=says) as raised:
        load(world)
    assert str(world.release) in str(raised.value)


def test_another_worlds_release_is_not_taken(world: World) -> None:
    assert world.release is not None
    replace(whole(world), world="storefront").save(world.release)
    with pytest.raises(RecordError, match="the release of 'storefront', not of 'library'"):
        load(world)


def test_what_is_not_proved_is_not_released() -> None:
    env = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(env, ToolEnv)
    proof = prove(env, ["storefront/cancel-order/0000"])
    with pytest.raises(TaskError, match="only what is proved is released"):
        release_of(env.task_set, replace_first_score(proof))
    with pytest.raises(TaskError, match="were not tried"):
        release_of(env.task_set, Proof(tasks=[]))


def replace_first_score(proof: Proof) -> Proof:
    """The proof as it were had its oracle failed."""
    task = proof.tasks[0]
    task.oracle = replace(task.oracle, points=0)
    return Proof(tasks=[task])


# In one process with the other tests that go through all tasks of the world, which are made once.
WORLDS = [pytest.param(name, marks=pytest.mark.xdist_group(name.partition("-")[0])) for name in BUNDLED]


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", WORLDS)
def test_every_bundled_family_is_what_its_release_says(name: str) -> None:
    release = load(open_world(name))
    assert release is not None
    assert changed_families(release, bundled_tasks(open_world(name))) == []
