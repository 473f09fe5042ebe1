"""Every kind of noise leaves every task solvable, and every reward accountable from the log."""

from collections.abc import Mapping
from typing import Any

import pytest

from worlds.noisy import ALL, SWITCHES, play, scored_again, storefront

EVERY = [*(pytest.param(noise, id=name) for name, noise in SWITCHES.items()), pytest.param(ALL, id="all")]


def solved_and_accounted_for(noise: Mapping[str, Any], split: str, step: int) -> None:
    env = storefront(noise, split=split)
    for seed, task in enumerate(env.task_set.ids(split)[::step]):
        played = play(env, task, seed)
        assert played.score.passed, f"{task}: {played.score.verdicts}"
        assert tuple(scored_again(env, played)) == played.points, task


@pytest.mark.parametrize("noise", EVERY)
def test_a_patient_oracle_solves_every_task_of_dev_and_its_log_gives_the_same_score(noise: Mapping[str, Any]) -> None:
    solved_and_accounted_for(noise, "dev", 1)


def test_a_patient_oracle_solves_a_sample_of_train_under_all_noise_at_once() -> None:
    solved_and_accounted_for(ALL, "train", 41)


def test_a_changed_handbook_composes_with_all_noise_at_once() -> None:
    env = storefront(ALL, split="heldout-policy")
    for seed, task in enumerate(env.task_set.ids("heldout-policy")[::29]):
        played = play(env, task, seed)
        assert played.score.passed, f"{task}: {played.score.verdicts}"
        assert tuple(scored_again(env, played)) == played.points, task


def test_the_oracle_of_another_surface_solves_under_noise_too() -> None:
    env = storefront(ALL, split="heldout-surface")
    for seed, task in enumerate(env.task_set.ids("heldout-surface")[::23]):
        played = play(env, task, seed)
        assert played.score.passed, f"{task}: {played.score.verdicts}"
        assert tuple(scored_again(env, played)) == played.points, task
