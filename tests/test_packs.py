"""World packs: how they are registered, found and refused; a broken one fails only when it is named."""

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import palaestra
from packs import MANIFEST, install_packs, write_pack
from palaestra import manifest
from palaestra.envs import ToolEnv, bundled_tasks, open_world
from palaestra.envs.noise import Noise, NoiseMaterial
from palaestra.envs.target import find_world, is_pack
from palaestra.envs.user.tempers import TEMPERS
from palaestra.envs.wording import WORDINGS
from palaestra.errors import CapabilityError, PackError, UnknownNameError
from palaestra.manifest import read_manifest
from palaestra.packs import BUNDLED, PACKS, env_id_of, named_pack
from worlds.registration import LIBRARY_ID

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers or imports is forgotten."""
    packs, registry = dict(PACKS._packs), dict(gym.registry)
    monkeypatch.setattr(sys, "path", [*sys.path])
    modules = set(sys.modules)
    yield
    PACKS._packs = packs
    gym.registry.clear()
    gym.registry.update(registry)
    for name in set(sys.modules) - modules:
        if name.partition(".")[0] in ("clinic", "other", "clash") or name.startswith("palaestra_world_"):
            del sys.modules[name]


def run(code: str, *site: Path) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that finds the packages below `site`."""
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT / "tests", *site)))
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


# folders, files and calls


def test_a_folder_is_registered_by_one_call_and_played(tmp_path: Path) -> None:
    assert palaestra.register_world(write_pack(tmp_path / "clinic")) == "palaestra/Clinic-v0"
    env = gym.make("palaestra/Clinic-v0").unwrapped
    assert isinstance(env, ToolEnv)
    env.reset(seed=3)
    for call in env.oracle():
        env.step({"tool": call.tool, "arguments": dict(call.arguments)})
    assert env.score().passed


def test_another_process_makes_the_world_from_its_spec(tmp_path: Path) -> None:
    env_id = palaestra.register_world(write_pack(tmp_path / "clinic"))
    spec = pickle.dumps(gym.make(env_id).spec).hex()  # what a worker of a vector environment is given
    code = f"import gymnasium, pickle; env = gymnasium.make(pickle.loads(bytes.fromhex('{spec}')))"
    told = run(f"{code}; print(env.reset(seed=0)[0])")
    assert told.stdout == f"{gym.make(env_id).reset(seed=0)[0]}\n", told.stderr


def test_registering_reads_the_manifest_and_imports_nothing(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "clinic")
    (folder / "world.py").write_text("raise RuntimeError('imported')")
    assert palaestra.register_world(folder) == "palaestra/Clinic-v0"
    assert "clinic" not in sys.modules
    with pytest.raises(PackError, match=r"world clinic-v0 .* cannot be loaded: RuntimeError: imported"):
        gym.make("palaestra/Clinic-v0")


def test_a_single_file_is_a_pack(tmp_path: Path) -> None:
    file = tmp_path / "clinic.py"
    file.write_text(
        "from dataclasses import replace\nfrom worlds.library import LIBRARY\nWORLD = replace(LIBRARY, name='clinic')\n"
    )
    assert is_pack(str(file))
    assert find_world(str(file)) == "palaestra/Clinic-v0"
    assert open_world("clinic").name == "clinic"
    (tmp_path / "tasks.py").write_text("x = 1\n")
    assert not is_pack(str(tmp_path / "tasks.py"))


def test_a_world_without_training_tasks_is_made_with_the_first_split_that_it_has(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "clinic", manifest=MANIFEST.replace("train = 3\n", ""))
    (folder / "world.py").write_text((folder / "world.py").read_text().replace('"train": 3, ', ""))
    env_id = palaestra.register_world(folder)
    for env in (gym.make(env_id), gym.make(env_id, task="clinic/renew/8000")):
        assert env.reset(seed=0)[1]["task"].split == "heldout"
    with pytest.raises(CapabilityError, match=r"'train'.*heldout"):
        gym.make(env_id, split="train")


@pytest.mark.parametrize("handbook", [-1, 1.5, True, "1"])
def test_a_handbook_is_a_whole_number(handbook: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"handbook={handbook!r}: handbooks are numbered from 0")):
        gym.make("palaestra/Storefront-v0", handbook=handbook)


def test_a_world_with_an_annotation_is_a_pack(tmp_path: Path) -> None:
    file = tmp_path / "clinic.py"
    file.write_text("from palaestra.envs import World\nWORLD: World = World()\n")
    assert is_pack(str(file))


def test_a_file_of_a_pack_is_refused_with_its_folder(tmp_path: Path) -> None:
    file = write_pack(tmp_path / "clinic") / "world.py"
    with pytest.raises(PackError, match=r"the file is part of a pack, as world\.toml beside it says; give the folder"):
        find_world(str(file))


def test_a_folder_of_a_registered_package_is_that_pack() -> None:
    folder = ROOT / "src" / "palaestra" / "envs" / "worlds" / "storefront"
    assert find_world(str(folder)) == find_world("storefront") == "palaestra/Storefront-v0"


def test_the_newest_version_is_meant_where_none_is_named(tmp_path: Path) -> None:
    for version in (0, 2):
        palaestra.register_world(write_pack(tmp_path / str(version) / "clinic", version=version))
    assert PACKS.find("clinic").env_id == "palaestra/Clinic-v2"
    assert PACKS.find("clinic-v0").env_id == "palaestra/Clinic-v0"


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("nowhere/at/all", "no world pack is there; give a folder with world.toml, a file, or module:ATTRIBUTE"),
        ("nowhere.py", "there is no such file"),
    ],
)
def test_a_place_without_a_pack_is_refused(place: str, says: str) -> None:
    with pytest.raises(PackError, match=says):
        palaestra.register_world(place)


def test_a_file_that_fails_or_defines_no_world_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "clinic.py"
    file.write_text("import nothing_of_the_kind\n")
    with pytest.raises(PackError, match="cannot be loaded: ModuleNotFoundError"):
        palaestra.register_world(file)
    file.write_text("world = 1\n")
    with pytest.raises(PackError, match="defines no WORLD"):
        palaestra.register_world(file)
    file.write_text("def (")
    with pytest.raises(PackError, match="cannot be loaded: SyntaxError"):
        find_world(str(file))


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("WORLD = 3", "int is no World; define one with"),
        ("from palaestra.envs import World as WORLD", "type is no World; define one with"),
        ("from dataclasses import replace\nfrom worlds.library import LIBRARY\nWORLD = replace(LIBRARY, name='My Inn')",
         "the world has the name 'My Inn' and the version 0; a name is lower case letters"),
    ],
)  # fmt: skip
def test_a_file_whose_world_is_none_or_misnamed_is_refused(tmp_path: Path, code: str, says: str) -> None:
    file = tmp_path / "clinic.py"
    file.write_text(code)
    with pytest.raises(PackError, match=says):
        palaestra.register_world(file)


@pytest.mark.parametrize("place", ["nothing_of_the_kind:WORLD", "worlds.library:WRLD", ":WORLD"])
def test_a_module_or_attribute_that_does_not_exist_is_refused(place: str) -> None:
    with pytest.raises(PackError, match=r"cannot be loaded: .*; write module:ATTRIBUTE, or correct the module"):
        palaestra.register_world(place)


@pytest.mark.parametrize("code", ["x = 1\n1 / 0", "x = 1\nraise SystemExit(0)"])
def test_code_that_fails_or_leaves_is_an_error_that_names_its_line(tmp_path: Path, code: str) -> None:
    file = tmp_path / "other.py"
    file.write_text(code)
    with pytest.raises(PackError, match=r"other\.py:2\); correct the file"):
        palaestra.register_world(file)
    folder = write_pack(tmp_path / "clinic")
    (folder / "tasks.py").write_text(code)
    env_id = palaestra.register_world(folder)
    with pytest.raises(PackError, match=r"its task families \(clinic.tasks\) cannot be loaded: .*tasks\.py:2\)"):
        gym.make(env_id)
    (folder / "world.py").write_text(code)
    del sys.modules["clinic.world"]
    with pytest.raises(PackError, match=r"world clinic-v0 .*world\.py:2\); correct or remove the pack"):
        PACKS.find("clinic").load()


def test_a_folder_that_cannot_be_imported_or_hides_behind_another_package_is_refused(tmp_path: Path) -> None:
    palaestra.register_world(write_pack(tmp_path / "my-clinic"))
    with pytest.raises(PackError, match="cannot be imported; rename the folder"):
        open_world("clinic")
    palaestra.register_world(write_pack(tmp_path / "json", id="other"))
    with pytest.raises(PackError, match=r"Python finds 'json' in .*; rename the folder"):
        open_world("other")


# names


def test_an_unknown_world_is_answered_with_near_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown world 'storefornt'; did you mean 'storefront'"):
        PACKS.find("storefornt")


@pytest.mark.parametrize("name", ["clinic", "Clinic-v0", "clinic-v", "clinic_x-v0", "clinic-v00"])
def test_a_name_of_another_form_names_no_pack(name: str) -> None:
    with pytest.raises(PackError, match="names no world pack; write the world's id and version"):
        named_pack(name, "clinic", "a test")


def test_environment_ids_follow_from_worlds_ids() -> None:
    assert env_id_of("human-resources", 3) == "palaestra/HumanResources-v3"
    bundled = [named_pack(name, place, "").env_id for name, place in BUNDLED.items()]
    assert bundled == ["palaestra/Insurer-v0", "palaestra/ITDesk-v0", "palaestra/Shop-v0", "palaestra/Storefront-v0"]


def test_two_packs_of_one_id_are_refused_by_the_names_of_both(tmp_path: Path) -> None:
    first, second = (write_pack(tmp_path / name / "clinic") for name in ("a", "b"))
    palaestra.register_world(first)
    assert palaestra.register_world(first) == "palaestra/Clinic-v0"
    with pytest.raises(PackError, match=rf"registered by register_world \({first}\), so {second} cannot be"):
        palaestra.register_world(second)
    assert PACKS.find("clinic").place == str(first)


def test_a_world_cannot_take_the_id_of_another_environment(tmp_path: Path) -> None:
    with pytest.raises(PackError, match=r"palaestra/Tau2-v0 is another environment's, so .* cannot have it"):
        palaestra.register_world(write_pack(tmp_path / "a" / "clinic", id="tau2"))
    with pytest.raises(PackError, match="CartPole-v1 is another environment's"):
        palaestra.register_world(write_pack(tmp_path / "b" / "clinic"), env_id="CartPole-v1")


def test_a_pack_has_one_environment_id(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "clinic")
    palaestra.register_world(folder)
    with pytest.raises(PackError, match="registered as palaestra/Clinic-v0, so it cannot be test/Other-v0 too"):
        palaestra.register_world(folder, env_id="test/Other-v0")


def test_an_installed_pack_with_the_id_of_a_benchmark_is_left_out(tmp_path: Path) -> None:
    site = install_packs(tmp_path, {"tau2-v0": "impostor"})
    told = run("import palaestra; from palaestra.packs import PACKS; PACKS.find('tau2')", site)
    assert "The world tau2-v0 of an entry point of impostor is left out" in told.stderr.splitlines()[-1]


def test_a_package_cannot_take_the_place_of_a_bundled_world(tmp_path: Path) -> None:
    site = install_packs(tmp_path, {"storefront-v9": "impostor"})
    told = run(
        "import palaestra.packs as p; print(p.PACKS.find('storefront-v0').place); p.PACKS.find('storefront')", site
    )
    assert told.stdout == "palaestra.envs.worlds.storefront\n"
    last = told.stderr.splitlines()[-1]
    assert "'storefront' means storefront-v0 and storefront-v9, of Palaestra and an entry point of impostor" in last


def test_an_entry_point_of_another_form_is_named_where_its_world_is_not_found(tmp_path: Path) -> None:
    site = install_packs(tmp_path, {"clinic": "clinic_pack"})
    told = run("import palaestra.packs as p; p.PACKS.find('clinic')", site)
    assert "The entry point 'clinic' of clinic_pack is left out: name it ID-vN" in told.stderr.splitlines()[-1]


# manifests


def test_the_names_in_manifests_are_those_that_environments_know() -> None:
    assert sorted(WORDINGS) == sorted(manifest.WORDINGS)
    assert sorted(TEMPERS) == sorted(manifest.TEMPERS)
    needing_data = NoiseMaterial().parts()
    assert sorted({one.name for one in fields(Noise)} - set(needing_data)) == sorted(manifest.ANY_WORLD)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('id = "clinic"', 'id = "The Clinic"', "id: string should match pattern"),
        ("version = 0", "version = -1", "version: input should be greater than or equal to 0"),
        ('title = "A clinic"\n', "", "title: field required"),
        ('world = "world:WORLD"', 'world = "world"', "world: string should match pattern"),
        ("[splits]", 'trait = "x"\n[splits]', "unknown key 'trait'; did you mean 'traits'"),
        ("heldout = 2", "heldout = 2\n[capabilities]\nsurface = []", "unknown key 'surface'; did you mean 'surfaces'"),
        ("[splits]", "[splits", "not TOML"),
        ("version = 0", f"version = {'9' * 5_000}", "not TOML: Exceeds the limit"),
        ("[splits]", f"traits = {'[' * 5_000}\n[splits]", "not TOML: maximum recursion depth"),
        ("version = 0", 'version = "0"', "version: input should be a valid integer, not '0'"),
        ("version = 0", "version = true", "version: input should be a valid integer, not True"),
        ("train = 3", "train = 3.0", "splits.train: input should be a valid integer, not 3.0"),
        ("heldout = 2", "heldout = 2\n[capabilities]\nhandbooks = 0", "handbooks: input should be a valid boolean"),
    ],
)
def test_a_manifest_that_breaks_a_rule_names_file_key_and_rule(tmp_path: Path, old: str, new: str, says: str) -> None:
    folder = write_pack(tmp_path / "clinic")
    text = (folder / "world.toml").read_text()
    assert old in text
    (folder / "world.toml").write_text(text.replace(old, new))
    with pytest.raises(PackError, match=says) as fault:
        read_manifest(folder / "world.toml")
    assert str(folder / "world.toml") in str(fault.value)


def test_a_manifest_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "clinic") / "world.toml"
    path.write_text(path.read_text(), encoding="utf-8-sig", newline="\r\n")
    assert read_manifest(path).id == "clinic"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("train = 3", "train = 4", "declares the splits {'train': 4, 'heldout': 2}, and its code has {'train': 3"),
        ("[splits]", 'traits = ["odd"]\n[splits]', "declares the traits"),
        ("heldout = 2", 'heldout = 2\n[capabilities]\nsurfaces = ["generic"]',
         "declares the capabilities.surfaces ['generic'], and its code has []"),
        ("heldout = 2", "heldout = 2\n[capabilities]\nhandbooks = true", "declares the capabilities.handbooks True"),
        ('id = "clinic"', 'id = "hospital"', "declares the id hospital, and its code has clinic"),
    ],
)  # fmt: skip
def test_a_manifest_that_disagrees_with_its_world_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    folder = write_pack(tmp_path / "clinic", manifest=MANIFEST)
    text = (folder / "world.toml").read_text()
    (folder / "world.toml").write_text(text.replace(old, new))
    env_id = palaestra.register_world(folder)
    with pytest.raises(PackError) as fault:
        open_world(env_id)
    assert says in str(fault.value)


def test_a_manifest_says_which_switches_its_world_takes() -> None:
    manifest = PACKS.find("storefront").manifest()
    assert manifest is not None
    properties = manifest.switches()["properties"]
    assert isinstance(properties, dict)
    assert properties["surface"] == {"enum": ["conventional", "generic", "pages"]}
    assert open_world(LIBRARY_ID).manifest().switches()["properties"]["handbook"] == {"const": 0}  # type: ignore[index,call-overload]


# switches that a world does not declare: each was accepted before and had no effect


@pytest.mark.parametrize(
    ("switches", "says"),
    [
        ({"handbook": 3}, r"handbook=3: the world 'library' does not declare it; its handbooks: 0"),
        ({"temper": "heated"}, r"temper='heated': the world 'library' does not declare it; its tempers: none"),
        ({"noise": {"stale": 10}}, r"noise stale=10: .* its switches of noise: distractors, renames, caps"),
    ],
)
def test_a_switch_without_effect_is_refused(switches: dict[str, Any], says: str) -> None:
    with pytest.raises(CapabilityError, match=says):
        gym.make(LIBRARY_ID, **switches)


@pytest.mark.parametrize("split", ["dev", "heldout-surface"])
def test_a_split_that_a_world_does_not_declare_is_refused(split: str, tmp_path: Path) -> None:
    env_id = palaestra.register_world(write_pack(tmp_path / "clinic"))
    with pytest.raises(CapabilityError, match=f"split '{split}': the world 'clinic' .*; its splits: train, heldout"):
        gym.make(env_id, split=split)


def test_a_misspelt_trait_is_refused_with_near_ones(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "clinic")
    tasks = folder / "tasks.py"
    tasks.write_text(tasks.read_text().replace('("write",)', '("wirte",)'))
    env_id = palaestra.register_world(folder)
    with pytest.raises(ValueError, match=r"tasks.py:\d+: clinic/renew: unknown trait 'wirte'; did you mean 'write'"):
        bundled_tasks(open_world(env_id))


# entry points


def test_an_installed_package_offers_a_pack(tmp_path: Path) -> None:
    write_pack(tmp_path / "clinic")
    site = install_packs(tmp_path, {"clinic-v0": "clinic"})
    told = run("import gymnasium, palaestra; print(gymnasium.make('palaestra/Clinic-v0').unwrapped.world.name)", site)
    assert told.stdout == "clinic\n", told.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("tasks", "list", "clinic"), "5 tasks in 1 families of palaestra/Clinic-v0"),
        (("tasks", "prove", "clinic", "--split", "heldout", "--jobs", "1"), "in 2 tasks in 1 family."),
    ],
)
def test_a_command_takes_an_installed_world_by_its_id(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    write_pack(tmp_path / "clinic")
    site = install_packs(tmp_path, {"clinic-v0": "clinic"})
    told = run(f"from palaestra.cli import main; import sys; sys.argv[1:] = {arguments}; main()", site)
    assert says in told.stdout, told.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("tasks", "list"), "5 tasks in 1 families of palaestra/Clinic-v0"),
        (("tasks", "prove", "--split", "heldout", "--jobs", "1"), "in 2 tasks in 1 family."),
        (("check",), "palaestra/Clinic-v0: holds its contract"),
    ],
)
def test_a_command_takes_a_module_as_gymnasium_does(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    folder = write_pack(tmp_path / "clinic")
    (tmp_path / "own.py").write_text(f"import palaestra\npalaestra.register_world({str(folder)!r})\n")
    named = (*arguments, "own:palaestra/Clinic-v0")
    told = run(f"from palaestra.cli import main; import sys; sys.argv[1:] = {named}; main()", tmp_path)
    assert says in told.stdout, told.stderr


def test_a_world_of_a_module_is_found_by_its_attribute() -> None:
    assert find_world("worlds.library:LIBRARY") == LIBRARY_ID
    with pytest.raises(PackError, match=r"nothing_of_the_kind:X-v0: cannot be loaded: .*; write module:ENV_ID"):
        find_world("nothing_of_the_kind:X-v0")
    with pytest.raises(UnknownNameError, match="unknown world 'palaestra/Storefrnt-v0'; did you mean"):
        find_world("palaestra:palaestra/Storefrnt-v0")


def test_a_broken_pack_fails_only_when_it_is_named(tmp_path: Path) -> None:
    (write_pack(tmp_path / "clinic") / "world.py").write_text("import nothing_of_the_kind")
    site = install_packs(tmp_path, {"clinic-v0": "clinic", "gone-v0": "not_installed", "NoPack": "clinic"})
    made = run("import gymnasium, palaestra; gymnasium.make('palaestra/Storefront-v0').reset(seed=0)", site)
    assert made.returncode == 0, made.stderr
    told = run("from palaestra.cli import main; import sys; sys.argv[1:] = ['tasks', 'list', 'clinic']; main()", site)
    assert told.returncode == 1
    assert "error: world clinic-v0 (clinic, registered by an entry point of clinic) cannot be loaded" in told.stderr
    assert "Traceback" not in told.stderr
    gone = run("from palaestra.cli import main; import sys; sys.argv[1:] = ['tasks', 'list', 'gone']; main()", site)
    assert "names the package not_installed, which is not installed" in gone.stderr


def test_two_installed_packs_of_one_id_fail_when_they_are_named(tmp_path: Path) -> None:
    site = install_packs(tmp_path, {"clinic-v0": "clinic"})
    install_packs(tmp_path, {"clinic-v0": "other"}, owner="other")
    told = run("import palaestra.packs as p; print(len(list(p.PACKS))); p.PACKS.find('clinic')", site)
    assert told.stdout == f"{len(BUNDLED) + 1}\n"
    last = told.stderr.splitlines()[-1]
    assert "two packs have the id clinic-v0: clinic (an entry point of clinic) and other (an" in last


def test_a_broken_package_of_tasks_is_left_out_with_a_warning(tmp_path: Path) -> None:
    install_packs(tmp_path, {}, owner="plugin")
    points = tmp_path / "plugin-1.0.dist-info" / "entry_points.txt"
    points.write_text("[palaestra.tasks]\nplugin = plugin_that_is_gone\n")
    told = run("import gymnasium, palaestra; gymnasium.make('palaestra/Storefront-v0').reset(seed=0)", tmp_path)
    assert told.returncode == 0, told.stderr
    assert "PackWarning: the tasks that the package plugin offers (plugin_that_is_gone) are left out" in told.stderr
