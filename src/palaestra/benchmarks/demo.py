"""The main job in small: agents rolled out on every family, every task proved, and all of it written to be read."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import gymnasium as gym
import orjson

from palaestra.agents import rollout
from palaestra.benchmarks.proof import Proof, proof_document, proof_tables, prove
from palaestra.benchmarks.roster import roster
from palaestra.benchmarks.table import Table
from palaestra.benchmarks.viewer import render_page
from palaestra.durable import saving
from palaestra.envs import SPLITS, ToolEnv
from palaestra.trajectory import Episode, write_episodes

ENV_ID = "palaestra/Storefront-v0"


class Bar(Protocol):
    """Something that shows how far long work is."""

    def step(self, at: str) -> None:
        """One more is done."""
        ...


OpenBar: TypeAlias = Callable[[str, int], AbstractContextManager[Bar]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """What the demo found."""

    episodes: list[Episode]
    proof: Proof
    tables: list[Table]


def run_demo(out: Path, *, bar: OpenBar) -> DemoReport:
    """Roll out, prove, write.

    Args:
        out: The directory to write: `trajectories.jsonl`, `proof.json`, `tables.md`, `index.html`. What stood there
            is kept beside it as `NAME.previous`.
        bar: Opens a progress bar of a title and a number of steps.

    Raises:
        StorageError: `out` could not be written; what stood there is untouched.
    """
    env = gym.make(ENV_ID)
    world = env.unwrapped
    assert isinstance(world, ToolEnv), f"{ENV_ID} is Palaestra's own"
    with saving(out) as directory:  # opened first: a place that cannot be written is found out before the work
        episodes = _rolled_out(env, world, bar)
        ids = _all_ids(world)
        with bar("proving", len(ids)) as progress:
            proof = prove(world, ids, progress=progress.step)
        report = DemoReport(episodes=episodes, proof=proof, tables=[rollout_table(episodes), *proof_tables(proof)])
        _write(directory, report)
    return report


def _all_ids(world: ToolEnv) -> list[str]:
    return [task for split in SPLITS for task in world.task_set.ids(split)]


def _rolled_out(env: gym.Env[Any, Any], world: ToolEnv, bar: OpenBar) -> list[Episode]:
    """Every agent on the first instance of every family."""
    first = {task.rpartition("/")[0]: task for task in reversed(_all_ids(world))}
    agents = roster(world)
    episodes: list[Episode] = []
    with bar("rolling out", len(first) * len(agents)) as progress:
        for task in sorted(first.values()):
            for name, agent in agents.items():
                episodes.append(rollout(env, agent, name=name, seed=0, task=task))
                progress.step(f"{name} {task}")
    return episodes


def _write(directory: Path, report: DemoReport) -> None:
    write_episodes(directory / "trajectories.jsonl", report.episodes)
    proof = orjson.dumps(proof_document(report.proof), option=orjson.OPT_INDENT_2)
    (directory / "proof.json").write_bytes(proof)
    document = "\n\n".join(f"### {t.title}\n\n{t.markdown()}\n\n{t.note}".rstrip() for t in report.tables)
    (directory / "tables.md").write_text(document + "\n", encoding="utf-8")
    page = render_page(report.episodes, title="Palaestra: the demo", tables=report.tables)
    (directory / "index.html").write_text(page, encoding="utf-8")


def rollout_table(episodes: list[Episode]) -> Table:
    """The score of each agent on the first task of each family."""
    agents = list(dict.fromkeys(e.agent for e in episodes))
    families = list(dict.fromkeys(e.task.family for e in episodes))
    by_place = {(e.task.family, e.agent): e for e in episodes}
    rows: list[tuple[str, ...]] = []
    for family in families:
        played = [by_place[family, agent] for agent in agents]
        seen = "no" if played[0].task.unseen else "yes"
        rows.append(
            (
                family.partition("/")[2],
                str(played[0].task.level),
                seen,
                *(str(e.score.points) for e in played),
            )
        )
    return Table(
        title="Score of each agent on the first task of each family",
        columns=("family", "level", "in train", *agents),
        rows=tuple(rows),
        note="Points of 100; what harms takes points away. Only the oracle solves any of them."
        if all(e.score.passed == (e.agent == "oracle") for e in episodes)
        else "Points of 100; what harms takes points away.",
    )
