"""ALFWorld as it is installed: its solution wins, its floors are what they are, and episodes do not touch."""

import re
import subprocess
from pathlib import Path
from typing import Any

import gymnasium as gym
import orjson
import pytest

import palaestra
from palaestra.benchmarks.external import BENCHMARKS, ExternalEnv, find_installed
from palaestra.errors import InfrastructureError

pytestmark = pytest.mark.xdist_group("bench-alfworld")
TYPES = [
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
]
SOLVED = [f"alfworld/generated-{job}/1000000" for job in TYPES]
TASK, OTHER = SOLVED[5], SOLVED[2]
SOURCES = Path(palaestra.__file__).parents[1]
ALONE = """
import json, pathlib, sys, types
sys.path.insert(0, ".")
package = types.ModuleType("palaestra")
package.__path__ = ["palaestra"]
sys.modules["palaestra"] = package
for name in ("benchmarks", "benchmarks.external"):
    module = types.ModuleType("palaestra." + name)
    module.__path__ = ["palaestra/" + name.replace(".", "/")]
    sys.modules["palaestra." + name] = module
"""
"""Makes the adapter's modules known where nothing of Palaestra is installed."""
MAKE = f"""{ALONE}
from palaestra.benchmarks.external.alfworld.problem import Problem
from palaestra.benchmarks.external.alfworld.rooms import chore
folder = pathlib.Path(sys.argv[1], "json_2.1.1", "valid_unseen", "setting", "trial")
folder.mkdir(parents=True)
game = Problem(chore("pick_and_place_simple", "generated-test", 3), 3).game()
(folder / "game.tw-pddl").write_text(json.dumps({{**game, "solvable": True}}))
(folder / "traj_data.json").write_text(json.dumps({{"task_type": "pick_and_place_simple"}}))
"""
"""Writes a game in the layout of the official ones."""
PLAY = f"""{ALONE}
from palaestra.benchmarks.external.alfworld import served
if sys.argv[1] == "plain":
    served.reuse_work = lambda: None
bench = served.bench({{}})
said = []
for task in json.loads(sys.argv[2]):
    game = bench.begin(task, 0)
    said.append(game.opening())
    for turn in game.gold():
        said += [game.legal(draw) for draw in range(0, 60, 7)]
        said += [game.turn(turn["calls"], ""), game.state()]
    game.close()
print(json.dumps(said))
"""
"""Plays solutions, and prints all that a game says, and commands that it takes."""
BAD = ["", 7, None, ["look"], "x" * 500, "two\nlines"]


def _env(**options: Any) -> ExternalEnv:
    env = gym.make("palaestra/ALFWorld-v0", **options).unwrapped
    assert isinstance(env, ExternalEnv)
    return env


def _python() -> Path:
    """The benchmark's own interpreter."""
    found = find_installed("alfworld", BENCHMARKS.get("alfworld").installation)
    assert found is not None
    return found.python


def _run_alone(program: str, *arguments: str) -> str:
    """What a program prints under the benchmark's own interpreter."""
    command = [str(_python()), "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=SOURCES)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _act(value: Any) -> Any:
    return {"tool": "act", "arguments": {"command": value}}


def _played(env: ExternalEnv, turns: Any) -> list[Any]:
    """All that an agent is shown and paid."""
    shown = list[Any]()
    for turn in turns:
        observation, reward, terminated, truncated, info = env.step(turn)
        shown.append((observation, reward, terminated, info["points"], info["end"], info["state_hash"]))
        if terminated or truncated:
            break
    return shown


@pytest.mark.parametrize("task", SOLVED)
def test_the_solution_solves(task: str) -> None:
    env = _env(task=task)
    env.reset(seed=0)
    gold = env.oracle()
    assert gold is not None
    assert len(gold) == env.task.oracle_calls
    _played(env, gold)
    score = env.score()
    assert (score.points, score.passed) == (100, True), score
    env.close()


@pytest.mark.parametrize("task", SOLVED)
def test_the_solution_takes_only_what_the_game_has_shown(task: str) -> None:
    env = _env(task=task)
    start, _ = env.reset(seed=0)
    told = str(start[-1]["content"])
    turns: Any = env.oracle()
    for turn in turns:
        named = re.findall(r"[a-z]+ \d+", turn[0]["arguments"]["command"])
        assert named
        assert not [name for name in named if not re.search(rf"\b{name}\b", told)]
        observation, *_ = env.step(turn)
        told += "".join(str(message["content"]) for message in observation)
    env.close()


def test_the_same_turns_show_the_same_in_a_fresh_process() -> None:
    shown = list[Any]()
    for seconds in (300.0, 301.0):
        env = _env(task=TASK, seconds=seconds)
        start, _ = env.reset(seed=0)
        gold = env.oracle() or ()
        shown.append((start, gold, _played(env, gold)))
        worker = env._worker  # pyright: ignore[reportPrivateUsage]
        assert worker is not None
        env.close()
        worker.close()
    assert shown[0] == shown[1]


def test_reused_translations_and_texts_change_nothing_that_a_game_says() -> None:
    tasks = [task.removeprefix("alfworld/") for task in (TASK, OTHER, TASK)]
    plain, reused = (_run_alone(PLAY, how, orjson.dumps(tasks).decode()) for how in ("plain", "reused"))
    assert len(orjson.loads(plain)) > 100
    assert plain == reused


def test_two_episodes_do_not_touch() -> None:
    alone = _env(task=TASK)
    start, _ = alone.reset(seed=0)
    gold = list(alone.oracle() or ())
    expected = _played(alone, gold)
    alone.close()
    first, second = _env(task=TASK), _env(task=OTHER)
    assert first.reset(seed=0)[0] == start
    second.reset(seed=0)
    seen = list[Any]()
    for turn in gold[: len(expected)]:
        seen += _played(first, [turn])
        second.step(second.legal_actions(1)[0])
        if second.score().passed or first.score().passed:
            break
    assert seen == expected[: len(seen)]
    assert len(seen) > 1
    first.close()
    second.close()


def test_whoever_does_nothing_or_talks_junk_has_no_points() -> None:
    env = _env(task=TASK)
    env.reset(seed=0)
    *_, info = env.step({"tool": "finish", "arguments": {}})
    assert (info["score"].points, info["score"].passed) == (0, False)
    env.reset(seed=0)
    for _ in range(3):
        *_, info = env.step("<junk>")
    assert (info["score"].points, info["end"]) == (0, "unparsable")
    env.close()


@pytest.mark.parametrize("value", BAD)
def test_bad_calls_are_answered(value: Any) -> None:
    env = _env(task=TASK)
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(_act(value))
    assert info["events"][0].error in ("invalid_arguments", "not_allowed")
    assert (reward, terminated) == (0.0, False)
    _, reward, _, _, info = env.step({"tool": "fly", "arguments": {}})
    assert (info["events"][0].error, reward) == ("unknown_tool", 0.0)
    env.close()


def test_a_random_agent_acts_within_the_rules() -> None:
    env = _env(task=TASK)
    env.reset(seed=0)
    for _ in range(8):
        _, _, terminated, truncated, info = env.step(env.legal_actions(1)[0])
        assert info["events"][0].error is None
        if terminated or truncated:
            break
    env.close()


def test_games_made_here_are_labelled_and_official_ones_are_not_claimed() -> None:
    env = _env()
    assert {task["category"] for task in env.tasks.values()} == {f"generated-{job}" for job in TYPES}
    assert env.ids("valid_unseen") == ()
    env.close()


def test_a_folder_without_games_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="holds no json_2"):
        _env(games=str(tmp_path))


def test_official_games_are_listed_and_solved_by_the_planner(tmp_path: Path) -> None:
    _run_alone(MAKE, str(tmp_path))
    env = _env(games=str(tmp_path), split="valid_unseen")
    assert env.ids("valid_unseen") == ("alfworld/pick_and_place_simple/valid_unseen.setting.trial",)
    env.reset(seed=0, options={"task": env.ids("valid_unseen")[0]})
    _played(env, env.oracle() or ())
    assert env.score().passed
    env.close()
