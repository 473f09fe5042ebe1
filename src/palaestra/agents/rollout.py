"""One agent, one episode: the loop between `reset` and the end, kept as an `Episode`.

It reaches the world through Gymnasium alone, and gives the agent messages and tool schemas and nothing else.
"""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import gymnasium as gym
import orjson

from palaestra.errors import InfrastructureError
from palaestra.protocols import Action, Agent
from palaestra.records import LAYERS, EndReason, JsonObject, Layer, Message, RowChange, Score
from palaestra.tools import plain_call, plain_text
from palaestra.trajectory import Episode, Segment, Turn

Messages = tuple[Message, ...]
T = TypeVar("T", bound=tuple[Any, ...])


def rollout(env: gym.Env[Messages, Action], agent: Agent, *, name: str, seed: int, task: str | None = None) -> Episode:
    """Play one episode to its end.

    A fault of the world ends it early, without a reward and with `valid_for_baseline` false.

    Args:
        env: An environment of Palaestra's.
        agent: Who acts.
        name: The agent's name, for the record.
        seed: The seed of the episode, for world and agent.
        task: The id of the task; `None` lets the seed draw one.
    """
    observation, opening = env.reset(seed=seed, options={"task": task} if task else None)
    agent.reset(_copied(opening["tools"]), seed=seed)
    prompt, turns = observation, list[Turn]()
    points: Mapping[Layer, int] = dict.fromkeys(LAYERS, 0)
    end: EndReason | None = None
    score, valid = _nothing(opening), True
    while end is None:
        action = agent.act(_copied(observation))
        try:
            observation, reward, _, _, info = env.step(action)
        except InfrastructureError:
            valid = False
            break
        turns.append(_turn(action, observation, float(reward), info, points))
        points, end = info["components"], info["end"]
        score = info["score"] or score
    return Episode(
        env_id=env.unwrapped.spec.id if env.unwrapped.spec else "",
        task=opening["task"],
        agent=name,
        seed=seed,
        tools=opening["tools"],
        rubric=opening["rubric"],
        segments=(Segment(prompt=prompt, turns=tuple(turns)),),
        end=end,
        score=score,
        valid_for_baseline=valid,
    )


def _copied(json: T) -> T:
    """A copy for the agent, which may do with it what it likes; the record stays as it is."""
    return cast("T", tuple(orjson.loads(orjson.dumps(json))))


def _nothing(opening: Mapping[str, Any]) -> Score:
    """The score of an episode that the world broke off."""
    total = sum(c.points for c in opening["rubric"] if c.kind == "expect")
    return Score(points=0, total=total, passed=False, verdicts={}, components=dict.fromkeys(LAYERS, 0))


def _turn(
    action: Action, observation: Messages, reward: float, info: Mapping[str, Any], before: Mapping[Layer, int]
) -> Turn:
    return Turn(
        text=plain_text(action) if isinstance(action, str) else None,
        calls=tuple(map(plain_call, info["calls"])),
        events=info["events"],
        changes=tuple(map(_plain, info["changes"])),
        observation=observation,
        reward=reward,
        components={layer: info["components"][layer] - before[layer] for layer in LAYERS},
        met=info["met"],
        violated=info["violated"],
        state_hash=info["state_hash"],
        anchor=info["anchor"],
    )


def _plain(change: RowChange) -> JsonObject:
    """A change as plain JSON: rows as objects."""
    plain: JsonObject = orjson.loads(orjson.dumps(change))
    return plain
