"""Columns from a chat model that reads a trajectory and judges each of its turns. Axes: U turns, R trajectories.

The model reads the agent's transcript, but neither rubric nor points. Its judgements are recorded with the batch, so
that a resumed or replayed run does not ask again. A failure of the judge is an error and never a score.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain

import orjson
import torch
from torch import Tensor

from palaestra.digest import as_json
from palaestra.errors import InfrastructureError
from palaestra.protocols import ChatModel
from palaestra.records import Message
from palaestra.seeding import Stream
from palaestra.trainers.fillers.chat import ChatModelConfig
from palaestra.trainers.fillers.filler import column
from palaestra.trainers.fillers.inputs import FillerInput
from palaestra.trainers.objectives.segments import mean_over
from palaestra.trajectory import Episode
from palaestra.transcript import transcript_of

_LINE = re.compile(r"\s*(\d+)\s*[:.)]\s*(\S+)\s*")
_TASK = "You judge the work of an agent that solves a task with tools, turn by turn. "
_LABELS = (
    "Write one line for each turn, `NUMBER: GOOD` where the turn brings the task forward, and `NUMBER: BAD` where it "
    "does not. Write nothing else."
)
_SCORES = (
    "Write one line for each turn, `NUMBER: SCORE`, a whole number from 0 (wrong or useless) to 10 (right and needed). "
    "Write nothing else."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    model: ChatModelConfig
    """The chat model."""
    tries: int = 3
    """The maximum number of requests about a trajectory, each with another seed, until every turn is judged."""
    concurrency: int = 8
    """The number of trajectories that are judged at once."""
    characters: int = 2000
    """The maximum characters of each message and action in the request; longer ones are cut."""

    def __post_init__(self) -> None:
        for name in ("tries", "concurrency", "characters"):
            if (value := getattr(self, name)) < 1:
                raise ValueError(f"{name}={value}: it is at least 1")

    def _judgements(
        self, given: FillerInput, instruction: str, read: Callable[[str], float], *, outcome: bool
    ) -> Tensor:
        """The model's judgement of each turn, converted by `read`, [U]."""
        seeds = [Stream.root("judge", given.seed, place).below(2**31) for place in range(len(given.episodes))]
        with self.model.open() as model, ThreadPoolExecutor(self.concurrency, "judge") as threads:
            ask = partial(self._ask, model, instruction, read, outcome=outcome)
            found = list(threads.map(ask, given.episodes, self._turns(given), seeds))
        return torch.tensor(list(chain.from_iterable(found)), dtype=torch.float32)

    def _ask(
        self,
        model: ChatModel,
        instruction: str,
        read: Callable[[str], float],
        episode: Episode,
        turns: int,
        seed: int,
        *,
        outcome: bool,
    ) -> list[float]:
        if not turns:
            return []
        messages: list[Message] = [
            {"role": "system", "content": _TASK + instruction},
            {"role": "user", "content": self._show(episode, turns, outcome=outcome)},
        ]
        fault: Exception | None = None
        for number in range(self.tries):
            try:
                return read_judgements(model.complete(messages, seed=seed + number), turns, read)
            except (TimeoutError, ConnectionError, ValueError) as error:
                fault = error
        raise InfrastructureError(
            f"the judge {self.model.name} failed {self.tries} times at {episode.id or episode.task.id}: {fault}; "
            "correct it and resume from the last save"
        ) from fault

    def _show(self, episode: Episode, turns: int, *, outcome: bool) -> str:
        parts = list(self._transcript(episode))
        if outcome:
            parts.append(f"Outcome: the task was {'solved' if episode.score.passed else 'not solved'}.")
        return "\n\n".join([*parts, f"There are {turns} turns. Judge each of them."])

    def _transcript(self, episode: Episode) -> Iterator[str]:
        number = 0
        for segment in range(len(episode.segments)):
            seen = transcript_of(episode, segment=segment)
            yield from map(self._message, seen.prompt)
            for turn in seen.turns:
                number += 1
                action = turn.text if turn.text is not None else orjson.dumps(turn.calls, default=as_json).decode()
                yield f"Turn {number}: {action[: self.characters]}"
                yield from map(self._message, turn.observation)

    def _message(self, message: Message) -> str:
        return f"[{message['role']}] {message['content'][: self.characters]}"

    @staticmethod
    def _turns(given: FillerInput) -> Sequence[int]:
        batch = given.batch
        counts: list[int] = torch.bincount(batch.trajectory_U, minlength=batch.trajectories).tolist()
        return counts


@column("label_U", filler="judge", repeatable=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeLabels(_Judge):
    """A chat model's label of each turn, good or bad; it knows whether the task was solved (ADCA, AgentEvolver)."""

    def __call__(self, given: FillerInput, /) -> Tensor:
        """See `FillColumn`."""
        return self._judgements(given, _LABELS, _read_label, outcome=True)


@column("process_R", filler="judge", repeatable=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeScores(_Judge):
    """The mean over turns of a chat model's score, 0 to 1, instead of a process reward model (PROF).

    The model does not know the outcome, so that its scores add information that the outcome lacks.
    """

    def __call__(self, given: FillerInput, /) -> Tensor:
        """See `FillColumn`."""
        score_U = self._judgements(given, _SCORES, _read_score, outcome=False)
        return mean_over(score_U, given.batch.trajectory_U, given.batch.trajectories)


def read_judgements(text: str, turns: int, read: Callable[[str], float]) -> list[float]:
    """Parse a judge's text into one number for each turn.

    Args:
        text: A line for each turn: the turn's number from 1, a colon, and a word.
        turns: The number of turns.
        read: Converts a word to a number.

    Raises:
        ValueError: a line has another form, or a turn has no line or two lines.
    """
    found: dict[int, float] = {}
    for line in filter(str.strip, text.splitlines()):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"the judge wrote {line[:80]!r}; a line is `NUMBER: WORD`")
        number = int(match[1])
        if number in found or not 1 <= number <= turns:
            raise ValueError(f"the judge wrote of turn {number}; each of {turns} turns has one line")
        found[number] = read(match[2])
    if missing := sorted({*range(1, turns + 1)} - found.keys()):
        raise ValueError(f"the judge wrote nothing of turn {missing[0]}; each of {turns} turns has one line")
    return [found[number] for number in range(1, turns + 1)]


def _read_label(word: str) -> float:
    try:
        return {"GOOD": 1.0, "BAD": 0.0}[word.upper()]
    except KeyError:
        raise ValueError(f"the judge wrote {word!r}; a label is GOOD or BAD") from None


def _read_score(word: str) -> float:
    if not (word.isdecimal() and int(word) <= 10):
        raise ValueError(f"the judge wrote {word!r}; a score is a whole number from 0 to 10")
    return int(word) / 10
