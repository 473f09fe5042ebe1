"""Advantages made from advantages."""

from palaestra.trainers.objectives.transforms.batch_norm import BatchNorm
from palaestra.trainers.objectives.transforms.confidence import Arm, confidences
from palaestra.trainers.objectives.transforms.small import DropSmall

__all__ = ["Arm", "BatchNorm", "DropSmall", "confidences"]
