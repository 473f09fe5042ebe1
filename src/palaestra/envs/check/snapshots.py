"""Snapshots hold everything, wherever they are restored; forks stand at the same place and go their own ways."""

import pickle
from typing import cast

from palaestra.envs.check.determinism import difference
from palaestra.envs.check.subject import Subject, Walk, apply, replay
from palaestra.envs.env import ToolEnv
from palaestra.envs.snapshot import Snapshot
from palaestra.protocols import Action

_LOOKAHEAD = 5
_WHOLE = "a snapshot holds everything that decides how an episode goes on"


def check_snapshots(subject: Subject) -> None:
    """A snapshot pickles; restored elsewhere, or where it was taken, the episode goes on bit for bit."""
    for walk in subject.walks:
        env = subject.make()
        for number in range(len(walk.operations)):
            apply(env, walk.operations[number])
            snapshot = env.snapshot()
            other = subject.make()
            other.restore(_pickle_again(subject, snapshot))
            _must_stand(subject, other, env.digest(), "restored into another environment")
            _go_on(subject, other, walk, number, "after a restore into another environment")
            played = _go_on(subject, env, walk, number, "in the environment that a snapshot was taken of")
            env.restore(snapshot)
            where = f"taken back by {played} step(s)"
            _must_stand(subject, env, walk.marks[number].digest, where)


def _pickle_again(subject: Subject, snapshot: Snapshot) -> Snapshot:
    try:
        return cast("Snapshot", pickle.loads(pickle.dumps(snapshot)))  # noqa: S301  our own bytes
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise subject.fault(
            f"a snapshot does not pickle: {error}",
            "a snapshot can be restored in another process",
            "Put plain records into it, and no function, lock or handle",
        ) from error


def _must_stand(subject: Subject, env: ToolEnv, digest: str, where: str) -> None:
    if env.digest() != digest:
        raise subject.fault(
            f"a snapshot {where} gives another digest",
            _WHOLE,
            "Add to it what digest() covers and it leaves out",
        )


def _go_on(subject: Subject, env: ToolEnv, walk: Walk, number: int, where: str) -> int:
    """Play a few more steps of the same episode and hold them to the walk; how many there were."""
    played = 0
    for ahead in range(number + 1, min(number + 1 + _LOOKAHEAD, len(walk.operations))):
        operation = walk.operations[ahead]
        if isinstance(operation, int):
            break
        got = apply(env, operation)
        played += 1
        if got != walk.marks[ahead]:
            raise difference(subject, walk, ahead, walk.marks[ahead], got, where)
    return played


def check_forks(subject: Subject) -> None:
    """A fork stands where its origin stands; what it does disturbs neither its origin nor its siblings."""
    for walk in subject.walks:
        env = subject.make()
        for number, mark in enumerate(replay(env, walk.operations)):
            following = walk.operations[number + 1 : number + 2]
            action = following[0] if following and not isinstance(following[0], int) else None
            _check_fork(subject, env, mark.digest, action)


def _check_fork(subject: Subject, env: ToolEnv, digest: str, action: Action | None) -> None:
    fork, sibling = env.fork(), env.fork()
    if fork.digest() != digest:
        raise subject.fault(
            "a fork has another digest than its origin",
            "a fork stands at the same place",
            "Copy everything that digest() covers",
        )
    if action is not None:
        fork.step(action)
    fork.reset(seed=subject.seeds[0])
    for name, other in (("origin", env), ("sibling", sibling)):
        if other.digest() != digest:
            raise subject.fault(
                f"what a fork did moved its {name}",
                "forks share nothing that can change",
                "Copy rows, journal, clock, events and checklist; share only what is never written",
            )
