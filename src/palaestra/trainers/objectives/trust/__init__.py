"""How far a step may go on what a batch says: surrogates, of which every objective of the family of GRPO has one."""

from palaestra.trainers.objectives.trust.clipped import Cispo, Clip, Dcpo, Dppo
from palaestra.trainers.objectives.trust.region import Surrogate, TrustRegion
from palaestra.trainers.objectives.trust.soft import Maspo, Reinforce, Sapo, Square, Unclipped, Vespo

__all__ = [
    "Cispo",
    "Clip",
    "Dcpo",
    "Dppo",
    "Maspo",
    "Reinforce",
    "Sapo",
    "Square",
    "Surrogate",
    "TrustRegion",
    "Unclipped",
    "Vespo",
]
