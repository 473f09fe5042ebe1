"""Same seed, same calls, same bytes: in another environment, in a used one, and in other processes."""

import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import ExitStack

import orjson

from palaestra.envs.check.subject import OperationResult, Subject, Walk, apply, describe_operation, replay
from palaestra.envs.env import ToolEnv
from palaestra.errors import EnvironmentCheckError
from palaestra.packs import PACKS

_RULE = "the same seed and the same calls give the same bytes"
_HASH_SEEDS = ("1", "2")


def check_repeats(subject: Subject) -> None:
    """Another environment made alike goes through the same walk to the same digests and returns."""
    for walk in subject.walks:
        _compare(subject, walk, replay(subject.make(), walk.operations), "in another environment made alike")


def check_reset(subject: Subject) -> None:
    """A used environment is as a fresh one: the seed alone draws the task, and nothing is left of past episodes."""
    for seed, walk in zip(subject.seeds, subject.walks, strict=True):
        used, fresh = _use(subject), subject.make()
        used.reset(seed=seed)
        fresh.reset(seed=seed)
        if used.task.id != fresh.task.id:
            raise subject.fault(
                f"reset(seed={seed}) draws {fresh.task.id} in a fresh environment and {used.task.id} in a used one",
                "without a task the seed alone draws the instance",
                "Draw it from a stream of the seed, not from anything that lives longer than an episode",
            )
        marks = replay(_use(subject), walk.operations)
        _compare(subject, walk, marks, "in an environment that was used before")


def _use(subject: Subject) -> ToolEnv:
    """An environment in which an episode was played to its end."""
    env = subject.make()
    env.reset(seed=subject.seeds[-1] + 1)
    for _ in range(env.snapshot().max_turns):
        if apply(env, []).ended:
            break
    return env


def check_processes(subject: Subject) -> None:
    """Two other processes, each with its own PYTHONHASHSEED, go through the walks to the same digests."""
    with ExitStack() as stack:
        children = [stack.enter_context(_child(hash_seed)) for hash_seed in _HASH_SEEDS]
        request = _request(subject)
        answered = [(*child.communicate(request), child.returncode) for child in children]
    for hash_seed, (output, errors, status) in zip(_HASH_SEEDS, answered, strict=True):
        if status:
            reason = errors.decode(errors="replace").strip().rpartition("\n")[2]
            raise subject.fault(
                f"another process could not make and play it: {reason}",
                "an id can be made wherever the package that holds its tasks is imported",
                "Register it with palaestra.register_world where that package is imported",
            )
        answers = orjson.loads(output)
        for walk, answer in zip(subject.walks, answers, strict=True):
            marks = (OperationResult(**mark) for mark in answer)
            _compare(subject, walk, marks, f"in another process (PYTHONHASHSEED={hash_seed})")


def _request(subject: Subject) -> bytes:
    """What `palaestra.envs.check.replay` reads: which environment to make, and the walks to play."""
    env = subject.make()
    request = {
        "module": env.world.families,
        "place": PACKS.find(env.env_id).place,
        "env_id": env.env_id,
        "id": subject.spec.id,
        "kwargs": subject.spec.kwargs,
        "walks": [walk.operations for walk in subject.walks],
    }
    return orjson.dumps(request, default=str) + b"\n"


def _child(hash_seed: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "palaestra.envs.check.replay"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
    )


def _compare(subject: Subject, walk: Walk, marks: Iterable[OperationResult], where: str) -> None:
    for number, (wanted, got) in enumerate(zip(walk.marks, marks, strict=True)):
        if wanted != got:
            raise difference(subject, walk, number, wanted, got, where)


def difference(
    subject: Subject, walk: Walk, number: int, wanted: OperationResult, got: OperationResult, where: str
) -> EnvironmentCheckError:
    """The error for an operation that came out otherwise `where`."""
    what = "the digest" if wanted.digest != got.digest else "what it returned"
    return subject.fault(
        f"operation {number} of a walk, {describe_operation(walk.operations[number])}: {what} differs {where}",
        _RULE,
        "Keep all state in rows, streams and clock; look for globals, set order, ids of objects and time",
    )
