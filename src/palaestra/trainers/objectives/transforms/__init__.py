"""Transforms of advantages."""

from palaestra.trainers.objectives.transforms.batch_norm import BatchNorm
from palaestra.trainers.objectives.transforms.confidence import Arm, confidences
from palaestra.trainers.objectives.transforms.small import DropSmall
from palaestra.trainers.objectives.transforms.streams import ChecklistStream, normalised_stream

__all__ = ["Arm", "BatchNorm", "ChecklistStream", "DropSmall", "confidences", "normalised_stream"]
