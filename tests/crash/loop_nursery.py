"""A process that has torch loaded and gives birth to training runs, each a process of its own that can be killed.

For each line on standard input, a kind of run and a folder, it forks; the child trains there, going on from what it
finds, and tells standard output that it began, what it came to, or nothing at all, if it is killed.
"""

import os
import sys
from pathlib import Path

import orjson
import torch

from crash.loops import branch_ledger, demonstrations, ledger, rollout_loop, run, sft_loop


def tell(what: str, value: object) -> None:
    """One line, in one write: whoever reads it may kill this process before the next."""
    os.write(1, orjson.dumps([what, value]) + b"\n")


def train(kind: str, directory: Path) -> None:
    """Supervised learning, then a stage with rollouts of that kind."""
    tell("began", os.getpid())
    said: list[str] = []
    warm = run(sft_loop(), directory / "sft", said=said)
    taught = run(rollout_loop(warm.policy, kind, said=said), directory / "grpo", said=said)
    tell("said", said)
    stage = directory / "grpo"
    tell(
        "done",
        {
            "sft": warm.policy.digest(),
            "grpo": taught.policy.digest(),
            "ledger": ledger(stage),
            "branches": branch_ledger(stage),
        },
    )


def main() -> None:
    """Fork for each line until there is no more."""
    torch.set_num_threads(1)  # so that no thread is lost in a fork
    demonstrations()
    for line in sys.stdin:
        kind, _, directory = line.strip().partition(" ")
        child = os.fork()
        if not child:
            code = 1
            try:
                train(kind, Path(directory))
                code = 0
            finally:
                os._exit(code)
        tell("ended", os.waitpid(child, 0)[1])


if __name__ == "__main__":
    main()
