"""The constants of presets against those of their sources."""

import pytest

from palaestra.trainers.objectives import ObjectiveConfig, constants, preset, presets
from published import OF_PARTS, OF_PRESETS, published

STATED = presets()


@pytest.mark.parametrize("name", STATED)
def test_every_constant_of_a_preset_is_what_its_source_has(name: str) -> None:
    said, found = preset(name), constants(ObjectiveConfig(preset=name).build())
    expected = {constant: published(name, constant) for constant in found}
    assert found == {constant: value for constant, (value, _) in expected.items()}
    assert said.constants == {constant: source for constant, (_, source) in expected.items()}


def test_every_published_constant_is_some_presets() -> None:
    used = {name: set(constants(ObjectiveConfig(preset=name).build())) for name in STATED}
    assert OF_PRESETS.keys() <= set(STATED)
    for name, table in OF_PRESETS.items():
        assert table.keys() <= used[name], name
    assert OF_PARTS.keys() <= set().union(*used.values())


def test_a_source_names_a_paper_or_code_or_says_that_a_value_is_ours() -> None:
    for name in STATED:
        for constant, source in preset(name).constants.items():
            assert source.startswith(("arXiv:", "github.com/", "Ours", "rewards of 0 and 1")), (name, constant)
