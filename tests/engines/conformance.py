"""What every engine must keep, a claim a function; the tests of each engine run `CLAIMS` over it, in this order."""

from engines.claims import contexts, drawing, life, weights
from engines.claims.claim import LISTED, Claim

__all__ = ["CLAIMS", "Claim"]

CLAIMS: list[Claim] = [
    claim for part in (drawing, contexts, weights, life) for claim in LISTED if claim.__module__ == part.__name__
]
"""The last one closes the engine."""
