"""Toolathlon's layout, on a fixture of ours: the benchmark's own tasks are in no package, and were not played here."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import palaestra.benchmarks.external.env as seam
from outside.conformance import conform, gold_solves
from palaestra.benchmarks.external import BENCHMARKS, ExternalEnv, install
from palaestra.benchmarks.external.worker import BenchmarkProcesses
from palaestra.errors import ConfigError, InfrastructureError

pytestmark = pytest.mark.xdist_group("bench-toolathlon")
ENV_ID, TASK = "palaestra/Toolathlon-v0", "toolathlon/finalpool/sort_notes"
FIXTURE = Path(__file__).parent / "fixtures" / "toolathlon"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout that holds the fixture, installed."""
    folder = shutil.copytree(FIXTURE, tmp_path / "checkout")
    monkeypatch.setenv("PALAESTRA_BENCHMARKS", str(tmp_path / "home"))
    benchmark = BENCHMARKS.get("toolathlon")
    install("toolathlon", benchmark.installation, source=folder)
    workers = BenchmarkProcesses(most=1)
    monkeypatch.setattr(seam, "WORKERS", workers)
    yield folder
    workers.close()


def begun() -> ExternalEnv:
    env: Any = gym.make(ENV_ID).unwrapped
    assert isinstance(env, ExternalEnv)
    env.reset(seed=0, options={"task": TASK})
    return env


def did(env: ExternalEnv, tool: str, **arguments: str) -> tuple[str, str | None]:
    observation, *_, info = env.step({"tool": tool, "arguments": arguments})
    return observation[0]["content"], info["events"][0].error


def test_what_is_not_there_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALAESTRA_BENCHMARKS", str(tmp_path))
    with pytest.raises(ConfigError, match=r"palaestra suites install toolathlon --from FOLDER"):
        gym.make(ENV_ID)
    with pytest.raises(ConfigError, match="holds no tasks/finalpool"):
        install("toolathlon", BENCHMARKS.get("toolathlon").installation, source=tmp_path)


@pytest.mark.usefixtures("checkout")
def test_it_conforms_and_lists_what_needs_files_alone() -> None:
    conform(ENV_ID, [TASK])
    env = begun()
    assert env.ids() == (TASK,)  # the other one needs a service
    assert env.tasks[TASK]["prompt"].startswith("The folder inbox holds notes")


@pytest.mark.usefixtures("checkout")
def test_its_own_workspace_passes_and_doing_nothing_does_not() -> None:
    env = begun()
    gold_solves(env, TASK)
    env.reset(seed=0, options={"task": TASK})
    *_, info = env.step({"tool": "finish", "arguments": {}})
    assert (info["score"].passed, info["score"].points) == (False, 0)
    assert info["score"].verdicts["solved"].reason == "owners.txt is not right"


@pytest.mark.usefixtures("checkout")
def test_the_work_is_done_with_tools() -> None:
    env = begun()
    assert did(env, "list_files", path=".") == ("inbox/1.txt\ninbox/2.txt\ninbox/3.txt\ninbox/4.txt", None)
    assert did(env, "read_file", path="inbox/2.txt") == ("Anders: two chairs, please\n", None)
    before = env.state_hash()
    did(env, "write_file", path="owners.txt", content="Anders: 1\nMira: 3\n")
    assert env.state_hash() != before
    assert env.score().verdicts["solved"].reason == "there are notes left"
    assert did(env, "move", path="inbox", target="kept/inbox") == ("moved", None)
    assert did(env, "delete", path="kept") == ("deleted", None)
    _, reward, *_, info = env.step({"tool": "finish", "arguments": {}})
    assert (reward, info["met"]) == (100, ("solved",))


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(
    "path",
    [
        "../groundtruth_workspace/owners.txt",
        "/etc/passwd",
        "inbox/../../log",
        "..",
        "\x00",
        pytest.param("x" * 5_000, id="5000 letters"),
    ],
)
def test_no_path_leads_out(path: str) -> None:
    env = begun()
    assert did(env, "read_file", path=path)[1] is not None
    assert did(env, "write_file", path=path, content="x")[1] is not None
    assert did(env, "delete", path=path)[1] is not None
    assert did(env, "move", path="inbox/1.txt", target=path)[1] is not None
    assert did(env, "list_files", path=".")[0].count("\n") == 3


def test_no_link_leads_out(checkout: Path) -> None:
    inbox = checkout / "tasks" / "finalpool" / "sort_notes" / "initial_workspace" / "inbox"
    (checkout / "secret.txt").write_text("secret")
    (inbox / "link.txt").symlink_to(checkout / "secret.txt")
    (inbox / "up").symlink_to(checkout)
    env = begun()
    assert did(env, "read_file", path="inbox/link.txt")[1] == "failed"
    assert did(env, "write_file", path="inbox/up/secret.txt", content="gone")[1] == "failed"
    assert did(env, "delete", path="inbox/up")[1] == "failed"
    assert "link" not in did(env, "list_files", path=".")[0]
    assert (checkout / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize(
    ("evaluation", "why"),
    [
        ("import no_such_package\n", "cannot be imported; run `uv sync`"),
        ("print('import error: no openpyxl')\nexit(1)\n", "cannot be imported"),
    ],
)
def test_an_evaluation_that_cannot_run_is_a_fault_and_no_failure(checkout: Path, evaluation: str, why: str) -> None:
    (checkout / "tasks" / "finalpool" / "sort_notes" / "evaluation" / "main.py").write_text(evaluation)
    env = begun()
    with pytest.raises(InfrastructureError, match=why):
        env.step({"tool": "finish", "arguments": {}})


def test_episodes_do_not_share_a_workspace_and_leave_none(checkout: Path) -> None:
    one, two = begun(), begun()
    did(one, "delete", path="inbox")
    assert did(two, "read_file", path="inbox/1.txt")[1] is None
    worker = one._worker
    assert worker is not None
    folder = Path(worker._folder)
    assert len(list(folder.glob("toolathlon-*"))) == 2
    one.close()
    two.close()
    assert list(folder.glob("toolathlon-*")) == []
    assert (checkout / "tasks" / "finalpool" / "sort_notes" / "initial_workspace" / "inbox" / "1.txt").is_file()
