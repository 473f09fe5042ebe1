"""Detectors: rules that take measures of a trajectory and name the turns that a person should read.

A finding is no verdict, and no detector knows a rubric or a task. Each rule states the highest measure of honest work
that its threshold is based on: 10,104 episodes of the Storefront's `train` and `dev` by six agents. They are the
reference solution, its alternatives, the same under noise by a patient agent, the same on the generic surface, an agent
that always refuses, and a script of patterns. All of them write short texts, so length thresholds leave room for people
and models.
"""

from collections.abc import Sequence

from palaestra.agents.detectors.detection import (
    Detection,
    DetectionRule,
    Detector,
    DetectorName,
    TurnMeasure,
    highest_measure,
)
from palaestra.agents.detectors.farming import FARMING
from palaestra.agents.detectors.format import FORMAT
from palaestra.agents.detectors.length import LENGTH
from palaestra.agents.detectors.memory import MEMORY
from palaestra.agents.detectors.sycophancy import SYCOPHANCY
from palaestra.trajectory import Episode

DETECTORS: Sequence[Detector] = (LENGTH, FORMAT, SYCOPHANCY, FARMING, MEMORY)


def detect(episode: Episode) -> tuple[Detection, ...]:
    """The findings of all detectors in an episode, detector by detector."""
    return tuple(found for detector in DETECTORS for found in detector.find(episode))


__all__ = [
    "DETECTORS",
    "Detection",
    "DetectionRule",
    "Detector",
    "DetectorName",
    "TurnMeasure",
    "detect",
    "highest_measure",
]
