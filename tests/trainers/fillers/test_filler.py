"""Fillers are registered once, and what they give is held to what they declared. Axes: T tokens, U turns."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from palaestra.errors import ConfigError, DefinitionError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.fillers import FILLERS, FillerInput, choose_fillers, column, fillers_of
from palaestra.trainers.fillers.inputs import Need
from palaestra.trainers.objectives import COLUMNS, PARTS, BuiltObjective, ObjectiveConfig, Surrogate, part
from rollouts.library import codec
from rollouts.playing import played

EPISODES = tuple(replace(played("compact", place), group="g") for place in (0, 1))
GIVEN = FillerInput(batch=flatten(EPISODES), episodes=EPISODES, seed=0, codec=codec("compact"))
TOKENS, TURNS = len(GIVEN.batch.ids_T), len(GIVEN.batch.reward_U)


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    """What a test registers is gone after it."""
    registered: tuple[dict[Any, Any], ...] = (COLUMNS, FILLERS, PARTS)
    before: list[dict[Any, Any]] = [dict(table) for table in registered]
    yield
    for table, kept in zip(registered, before, strict=True):
        table.clear()
        table.update(kept)


def reading(*columns: str) -> BuiltObjective:
    """An objective whose trust region reads columns."""

    def region(surrogate: Surrogate) -> Tensor:
        return -surrogate.advantage_N * surrogate.logp_N

    part("trust", "reading", formula="", requires=columns)(region)
    return ObjectiveConfig(parts={"trust": "reading"}).build()


def filled(name: str, values: object, **declared: Any) -> dict[str, Tensor]:
    """What a filler that gives `values` fills in."""

    def give(given: FillerInput) -> object:
        return values

    column(name, filler="mine", meaning="of a test", **declared)(give)
    (chosen,) = choose_fillers(reading(name), {name: "mine"})
    return chosen(GIVEN)


@pytest.mark.parametrize(
    ("name", "values", "declared", "told"),
    [
        ("mine_U", [0.0], {}, "filler 'mine' of mine_U: it gave list; a filler gives a tensor"),
        ("mine_U", torch.zeros(TURNS + 1), {}, rf"it gave the shape \[{TURNS + 1}\]; it is to be \[U={TURNS}\]"),
        ("mine_UF", torch.zeros(TURNS), {}, rf"it gave the shape \[{TURNS}\]; it is to be \[U={TURNS}, F\]"),
        ("mine_T", torch.zeros(TURNS), {}, rf"it is to be \[T={TOKENS}\]"),
        ("mine_R", torch.zeros(3), {}, r"it is to be \[R=2\]"),
        ("mine_R", torch.zeros(2, dtype=torch.long), {}, "it gave torch.int64; its kind is 'float'.*torch.float32 or"),
        ("mine_R", torch.zeros(2), {"kind": "integer"}, "it gave torch.float32; its kind is 'integer'.*give torch.int"),
        ("mine_R", torch.tensor([0.0, torch.nan]), {}, r"at \(1,\) it gave nan; numbers are finite"),
        ("mine_RF", torch.tensor([[0.0, 1.0], [torch.inf, 0.0]]), {}, r"at \(1, 0\) it gave inf"),
        ("mine_R", {"other_R": torch.zeros(2)}, {}, "of mine_R: it gave NoneType"),
    ],
)
def test_what_is_no_column_of_the_batch_is_refused(
    name: str, values: object, declared: Mapping[str, Any], told: str
) -> None:
    with pytest.raises(DefinitionError, match=told):
        filled(name, values, **declared)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("mine_T", torch.arange(TOKENS) % 2 == 0, "boolean"),
        ("mine_U", torch.arange(TURNS), "integer"),
        ("mine_RF", torch.ones(2, 5, dtype=torch.float64), "float"),
        ("mine_RF", torch.ones(2, 0), "float"),
    ],
)
def test_a_column_is_what_the_filler_gave(name: str, values: Tensor, kind: str) -> None:
    found = filled(name, values, kind=kind)
    assert found.keys() == {name}
    assert found[name].dtype == values.dtype
    assert torch.equal(found[name], values)
    assert torch.equal(GIVEN.batch.with_columns(found).select([1]).column(name), values[rows_of(name)])


def rows_of(name: str) -> Tensor:
    """The rows of a column that are the second trajectory's."""
    batch = GIVEN.batch
    owner = {"T": batch.trajectory_T, "U": batch.trajectory_U, "R": torch.arange(2)}[name.rpartition("_")[2][0]]
    return owner == 1


def nothing(given: FillerInput) -> Tensor:
    """Nothing."""
    return given.batch.return_R


@pytest.mark.parametrize(
    ("names", "declared", "told"),
    [
        ((), {}, "it fills in no column; name one at least"),
        (("surprise",), {"meaning": "x"}, "column 'surprise': a name is small letters and its axes"),
        (("surprise_X",), {"meaning": "x"}, "the first of which is T .tokens., U .turns. or R"),
        (("surprise_U",), {}, "column 'surprise_U' is new, and nothing says what it is"),
        (("old_T",), {"meaning": "x"}, "column 'old_T' is filled in by 'policy' already"),
        (("surprise_U",), {"meaning": "x", "needs": ("judge",)}, "it needs 'judge'; there are: policy, demonstrations"),
        (("surprise_U",), {"meaning": "x", "needs": ("policy",), "repeatable": False}, "it needs the policy, whose"),
        (("label_U",), {"filler": "rewards"}, "filler 'rewards' of label_U is registered by palaestra.trainers"),
    ],
)
def test_a_filler_that_breaks_a_rule_is_not_registered(
    names: tuple[str, ...], declared: dict[str, Any], told: str
) -> None:
    before = dict(FILLERS), dict(COLUMNS)
    settings: dict[str, Any] = {"filler": "mine", **declared}
    with pytest.raises(DefinitionError, match=told):
        column(*names, **settings)(nothing)
    assert before == (FILLERS, COLUMNS)


def test_the_same_filler_may_be_registered_again_and_several_may_fill_in_one_column() -> None:
    for _ in range(2):
        column("label_U", filler="mine")(nothing)
    assert [filler.name for filler in fillers_of("label_U")] == ["judge", "mine", "rewards"]


@pytest.mark.parametrize("need", ["policy", "demonstrations", "greedy"])
def test_what_a_filler_did_not_declare_to_need_is_not_there(need: Need) -> None:
    with pytest.raises(
        DefinitionError, match=rf"a filler reads '{need}' and did not declare it; .*needs=\('{need}',\)"
    ):
        GIVEN.comparisons("greedy") if need == "greedy" else getattr(GIVEN, need)


# What a run's settings choose


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        (
            {},
            r'it reads label_U .*no filler is chosen for it; add \[grpo.columns\] label_U = "judge".*\'rewards\': 1 wh',
        ),
        ({"label_U": "rewrads"}, "columns.label_U: unknown filler 'rewrads'; did you mean 'rewards'"),
        ({"label_U": {"threshold": 1}}, "give the name of a filler, or a table with 'filler'"),
        ({"label_U": {"filler": "rewards", "treshold": 1}}, "unknown setting 'treshold'; did you mean 'threshold'"),
        ({"label_U": {"filler": "rewards", "threshold": "high"}}, "threshold|valid number.*it is 'high'"),
        ({"label_U": "judge"}, "filler 'judge': model has no default; say it"),
        ({"label_U": {"filler": "judge", "model": {"name": "gpt"}}}, "model.name='gpt': give base_url"),
        ({"label_U": {"filler": "judge", "model": {"name": "a:b", "options": {"n": 1}}}}, "they are of a server"),
        ({"label_U": {"filler": "judge", "model": {"name": "a:b"}, "tries": 0}}, "tries=0: it is at least 1"),
        ({"label_U": "rewards", "gold_U": "reference-solution"}, "columns.gold_U: no part of the objective reads it"),
        ({"label_U": "rewards", "old_T": "rewards"}, "columns.old_T: 'policy' fills it in; leave it out"),
        ({"lable_U": "rewards"}, "unknown column 'lable_U'; did you mean 'label_U'"),
        ({"label_U": "no_such_module:judge"}, "columns.label_U: 'no_such_module:judge' cannot be loaded"),
        ({"label_U": "palaestra.trainers.fillers:answer_calls"}, r"is no filler of it; .*@column\('label_U', filler="),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused_with_the_way_out(chosen: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        choose_fillers(ObjectiveConfig(preset="adca").build(), chosen)


def test_a_column_that_nobody_fills_in_says_how_to_write_its_filler() -> None:
    with pytest.raises(ConfigError, match=r"it has no filler; write one with @column\('attention_T', filler="):
        choose_fillers(reading("attention_T"), {})


def test_one_filler_fills_in_all_of_its_columns_at_once() -> None:
    built = ObjectiveConfig(preset="mig").build()
    (chosen,) = choose_fillers(built, {"gold_U": {"filler": "reference-solution", "answer": "last"}})
    assert sorted(chosen.columns) == ["gold_R", "gold_U"]


def test_a_runs_choice_goes_before_the_presets() -> None:
    column("greedy_R", filler="mine")(nothing)
    config = ObjectiveConfig(preset="remax")
    for chosen, name in (({}, "greedy"), ({"greedy_R": "mine"}, "mine")):
        (found,) = choose_fillers(config.build(), chosen, defaults=config.columns())
        assert found.filler.name == name


def keep(batch: TokenBatch) -> Tensor:
    """Keeps all."""
    return batch.return_R.isfinite()


def test_filters_read_no_column_that_is_filled_in_after_them() -> None:
    part("filter", "fillers-late", formula="", requires=("gold_R",))(keep)
    built = ObjectiveConfig(parts={"filters": ["fillers-late"]}).build()
    with pytest.raises(
        ConfigError, match="filter fillers-late reads gold_R, which 'reference-solution' fills in after filters"
    ):
        choose_fillers(built, {"gold_R": "reference-solution"})
    part("filter", "fillers-early", formula="", requires=("process_R",), each_group=True)(keep)
    with pytest.raises(ConfigError, match=r"filter fillers-early reads process_R .*looks at each group before"):
        ObjectiveConfig(parts={"filters": ["fillers-early"]})


OWN = '''
from dataclasses import dataclass

from palaestra.trainers.fillers import FillerInput, column


@column("label_U", filler="early")
@dataclass(frozen=True, slots=True, kw_only=True)
class Early:
    """1 in the first turns."""

    turns: int = 1

    def __call__(self, given: FillerInput):
        first = [n < self.turns for e in given.episodes for n, _ in enumerate(e.turns)]
        return given.batch.reward_U.new_tensor(first)


def bare(given):
    return given.batch.reward_U
'''


def test_a_filler_is_chosen_by_the_place_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    built = ObjectiveConfig(preset="adca").build()
    (chosen,) = choose_fillers(built, {"label_U": {"filler": f"{file}:Early", "turns": 2}})
    counts = [len(list(episode.turns)) for episode in EPISODES]
    assert chosen(GIVEN)["label_U"].tolist() == [float(n < 2) for count in counts for n in range(count)]
    for name in ("bare", "absent"):
        with pytest.raises(ConfigError, match=f"mine.py:{name}' is no filler of it"):
            choose_fillers(built, {"label_U": f"{file}:{name}"})


def test_the_settings_of_a_filler_decide_what_a_run_comes_to() -> None:
    built = ObjectiveConfig(preset="adca").build()
    (one,), (other,) = (
        choose_fillers(built, {"label_U": {"filler": "rewards", "threshold": threshold}}) for threshold in (0, 1)
    )
    assert one.describe() != other.describe()
