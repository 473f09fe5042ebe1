"""The rules of a request, which are checked before anything is sampled for it."""

import math

from palaestra.trainers.engines.engine import TurnRequest

_LONGEST_KEY = 64


def check_request(request: TurnRequest, *, context: int, vocabulary: int) -> None:
    """Check a request.

    Args:
        request: The request.
        context: Maximum tokens of a trajectory.
        vocabulary: The size of the vocabulary.

    Raises:
        ValueError: the request breaks a rule; the message says which and what to do.
    """
    sampling, name, length = request.sampling, f"trajectory {request.trajectory!r}", len(request.context)
    if not length:
        raise ValueError(f"{name}: its context is empty; give at least one token")
    if length >= context:
        raise ValueError(
            f"{name}: its context has {length} tokens of {context}, which leaves no room for a turn; "
            "end the trajectory or rewrite its context"
        )
    if not 0 <= min(request.context) <= max(request.context) < vocabulary:
        raise ValueError(f"{name}: its context names tokens outside of 0 to {vocabulary - 1}, the vocabulary")
    if sampling.limit < 1:
        raise ValueError(f"{name}: limit={sampling.limit}; a turn has at least 1 token")
    if not 0 < sampling.temperature < math.inf:
        raise ValueError(
            f"{name}: temperature={sampling.temperature}; give a number above 0, such as 1e-3 for the likeliest"
        )
    if not 0 < sampling.top_p <= 1:
        raise ValueError(f"{name}: top_p={sampling.top_p}; give a number above 0 and at most 1")
    if len(request.noise) > _LONGEST_KEY:
        raise ValueError(f"{name}: its noise has {len(request.noise)} bytes; a key has at most {_LONGEST_KEY}")
