"""AppWorld's real package on two tasks of ours in its layout: its own data are in no registry, and were not played."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from outside.conformance import gold_solves
from palaestra.benchmarks.external import BENCHMARKS, ExternalEnv, install
from palaestra.benchmarks.external.appworld.served.layout import tasks
from palaestra.benchmarks.external.installation import find_installed
from palaestra.errors import ConfigError, InfrastructureError
from palaestra.protocols import Action

pytestmark = pytest.mark.xdist_group("bench-appworld")
ENV_ID = "palaestra/AppWorld-v0"
SOLVED, OPEN = "appworld/difficulty_1/aaaaaaa_1", "appworld/difficulty_1/bbbbbbb_1"
FIXTURE = Path(__file__).parent / "fixtures" / "appworld"
BENCHMARK = BENCHMARKS.get("appworld")
FOUND = find_installed("appworld", BENCHMARK.installation)
here = pytest.mark.skipif(
    FOUND is None,
    reason=f"AppWorld needs a folder of data: `palaestra suites install appworld --from {FIXTURE}` will do, below"
    f" PALAESTRA_BENCHMARKS={os.environ.get('PALAESTRA_BENCHMARKS')}",
)
FINISH: Action = {"tool": "finish", "arguments": {}}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture, with the databases that the package makes of it."""
    assert FOUND is not None
    folder = shutil.copytree(FIXTURE, tmp_path_factory.mktemp("appworld") / "root")
    gym.make(ENV_ID, data=str(folder)).close()  # the first start unpacks the package's apps
    command = [str(FOUND.python), str(FIXTURE / "databases.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def play(data: Path) -> Iterator[Callable[[str], ExternalEnv]]:
    """Begins episodes, and closes them at the end."""
    begun = list[ExternalEnv]()

    def begin(task: str) -> ExternalEnv:
        env: Any = gym.make(ENV_ID, data=str(data)).unwrapped
        assert isinstance(env, ExternalEnv)
        begun.append(env)
        env.reset(seed=0, options={"task": task})
        return env

    yield begin
    for env in begun:
        env.close()


def ran(env: ExternalEnv, code: object) -> tuple[str, str | None]:
    observation, *_, info = env.step({"tool": "execute", "arguments": {"code": code}})
    return observation[0]["content"], info["events"][0].error


def test_what_is_not_there_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALAESTRA_BENCHMARKS", str(tmp_path))
    with pytest.raises(ConfigError, match=r"palaestra suites install appworld --from FOLDER"):
        gym.make(ENV_ID)
    with pytest.raises(ConfigError, match=r"`appworld download data` unpacks below \$APPWORLD_ROOT"):
        install("appworld", BENCHMARK.installation)
    with pytest.raises(ConfigError, match="holds no data/datasets"):
        install("appworld", BENCHMARK.installation, source=tmp_path)


def test_tasks_are_listed_by_split() -> None:
    first, second = tasks(FIXTURE)
    assert (first.id, first.split, first.solution) == ("bbbbbbb_1", "test_normal", None)
    assert (second.id, second.split, second.difficulty) == ("aaaaaaa_1", "train", 1)
    assert second.requirements == ("assert answers match.", "assert no note was added or removed.")
    assert second.supervisor == "Mira Holm (email mira.holm@example.com, phone 5550100)"
    assert (second.solution or "").startswith("def solution(apis, requester):")


def test_the_mark_of_the_benchmark_is_no_part_of_a_solution(tmp_path: Path) -> None:
    folder = shutil.copytree(FIXTURE, tmp_path / "root")
    solution = folder / "data" / "tasks" / "aaaaaaa_1" / "ground_truth" / "compiled_solution.py"
    solution.write_text(f"# Canary String: x\n{solution.read_text()}")
    assert tasks(folder)[1].solution == tasks(FIXTURE)[1].solution


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("datasets/dev.txt", None, r"dev\.txt cannot be read .* `appworld download data` has run"),
        ("tasks/aaaaaaa_1/specs.json", None, r"specs\.json cannot be read"),
        ("tasks/aaaaaaa_1/specs.json", "{", r"specs\.json holds no JSON"),
        ("tasks/aaaaaaa_1/specs.json", "{}", r"is not of the layout of AppWorld's data 0\.1\.0: KeyError"),
        ("tasks/bbbbbbb_1/ground_truth/metadata.json", '{"difficulty": "hard"}', "is not of the layout"),
    ],
)
def test_incomplete_data_are_named(tmp_path: Path, file: str, text: str | None, why: str) -> None:
    folder = shutil.copytree(FIXTURE, tmp_path / "root")
    (folder / "data" / file).unlink()
    if text is not None:
        (folder / "data" / file).write_text(text)
    with pytest.raises(ValueError, match=why):
        tasks(folder)


def test_a_folder_that_lists_nothing_is_refused(tmp_path: Path) -> None:
    folder = shutil.copytree(FIXTURE, tmp_path / "root")
    for file in (folder / "data" / "datasets").iterdir():
        file.write_text("\n")
    with pytest.raises(ValueError, match="lists no task"):
        tasks(folder)


@here
def test_a_task_without_its_databases_is_a_fault() -> None:
    env: Any = gym.make(ENV_ID, data=str(FIXTURE)).unwrapped
    with pytest.raises(InfrastructureError, match="AppWorld cannot begin aaaaaaa_1 with the data of"):
        env.reset(seed=0, options={"task": SOLVED})


@here
def test_the_authors_solution_passes_and_doing_nothing_does_not(play: Callable[[str], ExternalEnv]) -> None:
    env = play(SOLVED)
    gold_solves(env, SOLVED)
    env.reset(seed=0, options={"task": SOLVED})
    *_, info = env.step(FINISH)
    score = info["score"]
    assert (score.passed, score.points) == (False, 0)
    assert {name: verdict.met for name, verdict in score.verdicts.items()} == {
        "solved": False,
        "requirement-1": False,
        "requirement-2": True,
    }
    assert score.verdicts["solved"].reason == "1 of 2 requirements are met"
    assert "'<<not_given>>' == '2'" in score.verdicts["requirement-1"].reason


@here
def test_test_sets_have_no_solution_and_are_solved_by_hand(play: Callable[[str], ExternalEnv]) -> None:
    env = play(OPEN)
    assert env.oracle() is None
    assert ran(env, "p = apis.supervisor.show_account_passwords()[0]['password']\nprint(p)") == ("teapot\n", None)
    login = "t = apis.simple_note.login(username='mira.holm@example.com', password=p)['access_token']"
    assert ran(env, login) == ("Execution successful.", None)
    said, _ = ran(env, "print(len(apis.simple_note.search_notes(access_token=t)))")
    env.score()  # looking at the score in the middle changes nothing
    assert ran(env, "print(len(apis.simple_note.search_notes(access_token=t)))")[0] == said == "3\n"
    _, reward, terminated, _, info = env.step(
        {"tool": "execute", "arguments": {"code": "apis.supervisor.complete_task(answer=3)"}}
    )
    assert (reward, terminated, info["end"]) == (100, True, "finished")
    assert info["met"] == ("solved", "requirement-1", "requirement-2")


@here
def test_what_must_not_change_costs_the_task(play: Callable[[str], ExternalEnv]) -> None:
    env = play(SOLVED)
    code = (
        "p = apis.supervisor.show_account_passwords()[0]['password']\n"
        "t = apis.simple_note.login(username='mira.holm@example.com', password=p)['access_token']\n"
        "apis.simple_note.create_note(access_token=t, title='x', content='y')\n"
        "apis.supervisor.complete_task(answer=2)"
    )
    *_, info = env.step({"tool": "execute", "arguments": {"code": code}})
    assert (info["end"], info["score"].passed, info["met"]) == ("finished", False, ("requirement-1",))


@here
def test_code_that_fails_is_answered_and_the_session_goes_on(play: Callable[[str], ExternalEnv]) -> None:
    env = play(SOLVED)
    for code, said in {
        "1/0": "ZeroDivisionError: division by zero",
        "def": "Syntax error in line",
        "import subprocess": "Usage of the following module is not allowed: subprocess",
        "exit()": "builtins.exit",
        "(" * 5_000: "Execution failed",
        "print(apis.no_such_app.login())": "No app named 'no_such_app' found",
    }.items():
        told, error = ran(env, code)
        assert (said in told, error) == (True, "failed"), told
    assert ran(env, 3)[1] == "invalid_arguments"
    assert ran(env, "print(1 + 1)") == ("2\n", None)


@here
def test_code_that_ends_its_session_ends_the_episode_and_no_other(play: Callable[[str], ExternalEnv]) -> None:
    env, other = play(SOLVED), play(OPEN)
    ran(other, "x = 5")
    observation, _, terminated, truncated, info = env.step(
        {"tool": "execute", "arguments": {"code": "import os\nos.abort()"}}
    )
    assert "The session that this code ran in is gone: it ended with -6." in observation[0]["content"]
    assert (terminated or truncated, info["end"], info["score"].points) == (True, "deadline", 0)
    assert "ended its session" in info["score"].verdicts["solved"].reason
    assert ran(other, "print(x)") == ("5\n", None)


@here
def test_the_users_folder_is_left_as_it_is(data: Path, play: Callable[[str], ExternalEnv]) -> None:
    def listed() -> str:
        return json.dumps(sorted((str(file), file.stat().st_mtime_ns) for file in data.rglob("*") if file.is_file()))

    before = listed()
    gold_solves(play(SOLVED), SOLVED)
    assert sorted(path.name for path in data.iterdir() if path.is_dir()) == ["data"]
    assert listed() == before
