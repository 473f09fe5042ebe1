"""Plays one episode of an agent that plays alone, and tries again in a new world if the episode is broken off."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event

from palaestra.agents import Env, EpisodeRecorder
from palaestra.benchmarks.evaluation.agents.agent import (
    AgentSession,
    Attempt,
    EpisodeCost,
    EvaluatedEpisodeAgent,
    NoReferenceSolution,
)
from palaestra.benchmarks.evaluation.env_pool import EnvPool
from palaestra.benchmarks.evaluation.episode_key import EpisodeKey
from palaestra.benchmarks.evaluation.outcome import EpisodeFault
from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.benchmarks.evaluation.tally import fault_of
from palaestra.errors import InfrastructureError, PalaestraError, RubricError, WaitError
from palaestra.record import record
from palaestra.records import EndReason
from palaestra.trajectory import Episode

REFUSED = "refused "
"""The prefix of troubles that a server reports itself: the request is at fault, and is not repeated."""


class EvaluationStopped(Exception):  # noqa: N818  it is what a person does, not a fault
    """A stop of the evaluation was requested."""


@record
class Budget:
    """The limits of an episode."""

    seconds: float
    """Maximum seconds for all the agent's answers together."""
    tries: int
    clock: Callable[[], float] = time.monotonic


def play_slot(
    episode_key: EpisodeKey,
    cell: Cell,
    evaluated_agent: EvaluatedEpisodeAgent,
    env_pool: EnvPool,
    budget: Budget,
    stop: Event,
) -> Attempt:
    """Play an episode to its end.

    Args:
        episode_key: The episode.
        cell: Its world.
        evaluated_agent: The agent.
        env_pool: The source of environments.
        budget: Its maximum time and number of tries.
        stop: Set to stop the evaluation.

    Raises:
        EvaluationStopped: `stop` is set.
        ConfigError: the agent cannot play the task, or cannot be reached.
        UnknownNameError: there is no such task.
    """
    spent: EpisodeCost | None = None
    for tried in range(1, budget.tries + 1):
        came = _Try(episode_key, cell, evaluated_agent, budget, stop).play(env_pool, fresh=tried > 1)
        spent = came.spent if spent is None else spent + came.spent
        if isinstance(came.came, Episode) or tried == budget.tries or is_refused(came) or came.came.kind == "gold":
            return replace(came, spent=spent)
        spent += EpisodeCost(prompt_tokens=0, completion_tokens=0, troubles={f"played again: {came.came.kind}": 1})
    raise AssertionError("an episode is tried once at least")


def is_refused(came: Attempt) -> bool:
    """Whether a server refused a request, which is then not repeated."""
    return any(name.startswith(REFUSED) for name in came.spent.troubles)


class _Broken(Exception):  # noqa: N818  it never leaves this file
    """The world broke the episode off."""

    def __init__(self, fault: EpisodeFault) -> None:
        super().__init__(fault.said)
        self.fault = fault


@contextmanager
def _world() -> Generator[None]:
    """Turn errors of the world into its fault, except those about impossible requests."""
    try:
        yield
    except (InfrastructureError, RubricError) as error:
        raise _Broken(fault_of(error)) from error
    except (PalaestraError, NoReferenceSolution):
        raise
    except Exception as error:
        said = f"the world raised {type(error).__name__}: {error}; a world that raises is at fault"
        raise _Broken(EpisodeFault(kind="world", said=said)) from error


class _Try:
    """One try."""

    def __init__(
        self, episode_key: EpisodeKey, cell: Cell, evaluated_agent: EvaluatedEpisodeAgent, budget: Budget, stop: Event
    ) -> None:
        self._slot, self._cell, self._contender, self._stop = episode_key, cell, evaluated_agent, stop
        self._budget = budget
        self._seat: AgentSession | None = None
        self._begun_with = False
        self._answered = 0.0
        """Seconds that the agent's answers took, of those that came. What worlds take is not the agent's time."""
        self._asked: float | None = None
        """Since when it is asked for one."""

    def _measure_left(self) -> float:
        return self._budget.seconds - self._answered - self._measure_wait()

    def _measure_wait(self) -> float:
        return 0.0 if self._asked is None else self._budget.clock() - self._asked

    def play(self, env_pool: EnvPool, *, fresh: bool) -> Attempt:
        """Play the episode in a world; drop a world that fails."""
        try:
            env = env_pool.take(self._cell, fresh=fresh)
        except InfrastructureError as error:
            return self._make_attempt(fault_of(error))
        sound = False  # for another episode
        try:
            recording = self._begin(env)
            self._begun_with = True
            self._seat = self._contender.seat(env, self._measure_left)
            with _world():  # scripts ask it for what they follow
                self._seat.agent.reset(recording.tools, seed=self._slot.agent_seed)
            fault = self._play(recording, self._seat)
            sound = fault is None
            return self._make_attempt(fault or self._name(recording.episode()))
        except _Broken as broken:
            return self._make_attempt(broken.fault)
        except NoReferenceSolution as error:
            sound = True
            return self._make_attempt(EpisodeFault(kind="gold", said=str(error)))
        finally:
            if sound:
                env_pool.give_back(self._cell, env)
            else:
                env_pool.drop(env)

    def _begin(self, env: Env) -> EpisodeRecorder:
        with _world():
            return EpisodeRecorder(env, agent=self._contender.name, seed=self._slot.world_seed, task=self._slot.task)

    def _play(self, recording: EpisodeRecorder, seat: AgentSession) -> EpisodeFault | None:
        while not recording.over:
            if self._stop.is_set():
                raise EvaluationStopped
            offered = recording.offered
            if self._measure_left() <= 0:
                if seat.has_delay():
                    return self._late("tries of requests that failed took some of it")
                self._end(recording)
                break
            self._asked = self._budget.clock()
            try:
                action = seat.agent.act(recording.observation)
            except InfrastructureError as error:
                if self._measure_left() > 0 or not isinstance(error, WaitError):
                    return fault_of(error)
                if seat.has_delay() or 2 * self._answered <= self._budget.seconds:
                    return self._late(f"{error}; the answers before took {self._answered:.0f} s of it")
                self._end(recording)
                break
            self._answered, self._asked = self._answered + self._measure_wait(), None
            with _world():
                recording.step(action)
            if recording.offered is not offered:
                seat.offer(recording.offered)
        return fault_of(recording.fault) if recording.fault is not None else None

    def _late(self, why: str) -> EpisodeFault:
        """The fault that the time is over although the agent has not used it up."""
        return EpisodeFault(
            kind="time", said=f"the agent's {self._budget.seconds:g} s are over: {why}; give it more time"
        )

    def _end(self, recording: EpisodeRecorder) -> None:
        with _world():
            recording.stop(EndReason.TIME_BUDGET)

    def _make_attempt(self, came: Episode | EpisodeFault) -> Attempt:
        spent = EpisodeCost(prompt_tokens=0, completion_tokens=0) if self._seat is None else self._seat.cost()
        return Attempt(episode_key=self._slot, came=came, spent=spent, begun=self._begun_with)

    def _name(self, episode: Episode) -> Episode:
        return replace(episode, id=self._slot.id, group=f"{self._slot.cell}/{self._slot.task}")
