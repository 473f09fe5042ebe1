"""Plays one episode with one agent, from `reset` to the end, and records it as an `Episode`.

It accesses the world only through Gymnasium, and gives the agent only messages and tool schemas.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar, cast

import gymnasium as gym
import orjson

from palaestra.digest import as_json
from palaestra.errors import InfrastructureError
from palaestra.protocols import Action, Agent
from palaestra.records import LAYERS, EndReason, JsonObject, Layer, Message, RowChange, Score
from palaestra.seeding import Stream
from palaestra.steps import ResetRecord, StepRecord
from palaestra.tools import plain_call, plain_text
from palaestra.trajectory import Episode, Segment, Tokens, Turn

Env: TypeAlias = gym.Env[tuple[Message, ...], Action]
T = TypeVar("T", bound=tuple[Any, ...])


class EpisodeRecorder:
    """Records one episode while it is played; the caller decides when to act.

    Args:
        env: An environment of Palaestra.
        agent: The agent's name, for the record.
        seed: The seed of the episode.
        task: The id of the task; `None` lets the seed draw one.
    """

    def __init__(self, env: Env, *, agent: str, seed: int, task: str | None = None) -> None:
        self._env = env
        self._agent = agent
        self._seed = seed
        self.observation, info = env.reset(seed=seed, options={"task": task} if task else None)
        opening: ResetRecord = info["record"]
        self.tools: tuple[JsonObject, ...] = tuple(opening.tools)
        """The schemas of the tools that were offered at the beginning."""
        self.opening = replace(opening, messages=self.observation, tools=self.tools)
        """The record of the reset."""
        self.offered = self.tools
        """The schemas of the tools that are offered now; some worlds change them during an episode."""
        self._turns: list[Turn] = []
        self._points: Mapping[Layer, int] = dict.fromkeys(LAYERS, 0)
        self._score = _nothing(opening)
        self._injection = opening.injection
        self.end: EndReason | None = None
        """Why the episode ended; `None` while it runs."""
        self.fault: InfrastructureError | None = None
        """How the world failed, if it did; the episode then has no reward."""

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return self.opening.task.id

    @property
    def faulted(self) -> bool:
        """Whether the world failed."""
        return self.fault is not None

    @property
    def turns(self) -> int:
        """The number of turns so far."""
        return len(self._turns)

    @property
    def over(self) -> bool:
        """Whether the episode has ended, or its world failed."""
        return self.end is not None or self.faulted

    def step(self, action: Action) -> None:
        """Take one turn. A fault of the world ends the episode without a reward."""
        try:
            self.observation, reward, _, _, info = self._env.step(action)
        except InfrastructureError as error:
            self.fault = error
            return
        done: StepRecord = info["record"]
        self._turns.append(_turn(action, self.observation, float(reward), done, self._points))
        if done.tools is not None:
            self.offered = tuple(done.tools)
        self._injection = done.injection
        self._points, self.end = done.standing.components, done.end
        self._score = done.score or self._score

    def stop(self, reason: EndReason) -> None:
        """End the episode from outside, for a budget that the world does not know.

        The world judges it as ended so. The resulting change of points is added to the last turn's reward, so that the
        return remains the score.
        """
        self.end = reason
        # Any: only `gym.make` knows what Palaestra's environments add to Gymnasium's interface.
        world: Any = self._env.unwrapped
        self._score = world.score(reason)
        if self._turns:
            last = self._turns[-1]
            paid = sum(turn.reward for turn in self._turns)
            rest = {layer: self._score.components.get(layer, 0) - self._points[layer] for layer in LAYERS}
            self._turns[-1] = replace(
                last,
                reward=last.reward + self._score.points - paid,
                components={layer: last.components[layer] + rest[layer] for layer in LAYERS},
            )

    def episode(self, tokens: Tokens | None = None) -> Episode:
        """The episode so far.

        Args:
            tokens: The tokens that a policy read and wrote, if a policy acted.
        """
        spec = self._env.unwrapped.spec
        return Episode(
            env_id=spec.id if spec else "",
            task=self.opening.task,
            agent=self._agent,
            seed=self._seed,
            tools=self.tools,
            rubric=self.opening.rubric,
            segments=(Segment(prompt=self.opening.messages, turns=tuple(self._turns), tokens=tokens),),
            end=self.end,
            score=self._score,
            valid_for_baseline=not self.faulted,
            injection=self._injection,
        )


def rollout(env: Env, agent: Agent, *, name: str, seed: int, task: str | None = None) -> Episode:
    """Play one episode to its end.

    A fault of the world ends it early, without a reward and with `valid_for_baseline` false.

    Args:
        env: An environment of Palaestra.
        agent: The agent.
        name: The agent's name, for the record.
        seed: The seed of the episode; the agent's own seed is derived from it.
        task: The id of the task; `None` lets the seed draw one.
    """
    recording = EpisodeRecorder(env, agent=name, seed=seed, task=task)
    agent.reset(_copy(recording.tools), seed=agent_seed(name, seed, recording.task_id))
    while not recording.over:
        recording.step(agent.act(_copy(recording.observation)))
    return recording.episode()


def agent_seed(name: str, seed: int, task: str) -> int:
    """The seed of an agent's own draws in one episode.

    It differs from task to task and from agent to agent, so that a stochastic agent does not repeat one sequence of
    draws on every task. It does not reveal the task: the agent sees a number and neither the id nor the episode's seed.

    Args:
        name: The agent's name.
        seed: The seed of the episode.
        task: The id of the task.
    """
    return Stream.root("agent", name, seed, task).below(2**31)


def _copy(json: T) -> T:
    """A copy that the agent may change; the record stays unchanged."""
    return cast("T", tuple(orjson.loads(orjson.dumps(json))))


def _nothing(opening: ResetRecord) -> Score:
    """The score of an episode that the world aborted."""
    total = sum(c.points for c in opening.rubric if c.kind == "expect")
    return Score(points=0, total=total, passed=False, verdicts={}, components=dict.fromkeys(LAYERS, 0))


def _turn(
    action: Action,
    observation: tuple[Message, ...],
    reward: float,
    done: StepRecord,
    before: Mapping[Layer, int],
) -> Turn:
    return Turn(
        text=plain_text(action) if isinstance(action, str) else None,
        calls=tuple(map(plain_call, done.calls)),
        events=done.events,
        changes=tuple(map(_plain, done.changes)),
        observation=observation,
        reward=reward,
        components={layer: done.standing.components[layer] - before[layer] for layer in LAYERS},
        met=done.standing.met,
        violated=done.standing.violated,
        state_hash=done.state_hash,
        anchor=done.anchor,
        code=done.code,
    )


def _plain(change: RowChange) -> JsonObject:
    """A change as plain JSON, with rows as objects."""
    plain: JsonObject = orjson.loads(orjson.dumps(change, default=as_json))
    return plain
