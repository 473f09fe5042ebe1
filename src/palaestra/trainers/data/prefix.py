"""The beginning of a trajectory that another one goes on from.

No state of a world is kept. Worlds are deterministic: the shared turns are stepped again in a fresh episode of the same
task and seed, in whatever process it runs, and each answer must be the recorded one, token by token. A step costs some
100 us, and no token is drawn for it.
"""

from palaestra.errors import RecordError
from palaestra.record import record
from palaestra.trajectory import Tokens


@record
class SharedPrefix:
    """What a trajectory takes over from another one."""

    parent: str
    """The id of the other trajectory."""
    turns: int
    """At least 1."""
    tokens: Tokens
    """Up to the answer to the last of those turns. The new trajectory reads them; it has sampled none of them."""


def prefix_of(parent: str, tokens: Tokens, *, turns: int) -> SharedPrefix:
    """The first `turns` turns of a trajectory and the answers to them.

    Args:
        parent: Its id.
        tokens: All of it.
        turns: At least 1, and fewer than it has: nothing can go on behind the last, which ended it.

    Raises:
        RecordError: there are not so many turns.
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
