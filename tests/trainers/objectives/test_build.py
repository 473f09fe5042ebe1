"""What a recipe is made of, and what is refused before anything is trained."""

from pathlib import Path

import pytest

from palaestra.errors import ConfigError, DefinitionError
from palaestra.trainers.objectives import PARTS, Composed, ObjectiveConfig, part, preset
from palaestra.trainers.objectives.recipe import over
from palaestra.trainers.objectives.trust import Clip, Sapo, Surrogate


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"regularisers": ["entropy"]}, r"regulariser entropy: coefficient has no default; say it"),
        ({"trust": "clipp"}, "unknown trust 'clipp'; did you mean"),
        ({"trust": {"part": "clip", "hgih": 1.0}}, "trust clip: unknown setting 'hgih'; did you mean 'high'"),
        ({"trust": {"high": "far"}}, r"trust clip: Input should be a valid number.*it is 'far'"),
        ({"trust": {"low": -0.1}}, "distances from 1 are not negative"),
        ({"advantage": {"part": "rloo", "scale": "none"}}, "advantage rloo: unknown setting 'scale'; there are: none"),
        ({"ratio": {"anchor": "new"}}, "ratio.anchor"),
        ({"masks": [{"part": "entropy-top", "denominator": "some"}]}, "denominator"),
        ({"ratio": {"granularity": "product"}}, "any clip's bounds at once"),
        ({"schedule": {"name": "turns"}}, "bounded by the ratio of a whole turn"),
        ({"whole": "dpo", "masks": ["truncated"]}, "it replaces ratio, trust region, corrections and masks"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(parts: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        ObjectiveConfig(parts=parts)


def test_settings_are_laid_over_a_presets() -> None:
    made = ObjectiveConfig(preset="dapo", parts={"trust": {"low": 0.1}, "filters": []}).built()
    assert isinstance(made.objective, Composed)
    assert made.objective.trust == Clip(low=0.1, high=0.28, dual=10.0)
    assert made.filters == ()


def test_another_part_in_its_place_takes_no_settings_over() -> None:
    assert over(preset("dapo").recipe, {"trust": "sapo"})["trust"] == "sapo"
    made = ObjectiveConfig(preset="dapo", parts={"trust": {"part": "sapo", "negative": 2.0}}).built()
    assert isinstance(made.objective, Composed)
    assert made.objective.trust == Sapo(negative=2.0)


def test_a_mask_says_what_means_are_over_and_a_recipe_may_say_otherwise() -> None:
    made = ObjectiveConfig(parts={"masks": ["truncated", {"part": "truncated", "denominator": "original"}]}).built()
    assert isinstance(made.objective, Composed)
    assert [masking.denominator for masking in made.objective.masks] == ["survivors", "original"]


def test_a_name_is_registered_once() -> None:
    with pytest.raises(DefinitionError, match="'clip' is registered by palaestra"):

        @part("trust", "clip", formula="C = 0")
        def clip(surrogate: Surrogate) -> object:
            return surrogate

    assert PARTS["trust", "clip"].make is Clip


def test_there_is_no_other_place_to_plug_a_part_in() -> None:
    with pytest.raises(DefinitionError, match="there is no plug 'loss'"):
        part("loss", "mine", formula="")  # type: ignore[arg-type]


def test_a_file_that_fails_leaves_nothing_half_imported(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_thing_at_all\n")
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"broken\.py cannot be imported \(No module named 'no_such"):
            ObjectiveConfig(imports=(str(broken),))
    with pytest.raises(ConfigError, match=r"nowhere\.py cannot be imported"):
        ObjectiveConfig(imports=(str(tmp_path / "nowhere.py"),))
