"""A comparison begins once, gives each method equally much, goes on where it stopped, and says what it found."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from crash.loops import POLICY, SFT, SYNC, WORLD
from packs import write_pack
from palaestra.benchmarks.learning.evaluation import Evaluation
from palaestra.benchmarks.methods import (
    METHODS,
    MethodResult,
    MethodsConfig,
    compare_methods,
    material_of,
    methods_markdown,
    methods_tables,
)
from palaestra.trainers import CriticConfig, LearnerConfig, WorldConfig, env_id_of
from palaestra.trainers.progress import silent

CONFIG = MethodsConfig(
    world=WORLD,
    model=POLICY.model,
    sft=replace(SFT, steps=60),
    grpo=replace(
        SYNC,
        tokens=400,
        play=replace(SYNC.play, context=500, turn=32),
        critic=CriticConfig(learner=LearnerConfig(lr=1e-3)),
    ),
    samples=1,
    threads=1,
)


def ignored(text: str) -> None:
    del text


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("methods")


@pytest.fixture(scope="module")
def found(directory: Path) -> tuple[Evaluation, Sequence[MethodResult]]:
    return compare_methods(
        material_of(CONFIG, bar=silent), CONFIG, seeds=2, directory=directory, bar=silent, say=ignored
    )


def test_a_world_that_the_settings_name_by_its_pack_is_measured_there(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "credit_ward", id="credit-ward")
    material = material_of(replace(CONFIG, world=WorldConfig(pack=pack)), bar=silent)
    assert env_id_of(material.world) == "palaestra/CreditWard-v0"
    assert {task.partition("/")[0] for task in material.tasks} == {"credit-ward"}


def test_every_method_is_trained_with_every_seed_for_as_many_tokens(
    found: tuple[Evaluation, Sequence[MethodResult]],
) -> None:
    _, runs = found
    assert [(one.method, one.seed) for one in runs] == [(name, seed) for seed in (0, 1) for name in METHODS]
    for one in runs:
        drawn = [row["tokens/drawn"] for row in one.progress.history]
        assert sum(drawn[:-1]) < 400 <= sum(drawn)


def test_all_begin_alike_so_that_their_first_batch_is_the_same(
    found: tuple[Evaluation, Sequence[MethodResult]],
) -> None:
    _, runs = found
    first = {(one.seed, one.progress.history[0]["reward/mean"]) for one in runs}
    assert len(first) == 2


def test_started_again_it_finds_everything_done(
    found: tuple[Evaluation, Sequence[MethodResult]], directory: Path
) -> None:
    said: list[str] = []
    again = compare_methods(
        material_of(CONFIG, bar=silent), CONFIG, seeds=2, directory=directory, bar=silent, say=said.append
    )
    assert again[0] == found[0]
    assert [one.evaluation for one in again[1]] == [one.evaluation for one in found[1]]
    assert len(said) == 2 * (1 + 2 * len(METHODS))


def test_the_tables_have_a_row_for_every_method_beside_the_warm_start(
    found: tuple[Evaluation, Sequence[MethodResult]],
) -> None:
    groups = material_of(CONFIG, bar=silent).heldout
    *scores, cost = methods_tables(*found, groups)
    for table in scores:
        kinds = {row[0] for row in table.rows}
        assert [row[1] for row in table.rows] == ["warm start", *METHODS] * len(kinds)
        assert all("2 training seeds: " in row[3] for row in table.rows if row[1] != "warm start")
    assert [row[0] for row in cost.rows] == list(METHODS)
    assert all(float(row[2].replace(",", "")) >= 400 for row in cost.rows)
    assert methods_markdown(*found, groups).count("### ") == 4


def test_what_is_compared_differs_in_its_objective_alone() -> None:
    recipes = {name: objective.recipe() for name, objective in METHODS.items()}
    assert all(recipe.regularisers == () for recipe in recipes.values())
    assert recipes["seeupo"].schedule.name == "turns"
