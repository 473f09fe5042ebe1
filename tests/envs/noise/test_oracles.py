"""Every kind of noise leaves every task solvable, and every reward accountable from the log."""

from collections.abc import Mapping
from typing import Any

import pytest

from property.budget import NOISE_STEP
from worlds.noisy import ALL, SWITCHES, play, scored_again, storefront

pytestmark = pytest.mark.unmeasured


def solved_and_accounted_for(noise: Mapping[str, Any], split: str, step: int, *, first: int = 0) -> None:
    env = storefront(noise, split=split)
    for seed, task in enumerate(env.task_set.ids(split)[first::step]):
        played = play(env, task, seed)
        assert played.score.passed, f"{task}: {played.score.verdicts}"
        assert tuple(scored_again(env, played)) == played.points, task


@pytest.mark.parametrize("number", range(len(SWITCHES)), ids=list(SWITCHES))
def test_a_patient_oracle_solves_tasks_of_dev_under_each_switch_and_its_log_gives_the_same_score(number: int) -> None:
    noise = list(SWITCHES.values())[number]
    solved_and_accounted_for(noise, "dev", NOISE_STEP, first=number % NOISE_STEP)


def test_a_patient_oracle_solves_every_task_of_dev_under_all_noise_and_its_log_gives_the_same_score() -> None:
    solved_and_accounted_for(ALL, "dev", 1)


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
