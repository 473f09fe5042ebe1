"""The work of a round: prompts, the tools' answers and their latencies, equal for all contestants."""

from palaestra.benchmarks.speed.training.scale import EngineScale
from palaestra.seeding import Stream
from palaestra.trainers.rollouts.worlds.delayed import Latency


class RoundWork:
    """The work of every round, drawn from the round's number.

    Args:
        scale: The size of the run.
    """

    def __init__(self, scale: EngineScale) -> None:
        self._scale = scale
        low, high = scale.latency
        self._latency = Latency(low=low, high=high)

    def prompt(self, round_: int, sequence: int) -> tuple[int, ...]:
        """The prompt tokens of a sequence."""
        return self._tokens(self._scale.prompt, "prompt", round_, sequence)

    def answer(self, round_: int, sequence: int, turn: int) -> tuple[int, ...]:
        """The tokens of the tool's answer to a turn."""
        return self._tokens(self._scale.answer, "answer", round_, sequence, turn)

    def delay(self, round_: int, sequence: int, turn: int) -> float:
        """Seconds until the tool answers a turn."""
        return self._latency.draw(Stream.root("bench-engine", "delay", round_, sequence, turn))

    def _tokens(self, count: int, *name: str | int) -> tuple[int, ...]:
        stream = Stream.root("bench-engine", *name)
        return tuple(stream.below(self._scale.shape.vocabulary) for _ in range(count))
