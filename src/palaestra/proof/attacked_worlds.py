"""Attacks on whole generated worlds: which of a world's tasks and pairs each attack solves."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import gymnasium as gym

from palaestra.envs import ToolEnv
from palaestra.envs.blueprints.attacks import ATTACKS as BLUEPRINT_ATTACKS
from palaestra.envs.synthesis import WorldPlan, draw_plan, generate_blueprint
from palaestra.errors import PalaestraError, UnknownNameError
from palaestra.proof.attack import AttackResult, attack_tasks, count_attack
from palaestra.proof.attacks import ATTACKS, UNGUARDED
from palaestra.proof.world_records import WorldRecords

RECORD = "attacks.jsonl"
"""The file of records in a folder, with one world per line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackCounts:
    """The results of one attack on the tasks of one split of a world."""

    tasks: int
    """The number of tasks in which it found something to try."""
    solved: int
    right: int
    """Tasks that it solved by the right work."""
    points: float
    """The sum of the scores."""
    pairs: int
    """Pairs of a task and its twin in which it found something to try in both."""
    pairs_solved: int
    pairs_right: int
    """Pairs that it solved by the right work."""

    @property
    def cheated(self) -> int:
        """Pairs that it solved by other work."""
        return self.pairs_solved - self.pairs_right


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackedWorld:
    """The results of attacks on one world."""

    number: int
    plan: WorldPlan
    blueprint: str
    """The digest of its blueprint."""
    pairs: int
    """All pairs of a task and its refusal twin."""
    attacks: Mapping[str, Mapping[str, AttackCounts]]
    """By attack and split of tasks."""
    seconds: float
    """Processor time."""
    fault: str = ""
    """Why the world could not be attacked; empty if it could."""


def attack_worlds(
    numbers: Iterable[int], out: Path, *, attacks: Iterable[str] = (), jobs: int = 1
) -> Iterator[AttackedWorld]:
    """Run attacks on every task of worlds, and record each world.

    Args:
        numbers: The worlds.
        attacks: Names of attacks. Default: all.
        out: A folder; worlds with a record of the same blueprint and attacks are not attacked again.
        jobs: The number of processes. It changes nothing in a record except its seconds.
    """
    names = tuple(dict.fromkeys(attacks)) or (*ATTACKS, *UNGUARDED, *(attack.name for attack in BLUEPRINT_ATTACKS))
    return _records(out).extend(
        numbers,
        partial(attack_world, attacks=names),
        is_whole=lambda world: not world.fault and set(world.attacks) == set(names),
        jobs=jobs,
    )


def read_attacked_worlds(out: Path) -> list[AttackedWorld]:
    """The last record of each world in a folder."""
    return _records(out).read()


def _records(out: Path) -> WorldRecords[AttackedWorld]:
    return WorldRecords(out / RECORD, AttackedWorld)


def attack_world(number: int, *, attacks: Sequence[str] = ()) -> AttackedWorld:
    """Run attacks (default: all) on every task of a generated world, whatever its split, listed or not.

    Raises:
        UnknownNameError: there is no such attack.
    """
    start = time.process_time()
    plan = draw_plan(number)
    blueprint, pairs, found, fault = "", 0, dict[str, dict[str, AttackCounts]](), ""
    try:
        blueprint = generate_blueprint(number).digest
        env = cast("ToolEnv", gym.make("palaestra/Synth-v0", world=number, unlisted=True).unwrapped)
        by_split = {split: env.task_set.candidates(split) for split in env.task_set.splits}
        report = attack_tasks(env, [task for tasks in by_split.values() for task in tasks], attacks)
        pairs = sum(task.sibling is not None for task in report.tasks)
        for result in report.results:
            name = result.attack.name
            of_split = {split: [one for one in report.tasks if one.task in ids] for split, ids in by_split.items()}
            found[name] = {split: _counts(count_attack(result.attack, one)) for split, one in of_split.items()}
    except UnknownNameError:
        raise
    except PalaestraError as error:
        fault = f"{type(error).__name__}: {error}"
    seconds = round(time.process_time() - start, 2)
    return AttackedWorld(
        number=number, plan=plan, blueprint=blueprint, pairs=pairs, attacks=found, seconds=seconds, fault=fault
    )


def _counts(result: AttackResult) -> AttackCounts:
    return AttackCounts(
        tasks=result.tasks,
        solved=result.solved,
        right=result.right,
        points=round(result.points * result.tasks, 6),
        pairs=result.pairs,
        pairs_solved=result.pairs_solved,
        pairs_right=result.pairs_right,
    )
