"""A process that has torch loaded and gives birth to training runs, each a process of its own that can be killed.

For each line on standard input, a folder, it forks; the child trains there, going on from what it finds, and tells
standard output what it says, what it came to, or nothing at all, if it is killed.
"""

import os
import sys
from pathlib import Path

import orjson
import torch

from crash.tiny import TinyGrpo, TinyWarmUp, demonstrations, history
from palaestra.trainers.reference import run_stage


def tell(what: str, value: object) -> None:
    """One line, in one write: whoever reads it may kill this process before the next."""
    os.write(1, orjson.dumps([what, value]) + b"\n")


def say(text: str) -> None:
    """What a stage says of where it goes on from."""
    tell("said", text)


def train(directory: Path) -> None:
    """Both stages, saved after every step."""
    tell("began", os.getpid())
    warm = run_stage(TinyWarmUp(), directory / "warm-up", say=say)
    taught = run_stage(TinyGrpo(warm.policy), directory / "grpo", say=say)
    policies = [warm.policy.digest(), taught.policy.digest()]
    tell("done", [policies, history(warm.progress), history(taught.progress)])


def main() -> None:
    """Fork for each line until there is no more."""
    torch.set_num_threads(1)  # so that no thread is lost in a fork
    demonstrations()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            code = 1
            try:
                train(Path(line.strip()))
                code = 0
            finally:
                os._exit(code)
        tell("ended", os.waitpid(child, 0)[1])


if __name__ == "__main__":
    main()
