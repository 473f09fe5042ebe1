"""The demo from end to end: what it writes can be read back, replayed and opened."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import gymnasium as gym
import orjson
import pytest

from palaestra.benchmarks.demo import Bar, DemoReport, run_demo
from palaestra.durable import verified
from palaestra.envs import ToolEnv
from palaestra.trajectory import read_episodes

ROOT = Path(__file__).parents[2]


class Count(Bar):
    """Counts the steps of a bar."""

    def __init__(self) -> None:
        self.steps = 0

    def step(self, at: str) -> None:
        assert at
        self.steps += 1


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[DemoReport, Path, dict[str, tuple[int, int]]]:
    """The demo, run once: its report, its directory, and (announced, counted) steps by bar."""
    out = tmp_path_factory.mktemp("runs") / "demo"
    bars: dict[str, tuple[int, int]] = {}

    @contextmanager
    def bar(title: str, total: int) -> Generator[Bar]:
        count = Count()
        yield count
        bars[title] = (total, count.steps)

    return run_demo(out, bar=bar), out, bars


def test_every_bundled_task_is_proved(demo: tuple[DemoReport, Path, object]) -> None:
    report = demo[0]
    assert report.proof.faults() == []
    assert len(report.proof.tasks) >= 400


def test_the_bars_count_to_their_end(demo: tuple[DemoReport, Path, dict[str, tuple[int, int]]]) -> None:
    assert all(announced == counted for announced, counted in demo[2].values())
    assert set(demo[2]) == {"rolling out", "proving"}


def test_what_is_written_is_whole_and_complete(demo: tuple[DemoReport, Path, object]) -> None:
    _, out, _ = demo
    assert verified(out) == out
    names = {path.name for path in out.iterdir()}
    assert names == {"MANIFEST.json", "index.html", "proof.json", "tables.md", "trajectories.jsonl"}
    assert orjson.loads((out / "proof.json").read_bytes())["faults"] == []


def test_trajectories_read_back_as_they_were_written(demo: tuple[DemoReport, Path, object]) -> None:
    report, out, _ = demo
    assert list(read_episodes(out / "trajectories.jsonl")) == report.episodes


def test_a_trajectory_replays_to_the_same_digest_and_score(demo: tuple[DemoReport, Path, object]) -> None:
    env = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(env, ToolEnv)
    for episode in demo[0].episodes:
        env.reset(seed=episode.seed, options={"task": episode.task.id})
        for turn in episode.turns:
            action = (
                turn.text if turn.text is not None else [{"tool": c.tool, "arguments": c.arguments} for c in turn.calls]
            )
            observation, reward, _, _, info = env.step(action)
            assert (observation, reward, info["anchor"]) == (turn.observation, turn.reward, turn.anchor)
        assert env.score() == episode.score


def test_the_return_is_the_score(demo: tuple[DemoReport, Path, object]) -> None:
    assert all(episode.episode_return == episode.score.points for episode in demo[0].episodes)


def test_the_readme_s_tables_are_what_the_demo_prints(demo: tuple[DemoReport, Path, object]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    report = demo[0]
    for table in report.tables[1:3]:
        assert table.markdown() in readme, f"make demo, then paste {table.title!r} from runs/demo/tables.md"
