"""The main job in small: agents rolled out on every family, every task proved, and all of it written to be read."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """What the demo found."""

    episodes: list[Episode]
    proof: Proof
    tables: list[Table]


def run_demo(out: Path, *, bar: Callable[[str, int], AbstractContextManager[Bar]]) -> DemoReport:
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
    ids = [task for split in SPLITS for task in world.task_set.ids(split)]
    samples = {task.rpartition("/")[0]: task for task in reversed(ids)}  # the first instance of each family
    agents = roster(world)
    episodes: list[Episode] = []
    with bar("rolling out", len(samples) * len(agents)) as progress:
        for task in sorted(samples.values()):
            for name, agent in agents.items():
                episodes.append(rollout(env, agent, name=name, seed=0, task=task))
                progress.step(f"{name} {task}")
    with bar("proving", len(ids)) as progress:
        proof = prove(world, ids, progress=progress.step)
    tables = [rollout_table(episodes), *proof_tables(proof)]
    with saving(out) as directory:
        write_episodes(directory / "trajectories.jsonl", episodes)
        (directory / "proof.json").write_bytes(orjson.dumps(proof_document(proof), option=orjson.OPT_INDENT_2))
        document = "\n\n".join(f"### {t.title}\n\n{t.markdown()}\n\n{t.note}".rstrip() for t in tables)
        (directory / "tables.md").write_text(document + "\n", encoding="utf-8")
        page = render_page(episodes, title="Palaestra: the demo", tables=tables)
        (directory / "index.html").write_text(page, encoding="utf-8")
    return DemoReport(episodes=episodes, proof=proof, tables=tables)


def rollout_table(episodes: list[Episode]) -> Table:
    """The score of each agent on the first task of each family."""
    agents = list(dict.fromkeys(e.agent for e in episodes))
    families = list(dict.fromkeys(e.task.family for e in episodes))
    by_place = {(e.task.family, e.agent): e for e in episodes}
    rows: list[tuple[str, ...]] = []
    for family in families:
        played = [by_place[family, agent] for agent in agents]
        seen = "no" if played[0].task.split == "heldout" else "yes"
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
