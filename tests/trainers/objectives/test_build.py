"""What a recipe is made of, and what is refused before anything is trained."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from palaestra.errors import ConfigError, DefinitionError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import PARTS, Aggregation, ComposedObjective, ObjectiveConfig, part, preset
from palaestra.trainers.objectives.part import Plug
from palaestra.trainers.objectives.recipe import SECTIONS, over
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
        (
            {"whole": "dpo", "masks": ["truncated"], "trust": "sapo"},
            "masks, trust would not be used, for `whole`",
        ),
        ({"refill": 2}, "no filter looks at each group alone"),
        ({"refill": -1, "filters": ["mixed"]}, "refill=-1.*give 0 or more"),
        ({"advantage": "opo"}, "under a mean over each trajectory it is worse than none"),
        ({"filters": ["early"]}, "filter early reads ref_T .* which is filled in only after it was asked"),
        ({"masks": ["valued"]}, "mask valued reads value_T .* and the advantage has no critic"),
        ({"masks": ["nameless"]}, "mask nameless reads colour_T, which nobody fills in"),
        (
            {"regularisers": [{"part": "entropy", "coefficient": 0.1, "aggregation": "tokens"}]},
            "regulariser entropy: aggregation: name: .*it is 'tokens'",
        ),
        ({"rewards": [{"part": "unit", "size": 0}]}, "size=0.*above 0"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(parts: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        ObjectiveConfig(parts=parts)


def test_settings_are_laid_over_a_presets() -> None:
    made = ObjectiveConfig(preset="dapo", parts={"trust": {"low": 0.1}, "filters": [], "refill": 0}).build()
    assert isinstance(made.objective, ComposedObjective)
    assert made.objective.trust == Clip(low=0.1, high=0.28, dual=10.0)
    assert made.filters == ()


def test_another_part_in_its_place_takes_no_settings_over() -> None:
    assert over(preset("dapo").recipe, {"trust": "sapo"})["trust"] == "sapo"
    made = ObjectiveConfig(preset="dapo", parts={"trust": {"part": "sapo", "negative": 2.0}}).build()
    assert isinstance(made.objective, ComposedObjective)
    assert made.objective.trust == Sapo(negative=2.0)


def test_a_table_that_names_its_part_takes_the_place_of_what_is_there() -> None:
    made = ObjectiveConfig(preset="dapo", parts={"trust": {"part": "clip", "high": 0.3}}).build()
    assert isinstance(made.objective, ComposedObjective)
    assert made.objective.trust == Clip(high=0.3)


def test_a_term_is_added_up_as_it_says_by_name_or_by_table() -> None:
    for said in ("token-sum", {"name": "token-sum"}):
        spec = {"part": "entropy", "coefficient": 0.1, "aggregation": said}
        made = ObjectiveConfig(parts={"regularisers": [spec]}).build()
        assert isinstance(made.objective, ComposedObjective)
        assert made.objective.terms[0].aggregation == Aggregation(name="token-sum")


@dataclass(kw_only=True)
class Remembering:
    """What every kind of part may be, and remembers how often it was asked."""

    asked: int = field(init=False, default=0)

    def __call__(self, *given: Any) -> Any:
        self.asked += 1
        batch = given[-1]
        return batch.return_R if isinstance(batch, TokenBatch) else batch.logp_N

    def state(self) -> dict[str, object]:
        return {"asked": self.asked}

    def restore(self, state: dict[str, Any]) -> None:
        self.asked = state["asked"]


SECTION: dict[Plug, str] = {plug: name for name, plug in SECTIONS.items()}


@pytest.mark.parametrize("plug", SECTIONS.values())
def test_what_any_kind_of_part_remembers_is_saved(plug: Plug) -> None:
    if (plug, "remembering") not in PARTS:
        part(plug, "remembering", formula="")(Remembering)
    section = SECTION[plug]
    several = section.endswith("s") and section != "advantages"
    parts = {section: ["remembering"] if several else "remembering"}
    one, other = (ObjectiveConfig(parts=parts).build() for _ in range(2))
    [held] = [made for made in one.made if isinstance(made, Remembering)]
    held.asked = 7
    other.restore(one.state())
    assert [made.asked for made in other.made if isinstance(made, Remembering)] == [7]


def test_what_a_part_reads_may_depend_on_its_settings() -> None:
    specs = ({"part": "choosing", "more": more} for more in (False, True))
    few, many = (ObjectiveConfig(parts={"masks": [spec], "unit": "any"}).build().requires for spec in specs)
    assert few == frozenset()
    assert many == {"entropy_T"}


@part("mask", "choosing", formula="")
@dataclass(frozen=True, slots=True, kw_only=True)
class Choosing:
    """Reads a column or not."""

    more: bool

    @property
    def requires(self) -> frozenset[str]:
        return frozenset({"entropy_T"} if self.more else ())

    def __call__(self, batch: TokenBatch) -> Tensor:
        return batch.trained_T


def kept_R(batch: TokenBatch) -> Tensor:
    """Keeps all."""
    return batch.return_R.isfinite()


part("filter", "early", formula="", requires=("ref_T",))(kept_R)
part("mask", "valued", formula="", requires=("value_T",))(kept_R)
part("mask", "nameless", formula="", requires=("colour_T",))(kept_R)


def test_a_mask_says_what_means_are_over_and_a_recipe_may_say_otherwise() -> None:
    made = ObjectiveConfig(parts={"masks": ["truncated", {"part": "truncated", "denominator": "original"}]}).build()
    assert isinstance(made.objective, ComposedObjective)
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
