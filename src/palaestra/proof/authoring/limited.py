"""Judges a draft in a separate process with bounded time and memory.

Covered: if a document's world or proof needs too much time or memory, because of its rows or conditions, that is a
finding about the document. Not covered: code, since a document cannot run any; there is no sandbox.
"""

import multiprocessing
import resource
import signal
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from palaestra.errors import InfrastructureError
from palaestra.proof.authoring.judgement import Judgement, LeastSize, judge_tasks, judge_text

_WAIT_FACTOR, _WAIT_FLOOR = 8, 60.0
"""The wall time of a process on a busy machine, as a multiple of its processor time, and its minimum in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofLimits:
    """Limits for the proof of one draft."""

    seconds: int = 300
    """Seconds of processor time."""
    gigabytes: int = 4
    """Gigabytes of address space."""


def judge_within_limits(path: Path, least: LeastSize | None = None, limits: ProofLimits | None = None) -> Judgement:
    """Judge the document in a file. Its world is made in another process under the limits.

    Raises:
        InfrastructureError: the judge itself failed, which says nothing about the document.
    """
    early = judge_text(path.read_text(encoding="utf-8"), least)
    if early.findings:
        return early
    limits = limits or ProofLimits()
    context = multiprocessing.get_context("spawn")  # not by fork: this process may have threads
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_judge_into, args=(theirs, path, limits), daemon=True)
    process.start()
    theirs.close()
    try:
        return _receive(mine, path, limits)
    except EOFError:
        process.join()
        if process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL):
            return _too_much(f"the proof took more than {limits.seconds} s of processor time")
        raise InfrastructureError(
            f"the judge of {path} ended with exit code {process.exitcode}; the draft is kept, so run it again"
        ) from None
    finally:
        process.kill()
        process.join()
        mine.close()


def _receive(mine: Connection, path: Path, limits: ProofLimits) -> Judgement:
    if not mine.poll(max(_WAIT_FLOOR, _WAIT_FACTOR * limits.seconds)):
        raise InfrastructureError(f"the judge of {path} gave no answer in time; the draft is kept, so run it again")
    found: object = mine.recv()
    if isinstance(found, Judgement):
        return found
    if found is None:
        return _too_much(f"the proof took more than {limits.gigabytes} GB of memory")
    raise InfrastructureError(f"the judge of {path} crashed: {found}; report it with the draft, which is kept")


def _too_much(what: str) -> Judgement:
    fix = "let there be fewer rows, and conditions that go through fewer of them"
    return Judgement(stage="limits", findings=(f"{what}; {fix}",))


def _judge_into(to: Connection, path: Path, limits: ProofLimits) -> None:
    """Judge in this process and send the result: a judgement, `None` for too little memory, or a crash."""
    found: object
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (limits.gigabytes << 30, limits.gigabytes << 30))
        found = judge_tasks(path)
    except MemoryError:
        found = None
    except Exception as error:  # the parent reports it; it must not look like a bad draft
        found = repr(error)
    to.send(found)
    to.close()
