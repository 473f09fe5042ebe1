"""Rollouts: a policy plays many episodes at once, in worlds of this process.

Worlds answer within microseconds, so the batch runs in lockstep: in each turn, every episode writes an action and its
world answers; an episode that has ended gives its row to the next job.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import gymnasium as gym

from palaestra.agents import Env, EpisodeRecorder
from palaestra.records import EndReason
from palaestra.seeding import Stream
from palaestra.tools import Rendering
from palaestra.trainers.reference.policy import ReferencePolicy
from palaestra.trainers.reference.sampler import Sampler, SamplerRow
from palaestra.trajectory import Episode, Span, Stop, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceJob:
    """An episode to be played once: playing it consumes its noise."""

    task: str
    seed: int
    """The seed of the episode's world."""
    noise: Stream
    """The random stream of the policy's choices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutConfig:
    """How episodes are played."""

    rows: int = 128
    """The number of episodes in the batch."""
    context: int = 768
    """The maximum tokens of an episode; one that needs more ends there, truncated."""
    turn: int = 48
    """The maximum tokens of a turn; a turn that is cut off is read as far as it goes."""
    temperature: float = 1.0


class _Seat:
    """A row of the batch: an environment and its current episode."""

    def __init__(
        self, env: Env, row: SamplerRow, job: ReferenceJob, index: int, policy: ReferencePolicy, name: str
    ) -> None:
        self.env = env
        self.row = row
        self.index = index
        self._codec = policy.codec
        self._rendering: Rendering = policy.codec.format.rendering()
        self._recording = EpisodeRecorder(env, agent=name, seed=job.seed, task=job.task)
        self._ids: list[int] = []
        self._sampled: list[bool] = []
        self._logprobs: list[float] = []
        self._spans: list[Span] = []
        self._stops: list[Stop] = []
        self._give(self._rendering.opening(self._recording.observation, self._recording.tools))

    def _give(self, pieces: Sequence[str]) -> None:
        ids = self._codec.encode(pieces)
        self.row.pending += ids
        self._keep(ids, [0.0] * len(ids), sampled=False)

    def _keep(self, ids: list[int], logprobs: list[float], *, sampled: bool) -> None:
        self._ids += ids
        self._sampled += [sampled] * len(ids)
        self._logprobs += logprobs

    def answer(self) -> None:
        """Give the policy's turn to the world, and queue the world's answer for the policy."""
        drawn = self.row.drawn
        ended = drawn[-1] == self._codec.end_id
        self._spans += self._codec.turn(drawn, start=len(self._ids))
        self._stops.append("end" if ended else "length")
        self._keep(drawn, self.row.logprobs, sampled=True)
        self._recording.step(self._rendering.read(self._codec.decode(drawn)))
        if self._recording.faulted:  # the world gave no answer
            return
        cut = [] if ended else [self._codec.format.end]
        self._give([*cut, *self._rendering.following(self._recording.observation)])

    def over(self, room: int) -> bool:
        """Whether the episode has ended; an episode without room for another turn is ended here."""
        if not self._recording.over and room < 1:
            self._recording.stop(EndReason.TOKEN_BUDGET)
        return self._recording.over

    def episode(self, version: int) -> Episode:
        tokens = Tokens(
            ids=tuple(self._ids),
            sampled=tuple(self._sampled),
            logprobs=tuple(self._logprobs),
            versions=tuple(version if own else 0 for own in self._sampled),
            spans=tuple(self._spans),
            stops=tuple(self._stops),
        )
        return self._recording.episode(tokens)


def play(
    policy: ReferencePolicy,
    env_id: str,
    jobs: Sequence[ReferenceJob],
    config: RolloutConfig,
    *,
    switches: Mapping[str, Any] = MappingProxyType({}),
    name: str = "policy",
    version: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[Episode]:
    """Play every job to its end.

    Args:
        policy: The policy that plays.
        env_id: The world.
        jobs: The episodes to play.
        config: How episodes are played.
        switches: Further arguments of `gymnasium.make`: task files, a surface, a handbook, noise.
        name: The policy's name, for the record.
        version: The policy's version, for the record.
        progress: Called with the task of each episode that has ended.

    Returns:
        The episodes, in the order of `jobs`, with the tokens that the policy read and wrote.
    """
    rows = min(config.rows, len(jobs))
    sampler = Sampler(policy, rows=rows, capacity=config.context, temperature=config.temperature)
    waiting = iter(enumerate(jobs))
    played: dict[int, Episode] = {}

    def keep(seat: _Seat) -> None:
        played[seat.index] = seat.episode(version)
        if progress:
            progress(played[seat.index].task.id)

    def next_seat(place: int, env: Env) -> _Seat | None:
        """Start the next job with room for a turn; a job whose prompt leaves no room is over at once."""
        for index, job in waiting:
            row = SamplerRow(noise=job.noise)
            seat = _Seat(env, row, job, index, policy, name)
            if not seat.over(sampler.room(row)):
                sampler.rows[place] = row
                return seat
            keep(seat)
        sampler.rows[place] = None
        return None

    envs: list[Env] = [
        gym.make(env_id, **switches, action_format=policy.codec.format.name, disable_env_checker=True)
        for _ in range(rows)
    ]
    seats = [next_seat(place, env) for place, env in enumerate(envs)]
    while any(seats):
        sampler.turn(config.turn)
        for place, seat in enumerate(seats):
            if seat is None:
                continue
            seat.answer()
            if seat.over(sampler.room(seat.row)):
                keep(seat)
                seats[place] = next_seat(place, seat.env)
    for env in envs:
        env.close()
    return [played[index] for index in range(len(jobs))]
