"""ALFWorld as it is installed: its solution wins, its floors are what they are, and episodes do not touch."""

import re
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

import palaestra
from acting import ActingBenchmark, ActingContract, play
from palaestra.benchmarks.external import BENCHMARKS, find_installed
from palaestra.errors import InfrastructureError
from palaestra.records import ToolCall
from palaestra.tools import CompactFormat
from palaestra.tools.formats.handles import is_handle

pytestmark = pytest.mark.xdist_group("bench-alfworld")
TYPES = [
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
]
COMPACT = CompactFormat()
SOLVED = tuple(f"alfworld/generated-{job}/1000000" for job in TYPES)
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


ALFWORLD = ActingBenchmark(
    env_id="palaestra/ALFWorld-v0",
    argument="command",
    solved=SOLVED,
    task=SOLVED[5],
    other=SOLVED[2],
    bad=("", 7, None, ["look"], "x" * 500, "two\nlines"),
)


class TestALFWorld(ActingContract):
    """What holds of every benchmark of its kind."""

    benchmark = ALFWORLD


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


@pytest.mark.parametrize("task", SOLVED)
def test_the_solution_takes_only_what_the_game_has_shown(task: str) -> None:
    env = ALFWORLD.make(task=task)
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


@pytest.mark.parametrize("task", SOLVED)
def test_a_small_policy_writes_a_solution_with_handles_alone(task: str) -> None:
    """Each of which a message has shown, as `parse` requires."""
    env = ALFWORLD.make(task=task)
    start, info = env.reset(seed=0)
    rendering = COMPACT.rendering()
    rendering.opening(start, info["tools"])
    turns: Any = env.oracle()
    for turn in turns:
        (call,) = (ToolCall(tool=one["tool"], arguments=one["arguments"]) for one in turn)
        written = rendering.write_turn([call])
        assert not re.search(r"[a-z]+ \d", "".join(piece for piece in written if not is_handle(piece)))
        assert COMPACT.parse(rendering.read(written)).calls == (call,)
        observation, *_ = env.step(turn)
        rendering.following(observation)
    env.close()


def test_reused_translations_and_texts_change_nothing_that_a_game_says() -> None:
    tasks = [task.removeprefix("alfworld/") for task in (ALFWORLD.task, ALFWORLD.other, ALFWORLD.task)]
    plain, reused = (_run_alone(PLAY, how, orjson.dumps(tasks).decode()) for how in ("plain", "reused"))
    assert len(orjson.loads(plain)) > 100
    assert plain == reused


def test_games_made_here_are_labelled_and_official_ones_are_not_claimed() -> None:
    env = ALFWORLD.make()
    assert {task["category"] for task in env.tasks.values()} == {f"generated-{job}" for job in TYPES}
    assert env.ids("valid_unseen") == ()
    env.close()


def test_a_folder_without_games_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="holds no json_2"):
        ALFWORLD.make(games=str(tmp_path))


def test_official_games_are_listed_and_solved_by_the_planner(tmp_path: Path) -> None:
    _run_alone(MAKE, str(tmp_path))
    env = ALFWORLD.make(games=str(tmp_path), split="valid_unseen")
    assert env.ids("valid_unseen") == ("alfworld/pick_and_place_simple/valid_unseen.setting.trial",)
    env.reset(seed=0, options={"task": env.ids("valid_unseen")[0]})
    play(env, env.oracle() or ())
    assert env.score().passed
    env.close()
