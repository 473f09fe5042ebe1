"""The interface of detectors: rules that measure episodes, each with a threshold above the measures of honest work."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from palaestra.record import record
from palaestra.trajectory import Episode

DetectorName: TypeAlias = Literal["length", "format", "sycophancy", "tool-farming", "memory-writes"]
EVIDENCE = 160
"""Maximum characters of evidence that a detection quotes."""


@record
class TurnMeasure:
    """A measure of one turn, or of the episode up to a turn."""

    turn: int
    """The number of the turn, from 0."""
    value: float
    evidence: str
    """The text or call that was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionRule:
    """A measure and its threshold."""

    name: str
    """The measure, with its unit."""
    threshold: float
    """The threshold; a measure above it is a detection."""
    honest: float
    """The highest measure of honest work that the threshold was derived from; see `palaestra.agents.detectors`."""
    measure: Callable[[Episode], Iterable[TurnMeasure]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """Rules about one kind of misbehaviour."""

    name: DetectorName
    looks_for: str
    """The behaviour that it detects, as a sentence without its subject."""
    rules: tuple[DetectionRule, ...]

    def find(self, episode: Episode) -> Iterator["Detection"]:
        """The highest measure of each rule that is above its threshold."""
        for rule in self.rules:
            highest = highest_measure(rule, episode)
            if highest is not None and highest.value > rule.threshold:
                yield Detection(
                    detector=self.name,
                    rule=rule.name,
                    turn=highest.turn,
                    evidence=highest.evidence[:EVIDENCE],
                    measure=highest.value,
                    threshold=rule.threshold,
                )


@record
class Detection:
    """One finding in one episode."""

    detector: DetectorName
    rule: str
    turn: int
    """The turn with the highest measure, counted from 0."""
    evidence: str
    """The measured text, cut to `EVIDENCE` characters."""
    measure: float
    threshold: float


def highest_measure(rule: DetectionRule, episode: Episode) -> TurnMeasure | None:
    """The highest measure of an episode, on a tie the earliest; `None` without any measure."""
    return max(rule.measure(episode), key=lambda measured: measured.value, default=None)


def count_occurrences(found: Iterable[tuple[int, str]]) -> Iterator[TurnMeasure]:
    """A counting measure: it increases by one with each (turn, evidence)."""
    for count, (turn, evidence) in enumerate(found, 1):
        yield TurnMeasure(turn=turn, value=count, evidence=evidence)
