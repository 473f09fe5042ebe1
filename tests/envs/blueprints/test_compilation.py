"""A compiled blueprint is a world like any other: proved, registered by its file, pickled, the same anywhere."""

import gc
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import ref

import gymnasium as gym
import pytest

import palaestra
from palaestra.envs import ToolEnv
from palaestra.envs.blueprints import Blueprint, compile_blueprint, dump_blueprint, read_blueprint
from palaestra.envs.blueprints.compilation import KEPT
from palaestra.envs.taskset import bundled_tasks
from palaestra.errors import TaskError, UnknownNameError
from palaestra.proof import prove
from worlds.tool_library import PATH, SEED, blueprint, compiled


@pytest.fixture(scope="module")
def env() -> ToolEnv:
    made: Any = gym.make(palaestra.register_world(PATH)).unwrapped
    assert isinstance(made, ToolEnv)
    return made


def test_the_example_is_proved(env: ToolEnv) -> None:
    proof = prove(env, env.task_set.ids("dev"))
    assert len(proof.tasks) == 6
    assert not proof.faults


def test_a_document_of_a_blueprint_gives_the_same_blueprint() -> None:
    again, _ = read_blueprint(dump_blueprint(blueprint()))
    assert again == blueprint()
    assert again.digest == blueprint().digest


def test_equal_blueprints_give_one_world() -> None:
    assert compile_blueprint(read_blueprint(PATH.read_text(encoding="utf-8"))[0]).world is compiled().world


def test_a_world_in_use_is_the_one_of_its_blueprint_however_many_came_since() -> None:
    held, left = compile_blueprint(_renamed("held-library")).world, ref(compile_blueprint(_renamed("left-library")))
    row = bundled_rows(held.base(SEED), compile_blueprint(_renamed("held-library")).kinds["loan"])[0]
    for number in range(KEPT + 1):
        compile_blueprint(_renamed(f"library-{number}"))
    assert compile_blueprint(_renamed("held-library")).world is held
    assert pickle.loads(pickle.dumps(row)) == row
    del held
    gc.collect()
    for number in range(KEPT + 1):
        compile_blueprint(_renamed(f"library-{number}"))
    assert pickle.loads(pickle.dumps(row)) == row
    assert left() is None


def _renamed(name: str) -> Blueprint:
    return replace(blueprint(), id=name)


def test_rows_rules_and_tools_pickle_as_the_blueprint() -> None:
    world = compiled().world
    base = world.base(SEED)
    rows: list[Any] = [row for kind in compiled().kinds.values() for row in bundled_rows(base, kind)]
    for value in (*rows, compiled().rules.own, *world.toolbox):
        again = pickle.loads(pickle.dumps(value))
        assert type(again) is type(value)
        assert again == value or again.name == value.name


def bundled_rows(base: Any, kind: type[Any]) -> list[Any]:
    return list(base.rows[kind.table].values())[:2]


def test_solutions_replay_to_full_points_on_every_surface(env: ToolEnv) -> None:
    for surface in ("conventional", "generic", "pages"):
        made: Any = gym.make(env.env_id, surface=surface).unwrapped
        for task in made.task_set.ids("dev"):
            made.reset(seed=0, options={"task": task})
            for call in made.oracle():
                made.step({"tool": call.tool, "arguments": dict(call.arguments)})
            assert made.score().passed, (surface, task)


_PRINT = """
from worlds.tool_library import compiled
from palaestra.envs.taskset import bundled_tasks
world = compiled().world
tasks = bundled_tasks(world)
print(compiled().world.base(1000).state_hash())
for task in (*tasks.ids("train"), *tasks.ids("heldout")):
    print(task, tasks.instance(task).fingerprint())
"""


def test_other_processes_and_hash_seeds_make_the_same_tasks() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", _PRINT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": f"src{os.pathsep}tests"},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "7")
    }
    assert len(said) == 1
    assert len(said.pop().splitlines()) == 1 + 18 + 6


def test_every_refusal_is_some_tasks_twin() -> None:
    tasks = bundled_tasks(compiled().world)
    sections = {
        str(call.arguments["policy_id"])
        for task in tasks.candidates("train")
        for call in tasks.instance(task).oracle
        if call.tool == "decline_request"
    }
    assert sections == {"EXT-1", "EXT-2", "ACC-1", "DMG-1"}


def test_an_action_refuses_what_its_conditions_forbid(env: ToolEnv) -> None:
    env.reset(seed=0, options={"task": "tool-library/extend-loan/0000"})
    returned = next(row.id for row in bundled_rows_of(env, "loans") if row.status == "returned")
    said = env.step({"tool": "extend_loan", "arguments": {"loan_id": returned, "days": 7}})[0]
    assert "not_active" in said[0]["content"]
    assert f"{returned} is returned" in said[0]["content"]


def bundled_rows_of(env: ToolEnv, table: str) -> list[Any]:
    return list(env.world.base(SEED).rows[table].values())


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises((ImportError, UnknownNameError), match="no such file"):
        palaestra.register_world(Path("examples/blueprints/tool_libary.yaml"))


def test_a_task_that_cannot_be_drawn_names_its_place_in_the_document() -> None:
    whole = blueprint()
    request = replace(whole.requests["extend-loan"], where='loan.status == "active" and loan.extensions > 99')
    world = compile_blueprint(replace(whole, requests={"extend-loan": request})).world
    with pytest.raises(
        TaskError, match=r"^tool-library: requests\.extend-loan: .*the world has no loan for extend-loan"
    ):
        bundled_tasks(world).instance("tool-library/extend-loan/0000")
