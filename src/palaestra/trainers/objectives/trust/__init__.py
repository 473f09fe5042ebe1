"""Trust regions, which limit a step: surrogates, one for every objective of the GRPO family."""

from palaestra.trainers.objectives.trust.clipped import Cispo, Clip, Dcpo, Dppo
from palaestra.trainers.objectives.trust.covariance import ClipCov, KlCov, covariance
from palaestra.trainers.objectives.trust.expert import Luffy
from palaestra.trainers.objectives.trust.geometric import Gmpo
from palaestra.trainers.objectives.trust.protected import LpReg
from palaestra.trainers.objectives.trust.region import StepColumns, Surrogate, TrustRegion
from palaestra.trainers.objectives.trust.soft import Maspo, Reinforce, Sapo, SquarePenalty, UnclippedRatio, Vespo
from palaestra.trainers.objectives.trust.target import Lad, generator

__all__ = [
    "Cispo",
    "Clip",
    "ClipCov",
    "Dcpo",
    "Dppo",
    "Gmpo",
    "KlCov",
    "Lad",
    "LpReg",
    "Luffy",
    "Maspo",
    "Reinforce",
    "Sapo",
    "SquarePenalty",
    "StepColumns",
    "Surrogate",
    "TrustRegion",
    "UnclippedRatio",
    "Vespo",
    "covariance",
    "generator",
]
