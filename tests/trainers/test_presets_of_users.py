"""Presets of users' files are read by their path, or as a file of a package; mistakes are told with the way out."""

from pathlib import Path

import pytest

from palaestra.errors import ConfigError, UnknownNameError
from palaestra.trainers.objectives import ObjectiveConfig, read_recipe
from palaestra.trainers.presets import is_preset_file, preset, presets

SIMPLE = 'trust = "sapo"\n[columns]\nlabel_U = "rewards"\n'


def write(folder: Path, text: str) -> str:
    (folder / "mine.toml").write_text(text)
    return str(folder / "mine.toml")


def test_a_file_says_what_a_published_preset_says_and_may_leave_out_who_says_so(tmp_path: Path) -> None:
    found = preset(write(tmp_path, SIMPLE))
    assert (found.name, found.summary, found.sources, found.confidence) == ("mine", "", (), "derived")
    assert found.recipe == {"trust": "sapo"}
    assert found.columns == {"label_U": "rewards"}
    assert found.text == SIMPLE


def test_the_file_of_a_package_is_the_published_preset(tmp_path: Path) -> None:
    place = "palaestra.trainers:objectives/presets/dapo.toml"
    assert is_preset_file(place)
    assert preset(place).recipe == preset("dapo").recipe
    assert ObjectiveConfig(preset=place).recipe() == ObjectiveConfig(preset="dapo").recipe()


def test_settings_are_laid_over_a_users_preset(tmp_path: Path) -> None:
    config = ObjectiveConfig(preset=write(tmp_path, SIMPLE), parts={"trust": "clip"})
    assert config.recipe() == read_recipe({"trust": "clip"})
    assert config.sources() == [SIMPLE]


def test_what_a_file_imports_stands_beside_it(tmp_path: Path) -> None:
    name = write(tmp_path, 'imports = ["parts.py", "json"]\n')
    assert preset(name).imports == (str(tmp_path / "parts.py"), "json")
    with pytest.raises(ConfigError, match=r"parts\.py cannot be imported"):
        ObjectiveConfig(preset=name)
    (tmp_path / "parts.py").write_text("VALUE = 1\n")
    assert ObjectiveConfig(preset=name).sources() == ['imports = ["parts.py", "json"]\n', "VALUE = 1\n"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("trust = ", "mine.toml is no TOML"),
        ("summary = 3", "summary is 3; it is to be text"),
        ('imports = "parts.py"', "imports is 'parts.py'; it is to be a list of texts"),
        ('columns = "judge"', "columns is 'judge'; it is to be a table"),
        ('trsut = "clip"', "objective: recipe.trsut"),
        ('trust = "clipp"', "unknown trust 'clipp'; did you mean"),
    ],
)
def test_a_file_that_breaks_a_rule_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        ObjectiveConfig(preset=write(tmp_path, text))


@pytest.mark.parametrize("name", ["./nowhere.toml", "palaestra.trainers:nowhere.toml", "no_such_package:mine.toml"])
def test_a_file_that_is_not_there_is_told(name: str) -> None:
    with pytest.raises(ConfigError, match=r"the file cannot be read .*give its path, or module:file"):
        preset(name)


def test_other_names_are_those_of_published_presets() -> None:
    assert not any(map(is_preset_file, presets()))
    with pytest.raises(UnknownNameError, match=r"unknown preset 'dapoo'; did you mean 'dapo'.*ends in \.toml"):
        preset("dapoo")
