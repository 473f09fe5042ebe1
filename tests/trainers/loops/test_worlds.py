"""A run over several worlds: whose tasks it learns from, in which shares, and where each is played."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import orjson
import pytest

from crash.loops import POLICY, demonstrations
from packs import write_pack
from palaestra.contamination import Guard
from palaestra.errors import ConfigError, UnknownNameError
from palaestra.packs import DEFAULT, PACKS
from palaestra.seeding import Stream
from palaestra.trainers.loops import initial_policy, load_config, material, plan_run, recorded_batches, run
from palaestra.trainers.loops.config import WorldConfig
from palaestra.trainers.loops.material import demonstrations_of, env_id_of, tasks_of
from palaestra.trainers.loops.reading import config_document, read_config
from palaestra.trainers.loops.worlds import RunWorlds
from palaestra.trainers.rollouts.groups import TaskPlan
from palaestra.trainers.rollouts.worlds.routed import split_reference
from worlds.registration import LIBRARY_ID

DEFAULT_ID = PACKS.find(DEFAULT).env_id
LIBRARY = WorldConfig(env_id=LIBRARY_ID, imports=("worlds.registration",))


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pack(tmp_path_factory.mktemp("packs") / "ward", id="ward")


def test_references_name_the_world(ward: Path) -> None:
    worlds = RunWorlds([LIBRARY, WorldConfig(pack=ward, weight=3.0)])
    assert Counter(task.partition("/")[0] for task in worlds.tasks) == {"library": 8, "ward": 3}
    assert [(share.count, share.weight) for share in worlds.shares] == [(8, 1.0), (3, 3.0)]
    assert split_reference("ward/renew/0001") == ("ward", "ward/renew/0001")
    assert split_reference("noisy:ward/renew/0001") == ("noisy", "ward/renew/0001")


def test_one_world_twice_needs_a_name() -> None:
    noisy = WorldConfig(env_id=LIBRARY_ID, name="noisy", switches={"noise": {"failures": 10}})
    worlds = RunWorlds([LIBRARY, noisy])
    assert sum(task.startswith("noisy:library/") for task in worlds.tasks) == 8
    with pytest.raises(ConfigError, match=r"two worlds of the run are called 'library'; name one of them"):
        RunWorlds([LIBRARY, LIBRARY])


def test_one_environment_of_many_worlds_makes_further_instances_in_each_of_them() -> None:
    worlds = RunWorlds([WorldConfig(env_id="palaestra/Synth-v0", switches={"worlds": 2})])
    draw = worlds.endless(Guard())
    families = worlds.families(levels=False)
    assert {family.reference.partition("/")[0] for family in families} == {"synth-0", "synth-1"}
    for family in (families[0], families[-1]):
        task = draw(family, Stream.root("instance"))
        assert task.rpartition("/")[0] == family.reference
        assert task not in worlds.tasks


@pytest.mark.parametrize("stage", ["expert", "grpo"])
def test_a_world_that_is_registered_as_nondeterministic_cannot_be_branched(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds = RunWorlds([LIBRARY])
    worlds.check_restorable(stage)
    monkeypatch.setattr(gym.registry[LIBRARY_ID], "nondeterministic", True)
    with pytest.raises(ConfigError, match=rf"{stage}.branching: test/Library-v0 is registered as nondeterministic"):
        worlds.check_restorable(stage)
    settings = {
        "world": {"env_id": LIBRARY_ID, "imports": ["worlds.registration"]},
        "sft": {"steps": 1},
        stage: {"steps": 1, "branching": {"pivots": ["best"]}},
    }
    with pytest.raises(ConfigError, match=rf"{stage}.branching: test/Library-v0 is registered as nondeterministic"):
        plan_run(read_config(settings))


def test_groups_are_shared_out_by_weight(ward: Path) -> None:
    worlds = RunWorlds([LIBRARY, WorldConfig(pack=ward, weight=3.0)])
    plan = TaskPlan(worlds.tasks, size=2, seed=0, shares=worlds.shares)
    played = Counter(plan.group(index)[0].task.partition("/")[0] for index in range(40))
    assert played == {"library": 10, "ward": 30}


def test_each_task_is_played_in_the_world_of_its_reference(ward: Path) -> None:
    async def openings() -> list[str]:
        sources = RunWorlds([LIBRARY, WorldConfig(pack=ward)]).open("compact")
        world = await sources.open()
        said: list[str] = []
        for task in ("library/renew-loan/0000", "ward/renew/0000", "library/renew-loan/0001"):
            await world.reset(task, 0)
            said.append((await world.episode()).task.id)
        with pytest.raises(UnknownNameError, match=r"unknown world 'wrd'; did you mean 'ward'\?"):
            await world.reset("wrd/renew/0000", 0)
        await world.close()
        await sources.close()
        return said

    assert asyncio.run(openings()) == ["library/renew-loan/0000", "ward/renew/0000", "library/renew-loan/0001"]


@pytest.mark.parametrize("where", ["here", "processes"])
def test_a_run_learns_in_two_worlds(ward: Path, tmp_path: Path, where: str) -> None:
    initial_policy(POLICY, list(demonstrations()), seed=0).save(tmp_path / "policy")
    file = tmp_path / "run.toml"
    file.write_text(
        f"""
trackers = []
[[world]]
env_id = "{LIBRARY_ID}"
imports = ["worlds.registration"]
where = "{where}"
workers = 1
[[world]]
pack = "{ward}"
where = "{where}"
workers = 1
[policy]
checkpoint = "{tmp_path / "policy"}"
[grpo]
steps = 2
group_size = 2
[grpo.limits]
per_step = 2
[grpo.play]
context = 400
turn = 12
"""
    )
    result = run(plan_run(load_config(file)), tmp_path / "run", say=lambda _: None)
    assert result.progress.step == 2
    groups = [group for batch in recorded_batches(tmp_path / "run" / "grpo") for group in batch.groups]
    tasks = {episode.task.id.partition("/")[0] for group in groups for episode in group.episodes}
    assert tasks == {"library", "ward"}


def test_old_settings_of_one_world_are_read_and_the_new_ones_are_written_back() -> None:
    config = read_config({"world": {"env_id": LIBRARY_ID, "split": "dev"}, "grpo": {}})
    assert [world.split for world in config.world] == ["dev"]
    with pytest.raises(ConfigError, match=r"world\.0\.splitt: unknown; did you mean 'split'\?"):
        read_config({"world": [{"splitt": "dev"}], "grpo": {}})
    with pytest.raises(ConfigError, match="there is no world to learn in"):
        read_config({"world": [], "grpo": {}})


@pytest.mark.parametrize(
    ("world", "says"),
    [
        ({"weight": 0}, r"world: .*weight=0\.0: a weight is a number above 0; leave a world out"),
        ({"weight": -1}, r"weight=-1\.0: a weight is a number above 0"),
        ({"weight": float("nan")}, "weight=nan: a weight is a number above 0"),
        ({"weight": float("inf")}, "weight=inf: a weight is a number above 0"),
        ({"name": ""}, "name='': write letters, digits, hyphens and underscores"),
        ({"name": "a:b"}, "name='a:b': write letters, digits, hyphens and underscores"),
        ({"workers": 0}, "workers=0: at least 1; leave it out for one per processor"),
        ({"switches": {"split": "dev"}}, r"switches\.split: it has no effect here; give world\.split"),
        ({"switches": {"env_id": LIBRARY_ID}}, r"switches\.env_id: it has no effect here; give world\.env_id or"),
        ({"env_id": LIBRARY_ID, "pack": "ward"}, "pack='ward' and env_id='.*': both name the world; leave one of"),
        ({"env_id": DEFAULT_ID, "pack": "ward"}, f"pack='ward' and env_id='{DEFAULT_ID}': both name the world"),
    ],
)
def test_a_setting_of_a_world_without_effect_or_sense_is_refused(world: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read_config({"world": world, "grpo": {}})


def test_a_world_is_the_default_one_where_nothing_names_it(ward: Path) -> None:
    assert env_id_of(WorldConfig()) == WorldConfig().env_id == DEFAULT_ID
    assert env_id_of(WorldConfig(pack=ward)) == "palaestra/Ward-v0"
    assert WorldConfig(pack=ward).env_id is None
    config = read_config({"world": {"pack": str(ward)}, "grpo": {}})
    assert read_config(orjson.loads(config_document(config))) == config


def test_what_is_unknown_of_a_world_is_named_with_the_world(ward: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown family 'renwe'; .* in split 'train' of palaestra/Ward-v0"):
        RunWorlds([WorldConfig(pack=ward, families=("renwe",))])
    with pytest.raises(ConfigError, match=r"world\.switches=.*'handbok'.*; `palaestra worlds show` lists them"):
        RunWorlds([WorldConfig(pack=ward, switches={"handbok": 3})])
    with pytest.raises(UnknownNameError, match="unknown world 'stroefront'; did you mean 'storefront'"):
        RunWorlds([WorldConfig(env_id="stroefront")])
    with pytest.raises(
        UnknownNameError, match=r"unknown world './my_world'; .*give the folder of a pack as world\.pack"
    ):
        RunWorlds([WorldConfig(env_id="./my_world")])
    with pytest.raises(ConfigError, match=r"world\.env_id='CartPole-v1': the environment lists no tasks"):
        RunWorlds([WorldConfig(env_id="CartPole-v1")])


def test_a_world_is_named_by_its_id_with_a_version() -> None:
    assert env_id_of(WorldConfig(env_id="storefront-v0")) == "palaestra/Storefront-v0"


def test_further_instances_follow_the_listed_ones_and_are_none_of_them() -> None:
    config = WorldConfig(env_id=DEFAULT_ID, families=("cancel-order", "order-status"))
    listed, more = tasks_of(config), tasks_of(replace(config, further=3))
    assert more[: len(listed)] == listed
    further = more[len(listed) :]
    assert Counter(task.split("/")[1] for task in further) == {"cancel-order": 3, "order-status": 3}
    assert not set(further) & set(listed)
    assert len(demonstrations_of(replace(config, further=1, families=("cancel-order",)))) == 21


def test_further_instances_are_refused_below_none_and_of_a_world_that_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="further"):
        WorldConfig(env_id=DEFAULT_ID, further=-1)

    class Listing:
        """An environment from outside, which lists its tasks and makes no others."""

        def ids(self, split: str) -> list[str]:
            return [f"outside/{split}/0000"]

    def open_listing(config: WorldConfig) -> Listing:
        del config
        return Listing()

    monkeypatch.setattr(material, "open_world", open_listing)
    with pytest.raises(ConfigError, match=r"world\.further=2: .* makes no tasks beyond those that it lists"):
        tasks_of(WorldConfig(env_id=DEFAULT_ID, further=2))
