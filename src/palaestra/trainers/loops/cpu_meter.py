"""The processor time of a stage, including stages that were killed and resumed."""

import time
from collections.abc import Callable


class CpuMeter:
    """Counts the processor seconds of a stage's steps, over all runs of the stage.

    A step with a recorded batch needs no rollouts when it is repeated. It counts the time of the original rollouts, so
    that a killed run ends with the same step as an uninterrupted one.

    Args:
        clock: Returns the processor seconds of this process.
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self._offset = 0.0

    def begin(self, seconds: float) -> None:
        """Begin a step, given the seconds of all earlier steps of the stage."""
        self._offset = seconds - self._clock()

    def read(self) -> float:
        """The seconds of all steps, including the current step so far."""
        return self._offset + self._clock()

    def catch_up(self, seconds: float) -> None:
        """Continue from an earlier process's reading at this point, if it was higher."""
        self._offset += max(0.0, seconds - self.read())
