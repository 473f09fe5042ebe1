"""Runs to be imported: folders as evaluations and training runs leave them, small and made up."""

from collections.abc import Sequence
from pathlib import Path

import orjson

from evaluations import outcome, results, suite, write_evaluation
from palaestra.benchmarks.evaluation.outcome import EpisodeOutcome
from palaestra.benchmarks.evaluation.results import JOURNAL, SETTINGS, Results, episode_id
from palaestra.trajectory import Episode, dump_episode, write_episodes

CONFIG = {"stages": ["sft", "grpo"], "sft": {"steps": 2}, "grpo": {"steps": 3}}
TASKS = tuple(f"shop/refund/{number}" for number in range(4))


def made_results(agent: str = "made-up", *, episodes: Sequence[Episode] = ()) -> Results:
    """Results of four tasks in two cells; every second one is solved, and one has a fault."""
    outcomes = [
        outcome(cell, task, solved=place % 2 == 0, criteria={"read-order": True, "refunded": place % 2 == 0}, turns=2)
        for cell in ("base", "noise")
        for place, task in enumerate(TASKS)
    ]
    outcomes[-1] = outcome("noise", TASKS[-1], fault="server")
    return results(outcomes, agent=agent, suite=suite({"base": TASKS, "noise": TASKS}), episodes=episodes)


def write_made_evaluation(folder: Path, agent: str = "made-up", *, episodes: Sequence[Episode] = ()) -> Path:
    """The folder of an evaluation that is done."""
    return write_evaluation(made_results(agent, episodes=episodes), folder)


def write_journal(folder: Path, found: Results, blocks: int) -> None:
    """The folder of an evaluation of which so many episodes are played, each a block of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SETTINGS).write_bytes(orjson.dumps(found.settings))
    kept = {episode.id: episode for episode in found.episodes}
    lines = [
        b'{"outcomes":[%b],"episodes":[%b]}\n'
        % (orjson.dumps(one), b"".join([dump_episode(kept[name])] if (name := _id(one)) in kept else []))
        for one in found.outcomes[:blocks]
    ]
    (folder / JOURNAL).write_bytes(b"".join(lines))


def _id(one: EpisodeOutcome) -> str:
    return episode_id(one.cell, one.task, one.sample)


def write_training(folder: Path, episodes: Sequence[Episode], *, steps: int = 3) -> Path:
    """The folder of a training run of two stages, the second from rollouts."""
    for stage in ("sft", "grpo"):
        (folder / stage).mkdir(parents=True, exist_ok=True)
        rows: list[dict[str, object]] = [
            {"step": step, "loss": 1 / step, "reward/mean": step, "entropy": None} for step in range(1, steps + 1)
        ]
        rows.insert(1, {"step": 1, "event": "entropy", "text": "The entropy is <low>."})
        (folder / stage / "metrics.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    (folder / "config.json").write_bytes(orjson.dumps(CONFIG, option=orjson.OPT_INDENT_2))
    group = b",".join(map(dump_episode, episodes))
    batches = [
        b'{"step":%d,"groups":[{"index":0,"episodes":[%b]}],"branches":null}\n' % (n, group) for n in range(steps)
    ]
    (folder / "grpo" / "batches.jsonl").write_bytes(b"".join(batches))
    return folder


def write_episode_file(path: Path, episodes: Sequence[Episode]) -> Path:
    """A file of trajectories."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_episodes(path, episodes)
    return path
