"""What the command tells of objectives: all of them, one of them, and one's own."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from palaestra.cli.app import app
from palaestra.cli.objectives import describe_unit, list_constants
from palaestra.errors import ConfigError, UnknownNameError
from palaestra.trainers.objectives import PARTS, ObjectiveConfig, presets

OWN = '''
from palaestra.trainers.objectives import Surrogate, part


@part("trust", "cli-own", formula="C = 2", sources=("arXiv:0000.00000",))
def own(surrogate: Surrogate) -> object:
    """Twice as much."""
    return -2 * surrogate.advantage_N * surrogate.logp_N
'''


def said(*words: str) -> str:
    result = CliRunner().invoke(app, ["objectives", *words], env={"COLUMNS": "400"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_every_preset_and_every_part_is_listed() -> None:
    whole, parts = said("list"), said("list", "--parts")
    assert all(f" {name} " in whole for name in presets())
    assert all(f" {name} " in parts for _, name in PARTS)


def test_a_preset_shows_its_parts_their_settings_and_what_it_reads() -> None:
    shown = said("show", "hiper")
    for told in ("arXiv:2602.16165", "keep=-0.3", "values_UH", "critic", "planner", "C = r"):
        assert told in shown


def test_a_preset_shows_its_unit_and_where_its_constants_are_from() -> None:
    shown = said("show", "hiper")
    for told in ("return 10: rewards are converted", "hiper.keep", "-0.3", "run_alfworld_dev_h100.sh: keep_penalty"):
        assert told in shown
    assert "any: the scale of rewards changes nothing" in said("show", "grpo")


def test_the_constants_of_every_preset_are_listed() -> None:
    listed = said("list", "--constants")
    assert all(f" {name} " in listed for name in presets())
    with pytest.raises(ConfigError, match="give one of them"):
        said("list", "--constants", "--parts")


def test_the_page_of_constants_is_what_the_command_lists() -> None:
    page = (Path(__file__).parents[2] / "docs" / "objectives-presets.md").read_text(encoding="utf-8")
    assert page.endswith(f"\n\n{list_constants().markdown()}\n")


@pytest.mark.parametrize(
    ("name", "total", "expected"),
    [
        ("oapl", 100, "returns of 100 are divided by 100"),
        ("hiper", 100, "returns of 100 are divided by 10"),
        ("oapl", 1, "returns of 1 are left as they are"),
        ("oapl", 0, "converted so that a solved task returns 1, once an episode says"),
        ("grpo", 100, "any: the scale of rewards changes nothing"),
    ],
)
def test_what_becomes_of_returns_is_described_with_what_the_world_pays(name: str, total: float, expected: str) -> None:
    assert describe_unit(ObjectiveConfig(preset=name).build(), total).startswith(expected)


def test_a_part_shows_its_formula_its_settings_and_what_it_does_not_go_with() -> None:
    shown = said("show", "token-tis")
    for told in ("ratio.anchor=rollout", "count it twice", "old_T", "cap", "2.0"):
        assert told in shown
    assert "to be said" in said("show", "opsm")


def test_a_preset_that_fills_gaps_says_how_many() -> None:
    assert re.search(r"\brefill +9 ", said("show", "dapo"))
    assert "refill" not in said("show", "grpo")


def test_a_pipeline_is_explained_stage_by_stage_in_the_order_of_a_step() -> None:
    shown = said("show", "recipe_2026")
    stages = ("mixed", "laconic", "gigpo", "checklist-stream", "maspo", "sequence-tis", "s2t", "ess")
    explained = shown.partition("What each part does")[2]
    assert [*stages] == sorted(stages, key=explained.index)
    for alternative in ("hiper in its place", "DAPO's clip-higher"):
        assert alternative in shown


def test_a_mask_says_what_means_are_over() -> None:
    assert "survivors" in said("show", "s2t")


def test_a_part_of_ones_own_is_listed_and_shown(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    assert "cli-own" in said("list", "--parts", "--import", str(file))
    assert "Twice as much." in said("show", "cli-own", "--import", str(file))


def test_an_unknown_name_is_told_with_near_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"'gpso'; did you mean .*'gspo'"):
        said("show", "gpso")


def test_modules_that_nothing_would_be_listed_from_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"--import .*add --parts"):
        said("list", "--import", "losses.py")
