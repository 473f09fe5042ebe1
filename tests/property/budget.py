"""How much is run: enough on every commit, far more in a soak. The one place that reads `PALAESTRA_SOAK`.

What is worth repeating is cut into shards. A shard is always the same size and always does the same work, so that a
soak is more of what a commit runs, several processes share it, and a failure is run again by its shard's name.
"""

import os

SOAK = os.environ.get("PALAESTRA_SOAK", "") not in ("", "0")


def shards(commit: int, *, soak: int) -> range:
    """The shards to run: the first `commit` of them, or `soak` of them in a soak."""
    return range(soak if SOAK else commit)


MACHINE_STEPS = 5_000
"""Steps that a shard of a state machine takes at least."""
MACHINE_SHARDS = shards(4, soak=200)

FUZZ_CALLS = 5_000
"""Calls in a shard of the fuzzer."""
FUZZ_SHARDS = shards(20, soak=200)

WALK_ROUNDS = shards(1, soak=10)
"""Rounds of seeded walks whose digests are compared; see `golden.walks`."""
