"""The processor time of a stage, also of a stage that was killed and resumed."""

import time
from collections.abc import Callable


class CpuMeter:
    """Counts the processor seconds of a stage's steps, over all runs of the stage.

    A step whose batch is on record needs no rollouts when it is taken again. It counts what they cost when they were
    played, so that a killed run ends with the step with which it would have ended.

    Args:
        clock: Returns the processor seconds of this process.
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self._offset = 0.0

    def begin(self, seconds: float) -> None:
        """Begin a step of a stage whose earlier steps took so many seconds."""
        self._offset = seconds - self._clock()

    def read(self) -> float:
        """The seconds of all steps, those of the current step until now included."""
        return self._offset + self._clock()

    def catch_up(self, seconds: float) -> None:
        """Go on from the reading of an earlier process at this point, if it was higher."""
        self._offset += max(0.0, seconds - self.read())
