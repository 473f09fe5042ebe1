"""The proof of whole generated worlds: sizes, every task, every part of the document."""

import gc
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import gymnasium as gym

from palaestra.digest import digest
from palaestra.envs import ToolEnv
from palaestra.envs.blueprints import Blueprint, check_blueprint
from palaestra.envs.synthesis import WorldPlan, draw_plan, generate_blueprint
from palaestra.envs.synthesis.diversity import near_duplicate_requests
from palaestra.errors import PalaestraError
from palaestra.proof.proof import Proof
from palaestra.proof.prove import prove
from palaestra.proof.world_records import WorldRecords

RECORD = "worlds.jsonl"
"""The file of records in a folder, with one world per line."""
LEAST = {"tables": 6, "tools": 12, "families": 6, "pairs": 4, "tasks": 24, "rules": 3}
"""The minimum sizes of a listed world; `pairs` are families with refusal twins."""
_COLLECT_AFTER = 20_000
"""New objects after which a collection begins: a proof makes many objects that live for one task, and few cycles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldProof:
    """The result of the proof of one world."""

    number: int
    plan: WorldPlan
    blueprint: str
    """The digest of its blueprint."""
    tasks_digest: str
    tables: int
    tools: int
    families: int
    """The number of families without refusal twins."""
    pairs: int
    rules: int
    tasks: int
    criteria: int
    mutants: int
    routes: int
    attacks: int
    """Distinct call sequences of attacks."""
    seconds: float
    """Processor time."""
    faults: tuple[str, ...]
    """Why it is not listed."""

    @property
    def proved(self) -> bool:
        """Whether it is listed."""
        return not self.faults


def prove_worlds(numbers: Iterable[int], out: Path, *, jobs: int = 1) -> Iterator[WorldProof]:
    """Prove worlds, one after another or in several processes, and record each.

    Args:
        numbers: The worlds.
        out: A folder; worlds with a record of the same blueprint are not proved again.
        jobs: The number of processes. It changes nothing in a record except its seconds.
    """
    return _records(out).extend(numbers, prove_world, jobs=jobs)


def read_proofs(out: Path) -> list[WorldProof]:
    """The last record of each world in a folder."""
    return _records(out).read()


def _records(out: Path) -> WorldRecords[WorldProof]:
    return WorldRecords(out / RECORD, WorldProof)


def prove_world(number: int) -> WorldProof:
    """Prove the world with a number. A failure is a fault of the world, never an error."""
    start = time.process_time()
    plan = draw_plan(number)
    thresholds = gc.get_threshold()
    gc.set_threshold(_COLLECT_AFTER, *thresholds[1:])
    try:
        blueprint = generate_blueprint(number)
        if faults := blueprint_faults(blueprint):
            return _refuse(plan, faults, start, blueprint.digest)
        env = cast("ToolEnv", gym.make("palaestra/Synth-v0", world=number, unlisted=True).unwrapped)
        tasks = [task for split in env.task_set.splits for task in env.task_set.candidates(split)]
        proof = prove(env, tasks)
        faults = [str(fault) for fault in proof.faults]
        return _judge(plan, blueprint.digest, env, proof, faults, start)
    except PalaestraError as error:
        return _refuse(plan, [f"{type(error).__name__}: {error}"], start)
    finally:
        gc.set_threshold(*thresholds)


def blueprint_faults(blueprint: Blueprint) -> list[str]:
    """What is wrong with a generated blueprint before any task is made: problems and duplicate requests."""
    twice = [f"near-duplicate requests: {pair}" for pair in near_duplicate_requests(blueprint)]
    return [*map(str, check_blueprint(blueprint)), *twice]


def _judge(plan: WorldPlan, blueprint: str, env: ToolEnv, proof: Proof, faults: list[str], start: float) -> WorldProof:
    world, verdict = env.world, proof.verdict
    families = [family for family in env.task_set.families.values() if family.twin_of is None]
    counts = {
        "tables": len(world.schema.tables),
        "tools": len(list(world.toolbox)),
        "families": len(families),
        "pairs": sum(family.twin for family in families),
        "tasks": verdict.tasks,
        "rules": len(getattr(world.rules, "changes", {})),
    }
    small = [
        f"{counts[name]} {name}; a listed world has {least}" for name, least in LEAST.items() if counts[name] < least
    ]
    return WorldProof(
        number=plan.number,
        plan=plan,
        blueprint=blueprint,
        tasks_digest=digest([env.task_set.instance(p.spec.id).fingerprint() for p in proof.tasks]),
        criteria=proof.working_criteria().of,
        mutants=verdict.mutants,
        routes=verdict.routes,
        attacks=verdict.sequences,
        seconds=round(time.process_time() - start, 2),
        faults=(*faults, *small),
        **counts,
    )


def _refuse(plan: WorldPlan, faults: list[str], start: float, blueprint: str = "") -> WorldProof:
    zero = dict.fromkeys((*LEAST, "criteria", "mutants", "routes", "attacks"), 0)
    seconds = round(time.process_time() - start, 2)
    return WorldProof(
        number=plan.number,
        plan=plan,
        blueprint=blueprint,
        tasks_digest="",
        seconds=seconds,
        faults=tuple(faults),
        **zero,
    )
