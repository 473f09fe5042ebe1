"""Generated worlds: equal numbers give equal bytes, splits keep what is held out apart, every draft is whole."""

import os
import re
import subprocess
import sys
from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs.blueprints import check_blueprint, dump_blueprint, read_blueprint
from palaestra.envs.synthesis import domains, draw_plan, generate_blueprint, listed_worlds, mechanisms
from palaestra.envs.synthesis.generator import DEV_DOMAINS, HELDOUT_DOMAINS, HELDOUT_MECHANISMS
from palaestra.envs.synthesis.worlds import numbered_world
from palaestra.envs.target import find_world
from palaestra.errors import CapabilityError
from palaestra.proof.idle_parts import idle_tools

NUMBERS = range(60)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_generated_blueprint_has_no_problem_and_is_its_own_document(number: int) -> None:
    blueprint = generate_blueprint(number)
    assert check_blueprint(blueprint) == []
    assert read_blueprint(dump_blueprint(blueprint))[0] == blueprint


@pytest.mark.parametrize("number", NUMBERS)
def test_what_is_held_out_stays_out_of_training(number: int) -> None:
    plan = draw_plan(number)
    new = HELDOUT_MECHANISMS.intersection(plan.mechanisms)
    assert bool(new) is (plan.split == "heldout-mechanism")
    assert (plan.domain in HELDOUT_DOMAINS) is (plan.split == "heldout-domain")
    assert (plan.domain in DEV_DOMAINS) is (plan.split == "dev")


@pytest.mark.parametrize("number", [6, 7, 8, 19, 88, 101])
def test_a_generated_world_has_no_tool_that_no_solution_uses(number: int) -> None:
    env: Any = gym.make("palaestra/Synth-v0", world=number, unlisted=True).unwrapped
    assert list(idle_tools(env)) == []


def test_half_of_the_worlds_and_more_have_a_request_of_level_one() -> None:
    levels = [{spec.level for spec in generate_blueprint(number).requests.values()} for number in NUMBERS]
    assert sum(1 in found for found in levels) > len(NUMBERS) / 2
    assert sum(3 in found for found in levels) > len(NUMBERS) / 2


def test_every_world_has_a_rule_by_which_one_mechanism_closes_requests_of_others() -> None:
    for number in NUMBERS:
        chosen = draw_plan(number).mechanisms
        requests = generate_blueprint(number).requests
        own = {name: _sections_of_requests(name) for name in chosen}
        cited = {name: {one.section for one in spec.refusals} for name, spec in requests.items()}
        mechanism = {name: next(one for one in chosen if f"  {name}:\n" in mechanisms()[one].text) for name in requests}
        assert any(cited[name] - own[mechanism[name]] for name in requests), number


def _sections_of_requests(mechanism: str) -> set[str]:
    """The sections that a mechanism's own requests cite."""
    requests, _, _ = mechanisms()[mechanism].text.partition("\nblocks:")
    return set(re.findall(r"section: (\S+)", requests))


def test_offices_open_on_weekdays_and_trades_that_work_at_weekends_on_all_days() -> None:
    days: dict[bool, set[int]] = {True: set(), False: set()}
    for number in NUMBERS[:20]:
        start = numbered_world(number).start
        days[domains()[draw_plan(number).domain].weekends] |= {start(seed).weekday() for seed in range(40)}
    assert days == {True: set(range(7)), False: set(range(5))}


_PRINT = """
from palaestra.envs.synthesis import generate_blueprint
from palaestra.envs.synthesis.worlds import numbered_world
from palaestra.envs.taskset import bundled_tasks
for number in (0, 7, 8, 9):
    world = numbered_world(number)
    tasks = bundled_tasks(world)
    print(number, generate_blueprint(number).digest, world.base(1000).state_hash())
    for task in tasks.ids("dev"):
        print(task, tasks.instance(task).fingerprint())
"""


def test_four_processes_and_hash_seeds_make_the_same_worlds() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", _PRINT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }
    assert len(said) == 1
    assert len(said.pop().splitlines()) > 40


def test_every_mechanism_occurs_in_some_world() -> None:
    used = {name for number in range(400) for name in draw_plan(number).mechanisms}
    assert used == set(mechanisms())


def test_a_world_that_is_not_listed_is_refused_with_the_way_out() -> None:
    number = next(number for number in range(100_000) if number not in listed_worlds())
    with pytest.raises(CapabilityError, match=f"world={number}: no generated world of that number is listed"):
        gym.make("palaestra/Synth-v0", world=number)
    for wrong in (-1, "17", True):
        with pytest.raises(CapabilityError, match="no generated world"):
            gym.make("palaestra/Synth-v0", world=wrong, unlisted=True)


def test_a_generated_world_is_found_by_its_id() -> None:
    assert find_world("synth-3") == "palaestra/Synth3-v0"
    assert numbered_world(3).name == "synth-3"
