"""A world of 150 lines on the kit is sound and proved: what the kit gives a world besides Storefront."""

from pathlib import Path

import gymnasium as gym
import pytest

import palaestra
from palaestra.envs import ToolEnv, check_world
from palaestra.proof import prove

INN = Path(__file__).parents[2] / "worlds" / "inn.py"


@pytest.fixture(scope="module")
def env() -> ToolEnv:
    made = gym.make(palaestra.register_world(INN)).unwrapped
    assert isinstance(made, ToolEnv)
    return made


def test_it_is_small() -> None:
    assert len(INN.read_text().splitlines()) <= 150


def test_it_is_sound(env: ToolEnv) -> None:
    report = check_world(env.world)
    report.raise_for_findings()
    assert (report.families, report.rules, report.handbooks) == (4, 2, (0, 1, 1_000_000, 2_000_000))


@pytest.mark.parametrize("split", ["dev", "heldout", "heldout-policy"])
def test_its_tasks_are_proved(env: ToolEnv, split: str) -> None:
    proof = prove(env, list(env.task_set.candidates(split)))
    assert proof.verdict.proved, proof.faults
