"""The process behind a benchmark: whatever it does wrong is the right error, and nothing hangs or is left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from outside import TOY, TOY_ID
from palaestra.benchmarks.external import ExternalEnv
from palaestra.benchmarks.external.worker import BenchmarkProcess, BenchmarkProcesses
from palaestra.errors import EpisodeOverError, InfrastructureError, WaitError

TWO, FOUR = "toy/count/two", "toy/count/four"
OPTIONS = dict(TOY.options)
COUNT = {"tool": "count", "arguments": {"by": 1}}
pytestmark = pytest.mark.usefixtures("toy")


def begun(task: str = TWO, **switches: Any) -> ExternalEnv:
    env: Any = gym.make(TOY_ID, **switches).unwrapped
    assert isinstance(env, ExternalEnv)
    env.reset(seed=0, options={"task": task})
    return env


def spoil(env: ExternalEnv, how: str) -> str:
    observation, *_ = env.step({"tool": "spoil", "arguments": {"how": how}})
    return observation[0]["content"]


def eventually(true: Callable[[], bool], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        time.sleep(0.01)
    return true()


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and nobody has waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


# What a benchmark does wrong


def test_one_that_raises_is_at_fault_and_its_process_goes_on(toy: BenchmarkProcesses) -> None:
    env, other = begun(), begun(FOUR)
    with pytest.raises(InfrastructureError, match="ZeroDivisionError: the benchmark is wrong") as caught:
        spoil(env, "raise")
    assert "in _raise" in caught.value.__notes__[0]
    with pytest.raises(EpisodeOverError, match="after a fault"):
        env.step(COUNT)
    assert other.step(COUNT)[1] == 25
    env.reset(options={"task": TWO})
    assert env.step(COUNT)[1] == 50
    assert len(next(iter(toy._workers.values()))) == 1


def test_one_that_wants_to_leave_is_at_fault() -> None:
    with pytest.raises(InfrastructureError, match="SystemExit: 3"):
        spoil(begun(), "leave")


def test_one_that_dies_voids_every_episode_in_it_and_is_replaced() -> None:
    env, other = begun(), begun(FOUR)
    before = spoil(env, "pid")
    with pytest.raises(InfrastructureError, match=r"turn: its process ended with exit code 7: last words"):
        spoil(env, "die")
    with pytest.raises(InfrastructureError, match="its process ended with exit code 7"):
        other.step(COUNT)
    other.reset(options={"task": FOUR})
    assert spoil(other, "pid") != before
    env.reset(options={"task": TWO})
    assert spoil(env, "pid") == spoil(other, "pid")


@pytest.mark.parametrize("how", ["hang", "spin"])
def test_one_that_hangs_is_ended_in_time(how: str) -> None:
    env, other = begun(seconds=0.5), begun(FOUR)
    since = time.monotonic()
    with pytest.raises(WaitError, match=r"waited 0.5 s for turn"):
        spoil(env, how)
    assert time.monotonic() - since < 10
    with pytest.raises(InfrastructureError, match=r"turn took more than 0\.5 s"):
        other.step(COUNT)


def test_one_that_is_stopped_is_ended_in_time() -> None:
    env = begun(seconds=0.5)
    os.kill(int(spoil(env, "pid")), signal.SIGSTOP)
    with pytest.raises(WaitError):
        env.step([{"tool": "count", "arguments": {"by": "x" * 1_000_000}}])  # more than a pipe holds


def test_what_it_prints_is_no_answer() -> None:
    env = begun()
    assert spoil(env, "print") == "printed"
    assert env.step(COUNT)[1] == 50


def test_an_answer_may_be_large() -> None:
    assert len(spoil(begun(), "large")) == 5_000_000


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("no object", r"turn is \['what'\], which is no object"),
        ("no points", "turn has nothing too many, and lacks points"),
        ("points in words", r"turn\.points is 'all of them', which is no int"),
        ("not a number", "ValueError: Out of range float values"),
        ("no JSON", "TypeError: Object of type set"),
        ("too few results", "0 results for 1 calls"),
        ("odd end", "'exploded' is no reason for an end"),
        ("odd tools", "no tool in OpenAI's form"),
        ("same tools", "two tools are called 'count'"),
        ("bad message", r"turn\.messages\[0\] has nothing too many, and lacks content"),
    ],
)
def test_a_wrong_answer_is_its_fault_and_voids_the_episode_alone(how: str, why: str) -> None:
    env, other = begun(), begun(FOUR)
    with pytest.raises(InfrastructureError, match=why):
        spoil(env, how)
    with pytest.raises(EpisodeOverError):
        env.step(COUNT)
    assert other.step(COUNT)[1] == 25
    env.reset(options={"task": TWO})


def test_one_that_does_not_close_says_so_and_can_go_on() -> None:
    env = begun()
    spoil(env, "close")
    with pytest.raises(InfrastructureError, match="it does not close"):
        env.close()
    env.close()
    env.reset(options={"task": TWO})
    spoil(env, "close")
    with pytest.raises(InfrastructureError, match="the benchmark is wrong"):  # and not that it does not close
        spoil(env, "raise")


def test_tasks_of_one_id_are_refused() -> None:
    with pytest.raises(InfrastructureError, match="1 of 5 tasks have another's id"):
        begun(twice=True)


def test_one_that_does_not_load_says_why() -> None:
    with pytest.raises(InfrastructureError, match="RuntimeError: it does not load"):
        begun(broken_start=True)


def test_one_that_loads_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palaestra.benchmarks.external.worker._START", 0.3)
    with pytest.raises(WaitError, match=r"waited 0\.3 s for start"):
        begun(slow_start=3_600)


# What is left behind


def test_ending_a_process_ends_all_that_it_started(toy: BenchmarkProcesses) -> None:
    env = begun()
    pid, below, folder = int(spoil(env, "pid")), int(spoil(env, "below")), Path(spoil(env, "folder"))
    assert alive(pid)
    assert alive(below)
    assert folder.is_dir()
    toy.close()
    assert eventually(lambda: not alive(pid) and not alive(below))
    assert not folder.exists()
    toy.close()


def test_a_process_that_hangs_is_ended_with_all_that_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    env = begun(seconds=1.0)
    below = int(spoil(env, "below"))
    with pytest.raises(WaitError):
        spoil(env, "hang")
    assert eventually(lambda: not alive(below))


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import gymnasium as gym
from outside import TOY, TOY_ID
from palaestra.benchmarks.external import BENCHMARKS
BENCHMARKS.register("toy", TOY)
gym.register(TOY_ID, entry_point="palaestra.benchmarks.external.env:ExternalEnv", kwargs={"env_id": TOY_ID},
    disable_env_checker=True, order_enforce=False)
env = gym.make(TOY_ID).unwrapped
env.reset(options={"task": "toy/count/two"})
for what in ("pid", "folder"):
    observation, *_ = env.step({"tool": "spoil", "arguments": {"how": what}})
    print(observation[0]["content"], flush=True)
if sys.argv[2] != "end":
    env.step({"tool": "spoil", "arguments": {"how": sys.argv[2]}})
"""


@pytest.mark.parametrize("how", ["end", "hang"])
def test_processes_and_folders_end_with_the_program_however_it_ends(how: str) -> None:
    tests = str(Path(__file__).parents[2])
    with subprocess.Popen([sys.executable, "-c", PROGRAM, tests, how], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        pid, folder = int(program.stdout.readline()), Path(program.stdout.readline().decode().strip())
        if how == "hang":
            program.kill()
        program.wait(30)
    assert eventually(lambda: not alive(pid))
    assert eventually(lambda: not folder.exists())


def test_nothing_secret_reaches_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    known = spoil(begun(), "environment")
    assert "'PATH'" in known
    assert "OPENAI_API_KEY" not in known
    assert "PYTHONPATH" not in known


def test_sets_of_words_have_the_same_order_in_every_process(toy: BenchmarkProcesses) -> None:
    env = begun()
    before = spoil(env, "order")
    toy.close()
    env.reset(options={"task": TWO})
    assert spoil(env, "order") == before


# Sharing


def test_episodes_take_turns_without_touching() -> None:
    one, two = begun(FOUR), begun(FOUR)
    rewards = [env.step(COUNT)[1] for _ in range(4) for env in (one, two)]
    assert rewards == [25] * 8
    assert one.score().passed
    assert two.score().passed


def test_threads_take_turns() -> None:
    envs, scores = [begun(FOUR) for _ in range(4)], dict[int, int]()

    def play(at: int) -> None:
        scores[at] = [envs[at].step(COUNT)[4]["points"] for _ in range(4)][-1]

    threads = [threading.Thread(target=play, args=[at]) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert scores == dict.fromkeys(range(4), 100)


def test_an_interrupted_request_is_not_answered_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    env = begun()
    worker = env._worker
    assert worker is not None

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(worker, "_wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        env.step(COUNT)
    with pytest.raises(InfrastructureError, match="turn was interrupted"):
        env.step(COUNT)


def test_closing_from_another_thread_ends_a_request() -> None:
    env = begun()
    worker, said = env._worker, list[str]()
    assert worker is not None

    def hang() -> None:
        try:
            spoil(env, "hang")
        except InfrastructureError as error:
            said.append(str(error))

    thread = threading.Thread(target=hang)
    thread.start()
    assert eventually(worker._lock.locked)
    worker.close("nobody wants it")
    thread.join(10)
    assert said == ["toy: turn: nobody wants it"]


def test_one_process_for_each_episode_up_to_the_most() -> None:
    workers = BenchmarkProcesses(most=2)
    borrowed = [workers.borrow(TOY, OPTIONS) for _ in range(4)]
    assert borrowed[0] is not borrowed[1]
    assert {*borrowed[2:]} == {*borrowed[:2]}
    workers.give_back(borrowed[1])
    workers.give_back(borrowed[3])
    assert workers.borrow(TOY, OPTIONS) is next(w for w in borrowed[:2] if w.episodes == 1 or w is borrowed[1])
    other = workers.borrow(TOY, {**OPTIONS, "slow_start": 0.01})
    assert other not in borrowed
    workers.close()
    assert all(worker.lost == "it was closed" for worker in [*borrowed, other])


def test_a_process_that_was_forked_begins_with_none(toy: BenchmarkProcesses) -> None:
    env = begun()
    parent, (reads, writes) = spoil(env, "pid"), os.pipe()
    worker = env._worker
    assert worker is not None
    toy.forget()  # what happens in the process that is forked, but for the fork
    os.close(reads)
    os.close(writes)
    with pytest.raises(InfrastructureError, match="belongs to the process that this one was forked from"):
        env.step(COUNT)
    env.reset(options={"task": TWO})
    assert spoil(env, "pid") != parent


def test_a_closed_process_does_nothing() -> None:
    worker = BenchmarkProcess(TOY, OPTIONS)
    assert worker.ask("version", seconds=10) == "1"
    worker.close()
    worker.close()
    with pytest.raises(InfrastructureError, match="version: it was closed"):
        worker.ask("version", seconds=10)
