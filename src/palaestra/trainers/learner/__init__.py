"""What turns trajectories into weights: a decoder, an optimiser, and the passes between them."""

from palaestra.trainers.learner.config import LearnerConfig, LoraConfig, Precision
from palaestra.trainers.learner.crew import Crew, gathered
from palaestra.trainers.learner.learner import Learner
from palaestra.trainers.learner.logprobs import Scores, score

__all__ = [
    "Crew",
    "Learner",
    "LearnerConfig",
    "LoraConfig",
    "Precision",
    "Scores",
    "gathered",
    "score",
]
