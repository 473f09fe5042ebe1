"""Kept settings agree with equal ones, also after a version that added fields; they disagree with all others."""

from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass, replace
from typing import Any

import orjson
import pytest

from palaestra.benchmarks.ablations import AblationConfig
from palaestra.benchmarks.cell_settings import agree_with_kept, keep_settings
from palaestra.trainers import WeightNoiseConfig


@dataclass(frozen=True)
class Part:
    rate: float = 0.1
    names: tuple[str, ...] = ("a", "b")


@dataclass(frozen=True)
class Whole:
    steps: int
    part: Part | None = None
    parts: Mapping[str, Part] = field(default_factory=lambda: {"first": Part()})


WHOLE = Whole(steps=3, part=Part(rate=0.2))


def test_settings_agree_with_what_was_kept_of_them() -> None:
    for settings in (WHOLE, Whole(steps=0), AblationConfig()):
        assert agree_with_kept(settings, orjson.loads(orjson.dumps(keep_settings(settings))))


@pytest.mark.parametrize(
    "other",
    [
        replace(WHOLE, steps=4),
        replace(WHOLE, part=None),
        replace(WHOLE, part=Part(rate=0.2, names=("a",))),
        replace(WHOLE, part=Part(rate=0.2, names=("b", "a"))),
        replace(WHOLE, parts={}),
        replace(WHOLE, parts={"second": Part()}),
        replace(WHOLE, parts={"first": Part(), "second": Part()}),
        replace(WHOLE, parts={"first": Part(rate=1.0)}),
    ],
)
def test_other_settings_disagree_either_way(other: Whole) -> None:
    assert not agree_with_kept(other, keep_settings(WHOLE))
    assert not agree_with_kept(WHOLE, keep_settings(other))


def _extended(added: Any) -> Any:
    return make_dataclass(
        "Extended", [("noise", Any, field(default_factory=lambda: Part(rate=0.0)))], bases=(Part,), frozen=True
    )(noise=added)


def test_a_field_that_was_added_agrees_where_it_has_its_default() -> None:
    kept = keep_settings(Part())
    assert agree_with_kept(_extended(Part(rate=0.0)), kept)
    assert not agree_with_kept(_extended(Part()), kept)
    assert not agree_with_kept(Part(), keep_settings(_extended(Part(rate=0.0))))  # a field that was removed


def test_a_field_without_default_was_never_what_is_kept() -> None:
    assert not agree_with_kept(WHOLE, {name: value for name, value in keep_settings(WHOLE).items() if name != "steps"})


def test_a_real_setting_that_is_new_agrees_until_it_is_used() -> None:
    config = AblationConfig()
    kept = orjson.loads(orjson.dumps(keep_settings(config)))
    del kept["grpo"]["weight_noise"]
    assert agree_with_kept(config, kept)
    noisy = replace(config, grpo=replace(config.grpo, weight_noise=WeightNoiseConfig()))
    assert not agree_with_kept(noisy, kept)
