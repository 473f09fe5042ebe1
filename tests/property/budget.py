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
MACHINE_SHARDS = shards(2, soak=200)

FUZZ_CALLS = 1_500
"""Calls in a shard of the fuzzer."""
FUZZ_SHARDS = shards(20, soak=700)

WALK_ROUNDS = shards(1, soak=10)
"""Rounds of seeded walks whose digests are compared; see `golden.walks`."""
WALK_PARTS = 1 if SOAK else 3
"""Parts the walks of a round are cut into; each of three other processes takes one part, in a soak all walks."""
WALK_STEPS = 100_000 if SOAK else 50_000
"""Steps that the four processes take together in a round, at least."""

REWARDS_EVERY = 1 if SOAK else 29
"""Under settings other than the plain one, every how many-th task is played: a number prime to how tasks are listed."""

NOISE_STEP = 1 if SOAK else 7
"""Under one switch of noise alone, every how many-th task of split dev is played; each switch begins with another."""

LISTED_PROOFS = 25 if SOAK else 5
"""Of the 25 listed worlds that are drawn, how many are proved again."""

KILLS = 5
"""Kills in a shard of a training run, each at another moment."""
LOOP_SHARDS = shards(1, soak=100)
REFERENCE_SHARDS = shards(1, soak=40)

EVALUATION_KILLS = 3
"""Kills in a shard of an evaluation; starting the command again takes most of its time."""
EVALUATION_SHARDS = shards(1, soak=30)
