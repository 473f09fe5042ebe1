"""`palaestra tasks new`: what it writes is proved as it stands, and it writes over nothing."""

import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

from palaestra.cli.scaffold import FamilyKind, write_family
from palaestra.envs import bundled_tasks, load_families, open_world
from palaestra.errors import TaskError, UnknownNameError
from palaestra.packs import PACKS

ROOT = Path(__file__).parents[2]
WORLDS, INN = ROOT / "examples" / "worlds", ROOT / "tests" / "worlds" / "inn.py"


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = "from palaestra.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", command, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def pytest_in(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("kind", FamilyKind)
def test_a_new_family_passes_its_own_test_as_it_stands(kind: FamilyKind, tmp_path: Path) -> None:
    write_family("brand-new", world="storefront", folder=tmp_path, kind=kind)
    told = pytest_in(tmp_path)
    assert told.returncode == 0, told.stdout
    assert "3 passed" in told.stdout


@pytest.mark.parametrize("kind", FamilyKind)
def test_a_new_family_bears_its_own_name_everywhere(kind: FamilyKind, tmp_path: Path) -> None:
    task_file, test_file = write_family("brand-new-2", world="storefront", folder=tmp_path / "deep" / "er", kind=kind)
    assert (task_file.name, test_file.name) == ("brand_new_2.py", "test_brand_new_2.py")
    family = next(f for f in load_families(task_file) if f.twin_of is None)
    assert (family.id, family.make.__name__) == ("storefront/brand-new-2", "brand_new_2")
    assert not any("my-family" in p.read_text() or "my_family" in p.read_text() for p in (task_file, test_file))


def test_a_broken_family_fails_its_test_and_the_test_says_why(tmp_path: Path) -> None:
    task_file, _ = write_family("brand-new", world="storefront", folder=tmp_path, kind=FamilyKind.REFUSAL)
    text = task_file.read_text()
    assert text.count("# Other right ways") == 1
    task_file.write_text(text.replace('call("get_customer", customer_id=customer.id),', "", 1))
    told = pytest_in(tmp_path)
    assert told.returncode == 1
    assert "Not proved: " in told.stdout
    assert "the oracle gets" in told.stdout
    assert "saw-account" in told.stdout


def test_the_command_says_what_it_wrote_and_what_comes_next(tmp_path: Path) -> None:
    told = run("tasks", "new", "move-house", "--kind", "lookup", "--out", "mine", folder=tmp_path)
    assert told.returncode == 0, told.stderr
    assert sorted(p.name for p in (tmp_path / "mine").iterdir()) == ["move_house.py", "test_move_house.py"]
    assert told.stdout.splitlines()[-1] == "Next: palaestra tasks prove mine/move_house.py"


@pytest.mark.parametrize("stands", ["move_house.py", "test_move_house.py"])
def test_nothing_is_written_over_and_nothing_half_written(stands: str, tmp_path: Path) -> None:
    (tmp_path / stands).write_text("mine")
    told = run("tasks", "new", "move-house", folder=tmp_path)
    assert told.returncode == 1
    assert told.stderr == (
        f"error: {stands}: stands there already and is not written over; choose another name or --out\n"
    )
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(stands, "mine")]


@pytest.mark.parametrize("name", ["", "Move", "move_house", "move--house", "-move", "2move", "move-", "a/b", "mové"])
def test_a_name_of_another_form_is_told_the_rule(name: str, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="write lower case letters and digits with single hyphens, such as move-house"):
        write_family(name, world="storefront", folder=tmp_path, kind=FamilyKind.WRITE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "says"), [("class", "a word of Python's own"), ("test-house", "take its file for a test")]
)
def test_a_name_that_python_or_pytest_takes_is_refused(name: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=says):
        write_family(name, world="storefront", folder=tmp_path, kind=FamilyKind.WRITE)


def test_an_unknown_world_is_answered_with_a_near_one(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown world 'storefrnt'; did you mean 'storefront'"):
        write_family("move-house", world="storefrnt", folder=tmp_path, kind=FamilyKind.WRITE)


@pytest.mark.parametrize("kind", FamilyKind)
def test_a_world_without_templates_is_told_which_files_to_add(kind: FamilyKind, tmp_path: Path) -> None:
    says = rf"world human-resources-v0 has no template of the kind {kind}; add {kind}.py and proof.py to .*/templates,"
    with pytest.raises(TaskError, match=says):
        write_family("move-house", world=str(WORLDS / "human_resources"), folder=tmp_path, kind=kind)
    assert list(tmp_path.iterdir()) == []


def test_a_world_in_one_file_is_told_to_become_a_folder(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"inn-v0 is a single file.*with world.toml and add templates/write.py and"):
        write_family("move-house", world=str(INN), folder=tmp_path, kind=FamilyKind.WRITE)


def test_a_pack_of_ones_own_gives_its_own_templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PACKS, "_packs", dict(PACKS._packs))
    pack = tmp_path / "garden"
    (pack / "templates").mkdir(parents=True)
    manifest = (WORLDS / "human_resources" / "world.toml").read_text().replace("human-resources", "garden")
    (pack / "world.toml").write_text(manifest)
    for file in ("write.py", "proof.py"):
        (pack / "templates" / file).write_text(f"# {file} of my-family\ndef my_family(): ...\n")
    out = tmp_path / "out"
    task_file, test_file = write_family("dig-up", world=str(pack), folder=out, kind=FamilyKind.WRITE)
    assert task_file.read_text() == "# write.py of dig-up\ndef dig_up(): ...\n"
    assert test_file.read_text() == "# proof.py of dig-up\ndef dig_up(): ...\n"
    with pytest.raises(TaskError, match=r"no template of the kind lookup \(it has the kinds write\); add lookup.py to"):
        write_family("dig-up", world=str(pack), folder=tmp_path, kind=FamilyKind.LOOKUP)
    del gym.registry["palaestra/Garden-v0"]


def test_templates_are_no_families_of_the_world() -> None:
    names = {family.name for family in bundled_tasks(open_world("storefront")).families.values()}
    assert not {name for name in names if name.startswith("my-family")}
