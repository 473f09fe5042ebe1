"""A trajectory's tokens while it is played, and its recorded tokens if it was played before.

A trajectory that was saved half-way is replayed in a fresh world: the policy's turns are taken from the record, and the
world's answers must equal the recorded ones, token by token.
"""

from collections.abc import Sequence

from palaestra.errors import ReplayError
from palaestra.record import record
from palaestra.trainers.engines.engine import Completion
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trajectory import Span, Stop, TemperatureChoices, Tokens

_NOTHING = Tokens(ids=(), sampled=(), logprobs=(), versions=())


@record
class PartialRollout:
    """A trajectory under way: everything needed to continue it elsewhere. The tokens determine the turns' texts."""

    job: RolloutJob
    tokens: Tokens
    """The tokens up to the last completely sampled turn, and the world's answer to it, if there is one."""
    seconds: float
    """The seconds spent so far."""


class Script:
    """The tokens of one trajectory, each appended once.

    Args:
        trajectory: The trajectory's id, for errors.
        before: The recorded tokens, if the trajectory was saved; empty for a new one.
    """

    def __init__(self, trajectory: str, before: Tokens = _NOTHING) -> None:
        self._trajectory = trajectory
        self._before = before
        self._before_turns = [span for span in before.spans if span.kind == "turn"]
        self._ids: list[int] = []
        self._sampled: list[bool] = []
        self._logprobs: list[float] = []
        self._versions: list[int] = []
        self._spans: list[Span] = []
        self._stops: list[Stop] = []
        self._chosen = False
        """Whether a temperature head chose temperatures."""
        self._temperatures: list[float] = []
        self._latents: list[float] = []
        self._choice_logprobs: list[float] = []

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def turns(self) -> int:
        """The number of turns that the policy has written."""
        return len(self._stops)

    @property
    def ids(self) -> tuple[int, ...]:
        """Every token so far."""
        return tuple(self._ids)

    @property
    def temperature(self) -> float | None:
        """The temperature at which the policy's last token was sampled; `None` if no head has chosen one yet."""
        return next((value for value in reversed(self._temperatures) if value), None)

    def recorded_turn(self) -> Completion | None:
        """The next recorded turn; `None` at the end of the record."""
        before = self._before
        if self.turns >= len(self._before_turns):
            return None
        start, end = self._before_turns[self.turns].start, self._before_turns[self.turns].end
        return Completion(
            ids=before.ids[start:end],
            logprobs=before.logprobs[start:end],
            versions=before.versions[start:end],
            stop=before.stops[self.turns],
            choices=None if before.choices is None else _part(before.choices, start, end),
        )

    def read(self, ids: Sequence[int]) -> None:
        """Append tokens that the policy was given to read.

        Raises:
            ReplayError: the record has other tokens at this place.
        """
        place, before = len(self._ids), self._before
        if place < len(before.ids):
            turns = self._before_turns
            end = turns[self.turns].start if self.turns < len(turns) else len(before.ids)
            self._compare(ids, before.ids[place:end])
        self._append(ids, (0.0,) * len(ids), (0,) * len(ids), None, sampled=False)

    def _compare(self, ids: Sequence[int], recorded: Sequence[int]) -> None:
        if tuple(ids) == tuple(recorded):
            return
        pairs = zip(ids, recorded, strict=False)
        offset = next((n for n, (now, then) in enumerate(pairs) if now != then), min(len(ids), len(recorded)))
        now, then = (repr(run[offset]) if offset < len(run) else "the end" for run in (ids, recorded))
        raise ReplayError(
            f"trajectory {self._trajectory}: after turn {self.turns} the world's answer is another than the recorded "
            f"one, from token {len(self._ids) + offset} on ({now} in place of {then}); the tasks, the world or the "
            "tokenizer have changed. Play it from its beginning, or restore what it was saved with"
        )

    def wrote(self, drawn: Completion, spans: Sequence[Span]) -> None:
        """Append a turn of the policy, with the spans of the turn and its parts."""
        sampled = self.turns >= self._before.shared_turns
        self._spans += spans
        self._stops.append(drawn.stop)
        self._append(drawn.ids, drawn.logprobs, drawn.versions, drawn.choices, sampled=sampled)

    def _append(
        self,
        ids: Sequence[int],
        logprobs: Sequence[float],
        versions: Sequence[int],
        choices: TemperatureChoices | None,
        *,
        sampled: bool,
    ) -> None:
        self._ids += ids
        self._sampled += [sampled] * len(ids)
        self._logprobs += logprobs
        self._versions += versions
        self._chosen = self._chosen or choices is not None
        nothing = (0.0,) * len(ids)
        self._temperatures += nothing if choices is None else choices.temperatures
        self._latents += nothing if choices is None else choices.latents
        self._choice_logprobs += nothing if choices is None else choices.logprobs

    def tokens(self) -> Tokens:
        """All tokens so far; during the replay of a record, all recorded tokens."""
        if len(self) < len(self._before.ids):
            return self._before
        return Tokens(
            ids=tuple(self._ids),
            sampled=tuple(self._sampled),
            logprobs=tuple(self._logprobs),
            versions=tuple(self._versions),
            spans=tuple(self._spans),
            stops=tuple(self._stops),
            shared_turns=self._before.shared_turns,
            choices=self._choices() if self._chosen else None,
        )

    def _choices(self) -> TemperatureChoices:
        return TemperatureChoices(
            temperatures=tuple(self._temperatures),
            latents=tuple(self._latents),
            logprobs=tuple(self._choice_logprobs),
        )


def _part(choices: TemperatureChoices, start: int, end: int) -> TemperatureChoices:
    return TemperatureChoices(
        temperatures=choices.temperatures[start:end],
        latents=choices.latents[start:end],
        logprobs=choices.logprobs[start:end],
    )
