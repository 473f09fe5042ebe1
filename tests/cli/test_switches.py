"""Options for the variant of a world: the commands read them, and `train` prints them."""

from collections.abc import Mapping
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from palaestra.cli.switches import (
    HandbookOption,
    NoiseOption,
    SurfaceOption,
    SurfaceSettingOption,
    TemperOption,
    WordingOption,
    options_of,
    switches,
)


def read(options: list[str]) -> Mapping[str, Any]:
    """The arguments of `gymnasium.make` that a command reads from its options."""
    app, read = typer.Typer(), list[Mapping[str, Any]]()

    @app.command()
    def command(  # pyright: ignore[reportUnusedFunction]  typer calls it
        surface: SurfaceOption = None,
        surface_setting: SurfaceSettingOption = None,
        handbook: HandbookOption = 0,
        noise: NoiseOption = None,
        wording: WordingOption = None,
        temper: TemperOption = None,
    ) -> None:
        read.append(switches(surface, handbook, noise, wording, temper, surface_setting))

    told = CliRunner().invoke(app, options)
    assert told.exit_code == 0, told.output
    return read[0]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"surface": "generic"},
        {"surface": "pages", "surface_settings": {"dialect": "browsergym", "depth": 3, "looks": True, "area": [4, 3]}},
        {"handbook": 1_000_000, "wording": "casual", "temper": "heated"},
        {"noise": {"failures": 10, "renames": True}},
    ],
)
def test_options_are_read_as_the_switches_they_were_made_from(given: Mapping[str, Any]) -> None:
    assert read(options_of(given)) == given


def test_what_no_option_gives_is_left_out() -> None:
    assert options_of({"tasks": ["a.json"], "noise": {"renames": False}, "handbook": 0, "surface": None}) == []
