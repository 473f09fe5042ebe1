"""The gate of tasks on pages: checks that what is proved with tool calls also holds in the browser.

A row is a family in a split. For each of its tasks, the gate plays the solution, the author's alternatives, the attacks
and the baseline agents; for the first task also mutants and other correct routes. A finished row is one line of a log,
so an interrupted gate resumes with the missing rows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import process_time

import gymnasium as gym
import orjson
from pydantic import TypeAdapter

from palaestra.envs import ToolEnv
from palaestra.log import Log, read_log
from palaestra.proof import CaseCounts, Finding, TaskProof, prove_task
from palaestra.proof.faults import REJECTION_FLOOR, agent_faults, attack_faults
from palaestra.record import record
from palaestra.table import Table


@record
class GateItem:
    """The tasks of a row: the listed tasks of a family in a split."""

    env_id: str
    split: str
    family: str
    tasks: tuple[str, ...]


@record
class GateRow:
    """The results of an item."""

    item: GateItem
    oracles: int
    """Number of tasks whose solution gets every point."""
    alternatives: CaseCounts
    """The author's alternatives; hits are accepted alternatives."""
    attacks: Mapping[str, CaseCounts]
    """Attacks by name: hits are attacks that passed, out of those that tried something and are not correct work."""
    right: int
    """Number of attacks that turned out to do the correct work."""
    agents: Mapping[str, CaseCounts]
    """Baseline agents by name: hits are tasks that the agent solved."""
    mutants: Mapping[str, CaseCounts]
    """Mutants of the first task by kind: hits are rejected mutants."""
    routes: CaseCounts
    """Other correct work on the first task: hits are accepted."""
    wrong: tuple[str, ...]
    """Descriptions of checks that failed."""
    survivors: tuple[str, ...]
    """Descriptions of mutants that passed."""
    seconds: float
    """Processor seconds."""


_ROW = TypeAdapter(GateRow)


def gate_items(env_id: str, *, limit: int | None = None) -> list[GateItem]:
    """The rows of a world's listed tasks, the shortest rows first, so that a short run covers many families.

    Args:
        env_id: The world; it must have the surface of pages.
        limit: Maximum number of tasks in a row.

    Raises:
        CapabilityError: the world has no pages.
    """
    env = _open(env_id)
    tasks: dict[tuple[str, str], list[str]] = {}
    for split in env.task_set.splits:
        for task in env.task_set.ids(split):
            tasks.setdefault((split, task.rpartition("/")[0]), []).append(task)
    items = [
        GateItem(env_id=env_id, split=split, family=family, tasks=tuple(own[:limit]))
        for (split, family), own in tasks.items()
    ]
    return sorted(items, key=lambda item: len(item.tasks))


def run_gate(
    items: Iterable[GateItem],
    *,
    log: Path,
    progress: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = process_time,
) -> list[GateRow]:
    """Run the items that the log lacks, and return the results of all items.

    Args:
        items: The items.
        log: The file of rows, one per line.
        progress: Receives each finished task.
        clock: Returns the seconds used so far.

    Raises:
        RecordError: the log cannot be read.
    """
    found = {one.item: one for one in map(_ROW.validate_json, read_log(log) if log.exists() else ())}
    wanted, envs = list(items), dict[str, ToolEnv]()
    with Log(log) as rows:
        for item in wanted:
            if item in found:
                for task in item.tasks:
                    progress(task)
                continue
            if item.env_id not in envs:
                envs[item.env_id] = _open(item.env_id)
            found[item] = _run(envs[item.env_id], item, progress, clock)
            rows.append(orjson.dumps(found[item]))
            rows.sync()
    return [found[item] for item in wanted]


def _open(env_id: str) -> ToolEnv:
    env = gym.make(env_id, surface="pages").unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is Palaestra's own"
    return env


def _run(env: ToolEnv, item: GateItem, progress: Callable[[str], None], clock: Callable[[], float]) -> GateRow:
    began = clock()
    proofs: list[TaskProof] = []
    for place, task in enumerate(item.tasks):
        proofs.append(prove_task(env, task, varied=place == 0))
        progress(task)
    return GateRow(
        item=item,
        oracles=sum(proof.solved for proof in proofs),
        alternatives=_sum(proof.routes["alternative"] for proof in proofs),
        attacks=_sums(proof.attacks for proof in proofs),
        right=sum(sum(proof.lucky.values()) for proof in proofs),
        agents=_sums(proof.floors for proof in proofs),
        mutants=_sums(proof.mutants for proof in proofs),
        routes=_sum(own for proof in proofs for kind, own in proof.routes.items() if kind != "alternative"),
        wrong=tuple(said for proof in proofs for said in _wrong(proof)),
        survivors=tuple(_describe("wrong work passes", one) for proof in proofs for one in proof.survivors),
        seconds=round(clock() - began, 2),
    )


def _wrong(proof: TaskProof) -> list[str]:
    """Describe the failed checks of a task."""
    task = proof.spec.id
    said: list[str] = []
    if not proof.solved:
        said.append(f"{task}: the solution gets {proof.oracle.points} of {proof.oracle.total} points")
    said += [_describe("right work is rejected", one) for one in proof.false_rejects]
    said += [_describe("an attack passes", one) for one in proof.attacked]
    if proof.twin is not None and not proof.twin.holds:
        said.append(f"{task}: it does not hold against its sibling {proof.twin.sibling}")
    return said


def _describe(what: str, found: Finding) -> str:
    return f"{found.task}: {what} ({found.kind}: {found.what}), {found.points} points"


def _sum(counts: Iterable[CaseCounts]) -> CaseCounts:
    total = CaseCounts()
    for one in counts:
        total += one
    return total


def _sums(counts: Iterable[Mapping[str, CaseCounts]]) -> dict[str, CaseCounts]:
    """The sums by name."""
    total: dict[str, CaseCounts] = {}
    for one in counts:
        for name, own in one.items():
            total.setdefault(name, CaseCounts())
            total[name] += own
    return total


def gate_faults(rows: Sequence[GateRow], *, whole: bool = True) -> list[str]:
    """Describe violations of the gate's rules: of each task, and on average over the tasks of a world.

    Args:
        rows: The results of the items.
        whole: Whether these are all rows of their worlds; only then are the means of attacks that know the solution
            compared with their limits.
    """
    found = [said for row in rows for said in row.wrong]
    for env_id in dict.fromkeys(row.item.env_id for row in rows):
        own = [row for row in rows if row.item.env_id == env_id]
        found += [f"{env_id}: {fault.sentence}" for fault in agent_faults(_sums(row.agents for row in own))]
        if whole:
            found += [f"{env_id}: {fault.sentence}" for fault in attack_faults(_sums(row.attacks for row in own))]
        for kind, counts in _sums(row.mutants for row in own).items():
            if counts.percent < REJECTION_FLOOR:
                found.append(f"{env_id}: {counts.percent:.1f} % of the mutants of kind {kind!r} are rejected")
                found += [said for row in own for said in row.survivors if f"({kind}: " in said]
    return found


_COLUMNS = ("tasks", "solutions", "alternatives", "attacks", "right after all", "agents", "mutants", "routes", "s")


def gate_tables(rows: Sequence[GateRow]) -> list[Table]:
    """The tables of attempts and results: by world and split, by world and family, and by agent."""
    note = (
        "Solutions: tasks whose solution gets every point. Alternatives and routes: right work that is accepted; "
        "attacks: rejected, those that come to do the right work counted apart; agents: episodes of agents that know "
        "nothing which solve no task; mutants: wrong work rejected. Mutants and routes are of one task a family and "
        "split. Seconds are of one processor."
    )
    return [
        Table(
            title="The gate on pages, by world and split",
            columns=("world", "split", *_COLUMNS),
            rows=tuple((*key, *_cells(own)) for key, own in _groups(rows, lambda row: (_world(row), row.item.split))),
            note=note,
        ),
        Table(
            title="Agents that know nothing, on pages",
            columns=("world", "agent", "tasks", "solved", "mean points"),
            rows=tuple(
                (*key, name, f"{counts.of:,}", f"{counts.hits:,}", f"{counts.mean_points:.1f}")
                for key, own in _groups(rows, lambda row: (_world(row),))
                if key != ("all",)
                for name, counts in _sums(row.agents for row in own).items()
            ),
            note="Points are of 100, less what harm takes.",
        ),
        Table(
            title="The gate on pages, by world and family",
            columns=("world", "family", *_COLUMNS),
            rows=tuple(
                (*key, *_cells(own))
                for key, own in _groups(rows, lambda row: (_world(row), row.item.family.partition("/")[2]))
            ),
        ),
    ]


def _groups(
    rows: Sequence[GateRow], key: Callable[[GateRow], tuple[str, ...]]
) -> list[tuple[tuple[str, ...], list[GateRow]]]:
    """Group rows by key, sorted by key, with the group of all rows at the end."""
    names = sorted({key(row) for row in rows})
    groups = [(name, [row for row in rows if key(row) == name]) for name in names]
    return [*groups, (("all", *[""] * (len(names[0]) - 1)), list(rows))] if names else []


def _world(row: GateRow) -> str:
    return row.item.family.partition("/")[0]


def _cells(rows: Sequence[GateRow]) -> tuple[str, ...]:
    tasks = sum(len(row.item.tasks) for row in rows)
    attacks = _sum(counts for row in rows for counts in row.attacks.values())
    agents = _sum(counts for row in rows for counts in row.agents.values())
    return (
        f"{tasks:,}",
        _share(sum(row.oracles for row in rows), tasks),
        _hits(_sum(row.alternatives for row in rows)),
        _share(attacks.of - attacks.hits, attacks.of),
        f"{sum(row.right for row in rows):,}",
        _share(agents.of - agents.hits, agents.of),
        _hits(_sum(counts for row in rows for counts in row.mutants.values())),
        _hits(_sum(row.routes for row in rows)),
        f"{sum(row.seconds for row in rows):,.0f}",
    )


def _hits(counts: CaseCounts) -> str:
    return _share(counts.hits, counts.of)


def _share(part: int, whole: int) -> str:
    return f"{whole:,}" if part == whole else f"{part:,} of {whole:,}"
