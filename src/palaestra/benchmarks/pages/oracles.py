"""Checks that every listed task can be done on pages: its solution, as actions of the browser, gets every point."""

from collections import Counter
from collections.abc import Callable, Mapping

import gymnasium as gym

from palaestra.envs import ToolEnv
from palaestra.record import record
from palaestra.table import Table


@record
class OraclesOnPages:
    """The results of playing the solutions."""

    tasks: Mapping[str, int]
    """Number of played tasks by split."""
    actions: Mapping[str, int]
    """Number of uses by tool."""
    failed: Mapping[str, tuple[str, ...]]
    """Tasks whose solution misses points, by split, each with its result."""

    @property
    def failures(self) -> list[str]:
        """The failed tasks of all splits."""
        return [said for own in self.failed.values() for said in own]


def play_oracles(
    env_id: str, *, limit: int | None = None, progress: Callable[[str], None] = lambda _: None
) -> OraclesOnPages:
    """Play the solution of every listed task of every split on pages, in process.

    Args:
        env_id: The world; it must have the surface of pages.
        limit: Maximum number of tasks of each split.
        progress: Receives each finished task.

    Raises:
        CapabilityError: the world has no pages.
    """
    env = gym.make(env_id, surface="pages").unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is Palaestra's own"
    tasks: Counter[str] = Counter()
    actions: Counter[str] = Counter()
    failed: dict[str, tuple[str, ...]] = {}
    for split in env.task_set.splits:
        for task in env.task_set.ids(split)[:limit]:
            env.reset(seed=0, options={"task": task})
            for call in env.oracle():
                env.step({"tool": call.tool, "arguments": dict(call.arguments)})
                actions[call.tool] += 1
                if env.end is not None:
                    break
            score = env.score()
            if not score.passed:
                said = f"{task}: {score.points} of {score.total} points, ended: {env.end}"
                failed[split] = (*failed.get(split, ()), said)
            tasks[split] += 1
            progress(task)
    return OraclesOnPages(tasks=dict(tasks), actions=dict(actions), failed=failed)


def oracles_table(env_id: str, found: OraclesOnPages) -> Table:
    """The table of solutions that get every point, by split.

    Args:
        env_id: The world.
        found: The results of playing its solutions.
    """
    rows = [
        (split, f"{count:,}", f"{count - len(found.failed.get(split, ())):,}") for split, count in found.tasks.items()
    ]
    total = sum(found.tasks.values())
    rows.append(("all", f"{total:,}", f"{total - len(found.failures):,}"))
    used = ", ".join(f"{name} {count:,}" for name, count in sorted(found.actions.items(), key=lambda one: -one[1]))
    return Table(
        title=f"Tasks of {env_id} whose translated solution gets every point on pages",
        columns=("split", "tasks", "every point"),
        rows=tuple(rows),
        note=f"{sum(found.actions.values()):,} actions: {used}.",
    )
