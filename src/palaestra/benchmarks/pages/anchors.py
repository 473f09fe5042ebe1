"""Measures how often states recur within a group of rollouts, on which GiGPO's comparison of turns depends.

The state of a turn is the key that `Gigpo` compares by (`anchor_U`): the task before the first turn, and after it the
rows and the last observation. The result of each group is one line of a log, so an interrupted measurement can be
resumed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import gymnasium as gym
import orjson
from pydantic import TypeAdapter

from palaestra.agents import LegalRandom, rollout
from palaestra.benchmarks.statistics import MeanEstimate, Observation, Unit, estimate_share
from palaestra.envs import ToolEnv
from palaestra.log import Log, read_log
from palaestra.protocols import Action
from palaestra.record import record
from palaestra.records import JsonSchema, Message
from palaestra.seeding import Stream
from palaestra.table import Table
from palaestra.trajectory import Episode

if TYPE_CHECKING:
    from palaestra.benchmarks.curves import Panel

GROUP_SIZE = 8
"""Number of rollouts in a group."""
RANDOM_PERCENT = 20
"""Percentage of random turns of the noisy oracle."""
POLICIES = ("random", "noisy oracle")
SURFACES = ("conventional", "generic", "pages")


@record
class AnchorCell:
    """A group of rollouts: one task, one surface, one policy."""

    env_id: str
    surface: str
    policy: str
    task: str


@record
class AnchorGroup:
    """The recurrence of states in a group."""

    cell: AnchorCell
    turns: int
    """Number of turns of all rollouts."""
    shared: int
    """Turns whose state occurs in more than one rollout."""
    later_turns: int
    """Turns after the first, which starts from the same state in every rollout."""
    later_shared: int
    """Later turns whose state occurs in more than one rollout."""
    passed: int
    """Number of rollouts that passed."""


_GROUP = TypeAdapter(AnchorGroup)


class NoisyOracle:
    """Plays a task's reference solution; before each of its calls it may make random ones.

    Args:
        env: The environment that is played in.
    """

    def __init__(self, env: ToolEnv) -> None:
        self._env = env

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """Begin a new episode, with a random stream for the seed."""
        del tools
        self._stream = Stream.root("noisy-oracle", seed)
        self._plan = iter(self._env.oracle())

    def act(self, messages: Sequence[Message]) -> Action:
        """The next call of the solution, or a random call."""
        del messages
        call = None if self._stream.chance(RANDOM_PERCENT) else next(self._plan, None)
        if call is None:
            return self._env.legal_actions(1, seed=self._stream.below(2**31))[0]
        return {"tool": call.tool, "arguments": dict(call.arguments)}


def anchor_cells(env_ids: Iterable[str], *, groups: int, split: str | None = None) -> list[AnchorCell]:
    """The groups of all worlds, surfaces and policies: the first tasks of several families.

    Args:
        env_ids: The worlds; surfaces that a world lacks are left out.
        groups: Maximum number of families.
        split: The split of the tasks; by default the first split.
    """
    cells: list[AnchorCell] = []
    for env_id in env_ids:
        env = _make(env_id, "conventional")
        tasks: dict[str, str] = {}
        for task in env.task_set.ids(split or env.task_set.splits[0]):
            tasks.setdefault(task.rpartition("/")[0], task)
        families = sorted(tasks)
        every = max(1, len(families) // groups)
        for surface in SURFACES:
            if surface != "conventional" and surface not in env.world.surfaces:
                continue
            for policy in POLICIES:
                cells += [
                    AnchorCell(env_id=env_id, surface=surface, policy=policy, task=tasks[family])
                    for family in families[::every][:groups]
                ]
    return cells


def _make(env_id: str, surface: str) -> ToolEnv:
    env = gym.make(env_id, surface=surface).unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is Palaestra's own"
    return env


def measure_anchors(
    cells: Sequence[AnchorCell], *, log: Path, step: Callable[[str], None] = lambda _: None
) -> list[AnchorGroup]:
    """Play the groups that the log lacks, and return the results of all groups.

    Args:
        cells: The groups.
        log: The file of results, one per line.
        step: Receives the task of each finished group.

    Raises:
        RecordError: the log cannot be read.
    """
    found = {one.cell: one for one in map(_GROUP.validate_json, read_log(log) if log.exists() else ())}
    envs: dict[tuple[str, str], ToolEnv] = {}
    with Log(log) as results:
        for cell in cells:
            if cell not in found:
                key = (cell.env_id, cell.surface)
                if key not in envs:
                    envs[key] = _make(*key)
                found[cell] = _play(envs[key], cell)
                results.append(orjson.dumps(found[cell]))
                results.sync()
            step(cell.task)
    return [found[cell] for cell in cells]


def _play(env: ToolEnv, cell: AnchorCell) -> AnchorGroup:
    episodes: list[Episode] = []
    for number in range(GROUP_SIZE):
        agent = LegalRandom(env.legal_actions) if cell.policy == "random" else NoisyOracle(env)
        episodes.append(rollout(env, agent, name=f"{cell.policy} {number}", seed=0, task=cell.task))
    return count_anchors(cell, episodes)


def count_anchors(cell: AnchorCell, episodes: Sequence[Episode]) -> AnchorGroup:
    """Count the turns of a group whose state occurs in more than one of its episodes."""
    after = [[turn.anchor for turn in episode.turns] for episode in episodes]
    states = [["opening", *own[:-1]][: len(own)] for own in after]
    holders: dict[str, int] = {}
    for own in states:
        for state in set(own):
            holders[state] = holders.get(state, 0) + 1
    shared = [[holders[state] > 1 for state in own] for own in states]
    return AnchorGroup(
        cell=cell,
        turns=sum(map(len, shared)),
        shared=sum(map(sum, shared)),
        later_turns=sum(len(own[1:]) for own in shared),
        later_shared=sum(sum(own[1:]) for own in shared),
        passed=sum(episode.score.passed for episode in episodes),
    )


def _by_cell(groups: Sequence[AnchorGroup]) -> Mapping[tuple[str, str, str], list[AnchorGroup]]:
    found: dict[tuple[str, str, str], list[AnchorGroup]] = {}
    for group in groups:
        cell = group.cell
        found.setdefault((cell.env_id.rpartition("/")[2], cell.surface, cell.policy), []).append(group)
    return found


def _share(groups: Sequence[AnchorGroup], *, later: bool) -> MeanEstimate | None:
    """The mean share over groups, in per cent; `None` where no group has such a turn."""
    parts = [
        (one.cell.task, *((one.later_shared, one.later_turns) if later else (one.shared, one.turns))) for one in groups
    ]
    observations = [
        Observation(value=100 * shared / turns, task=task, family=task.rpartition("/")[0])
        for task, shared, turns in parts
        if turns
    ]
    return estimate_share(observations, Unit.FAMILY, whole=100.0) if observations else None


def anchors_table(groups: Sequence[AnchorGroup]) -> Table:
    """The table of the recurrence of states, by world, surface and policy."""
    rows = [
        (
            *place,
            str(len(own)),
            f"{sum(one.turns for one in own) / (GROUP_SIZE * len(own)):.1f}",
            f"{100 * sum(one.passed for one in own) / (GROUP_SIZE * len(own)):.0f}",
            _text(_share(own, later=False)),
            _text(_share(own, later=True)),
        )
        for place, own in _by_cell(groups).items()
    ]
    return Table(
        title="Turns whose state occurs in more than one rollout of the group",
        columns=("world", "surface", "policy", "groups", "turns", "passed, %", "all turns, %", "after the first, %"),
        rows=tuple(rows),
        note=f"Groups of {GROUP_SIZE} rollouts of one task; means over families with 95 % intervals. Turns are a "
        f"rollout's. The noisy oracle makes random calls on {RANDOM_PERCENT} % of its turns. The first turn begins at "
        "the same place in all rollouts.",
    )


def _text(share: MeanEstimate | None) -> str:
    if share is None:
        return "-"
    ends = "" if share.low is None or share.high is None else f" [{share.low:.1f}, {share.high:.1f}]"
    return f"{share.mean:.1f}{ends}"


def anchors_panels(groups: Sequence[AnchorGroup]) -> "list[Panel]":
    """A panel for each policy, with a line for each surface and a colour for each world."""
    from palaestra.benchmarks.curves import Estimate, Panel  # noqa: PLC0415  needs matplotlib

    return [
        Panel(
            title=f"{policy}: later turns at a shared state, %",
            x_label="",
            y_label="",
            sideways=True,
            span=(0.0, 100.0),
            estimates=[
                Estimate.of(surface, world, share)
                for (world, surface, of), own in _by_cell(groups).items()
                if of == policy and (share := _share(own, later=True)) is not None
            ],
        )
        for policy in POLICIES
        if any(group.cell.policy == policy and group.later_turns for group in groups)
    ]
