"""Styles of generated worlds: what is held out never occurs in training, and half of the held-out worlds have it."""

import pytest

from palaestra.envs.blueprints.tool_style import style_options
from palaestra.envs.synthesis.generator import WorldPlan, draw_plan
from palaestra.envs.synthesis.style_draw import HELDOUT_OPTIONS, draw_style, has_heldout_option
from palaestra.errors import BlueprintError
from palaestra.seeding import Stream

SEEDS = range(300)


def _plans() -> list[WorldPlan]:
    """The plans of the first numbers whose splits have domains."""
    found: list[WorldPlan] = []
    for number in range(400):
        try:
            found.append(draw_plan(number))
        except BlueprintError:
            assert number % 10 >= 7, "training worlds can always be made"
    return found


def test_held_out_options_are_options_and_leave_some_for_training() -> None:
    options = style_options()
    for part, held in HELDOUT_OPTIONS.items():
        assert held < set(options[part])
        assert options[part][0] not in held


def test_no_training_or_development_world_has_a_held_out_option() -> None:
    known = [plan for plan in _plans() if plan.split in {"train", "dev"}]
    assert known
    assert not any(has_heldout_option(plan.style) for plan in known)


def test_a_trained_style_has_no_held_out_option_and_a_held_out_one_has_several() -> None:
    for seed in SEEDS:
        known = draw_style(Stream.root("test", seed), heldout=False)
        new = draw_style(Stream.root("test", seed), heldout=True)
        assert not has_heldout_option(known)
        assert sum(getattr(new, part) in held for part, held in HELDOUT_OPTIONS.items()) >= 3


@pytest.mark.parametrize("heldout", [False, True])
def test_every_option_is_drawn(heldout: bool) -> None:
    drawn = [draw_style(Stream.root("test", seed), heldout=heldout) for seed in SEEDS]
    for part, options in style_options().items():
        wanted = set(options) if heldout else set(options) - HELDOUT_OPTIONS.get(part, frozenset())
        assert {getattr(style, part) for style in drawn} == wanted


def test_equal_numbers_have_equal_styles() -> None:
    assert draw_style(Stream.root("test", 1), heldout=True) == draw_style(Stream.root("test", 1), heldout=True)
    assert draw_plan(3).style == draw_plan(3).style
