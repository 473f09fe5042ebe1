"""The first turns of a trajectory, from which another trajectory continues.

No state of a world is kept. Worlds are deterministic: the shared turns are played again in a fresh episode of the same
task and seed, in any process, and each answer must equal the recorded one, token by token. A turn costs about 100 us,
and no token is sampled for it.
"""

from palaestra.errors import RecordError
from palaestra.record import record
from palaestra.trajectory import Tokens


@record
class SharedPrefix:
    """The turns that a trajectory takes over from another one."""

    parent: str
    """The id of the other trajectory."""
    turns: int
    """The number of turns, at least 1."""
    tokens: Tokens
    """The tokens up to the answer to the last of these turns; the new trajectory reads them and samples none."""


def prefix_of(parent: str, tokens: Tokens, *, turns: int) -> SharedPrefix:
    """The first `turns` turns of a trajectory, with the answers to them.

    Args:
        parent: The trajectory's id.
        tokens: All tokens of the trajectory.
        turns: The number of turns: at least 1, and fewer than the trajectory has, since its last turn ended it.

    Raises:
        RecordError: the trajectory does not have that many turns.
    """
    starts = [span.start for span in tokens.spans if span.kind == "turn"]
    if not 1 <= turns < len(starts):
        raise RecordError(
            f"trajectory {parent} has {len(starts)} turns, so {turns} of them are no beginning that can be gone on "
            f"from; give 1 to {len(starts) - 1}"
        )
    end = starts[turns]
    shared = Tokens(
        ids=tokens.ids[:end],
        sampled=(False,) * end,
        logprobs=(0.0,) * end,
        versions=(0,) * end,
        spans=tuple(span for span in tokens.spans if span.end <= end),
        stops=tokens.stops[:turns],
        shared_turns=turns,
    )
    return SharedPrefix(parent=parent, turns=turns, tokens=shared)
