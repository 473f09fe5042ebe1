"""Episodes under noise: every switch, and a run that keeps what scoring it again needs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from palaestra.agents import PatientAgent, oracle
from palaestra.envs import ToolEnv
from palaestra.envs.check.subject import make
from palaestra.records import JsonObject, Score
from palaestra.rubrics import TurnLog, rescore

STOREFRONT = "palaestra/Storefront-v0"

SWITCHES: Mapping[str, Mapping[str, Any]] = {
    "distractors": {"distractors": 15},
    "renames": {"renames": True},
    "caps": {"caps": True},
    "stale": {"stale": 80},
    "conflicts": {"conflicts": 4},
    "failures": {"failures": 30},
    "rate_limit": {"rate_limit": 3},
    "latency": {"latency": 300},
    "deadline": {"deadline": 3_600},
    "events": {"events": 1_200},
    "injections": {"injections": 80},
}
"""Every switch alone, by its name."""
ALL = {name: value for switch in SWITCHES.values() for name, value in switch.items()}
"""Every switch at once."""


def storefront(noise: Mapping[str, Any] | None, **kwargs: Any) -> ToolEnv:
    """A Storefront under noise, with turns enough for patience."""
    return make(STOREFRONT, noise=noise, **{"max_turns": 120, **kwargs})


def turn_log(info: Mapping[str, Any], answer: JsonObject) -> TurnLog:
    """What the log keeps of the turn whose `info` this is."""
    heard = tuple(message["content"] for message in info["record"].messages)
    return TurnLog(events=info["events"], changes=info["changes"], answer=answer, end=info["end"], heard=heard)


@dataclass(frozen=True, kw_only=True)
class Played:
    """An episode that was played to its end."""

    logs: tuple[TurnLog, ...]
    points: tuple[int, ...]
    """The score after each turn."""
    score: Score
    infos: tuple[dict[str, Any], ...]


def play(env: ToolEnv, task: str, seed: int) -> Played:
    """Let a patient oracle play a task."""
    observation, info = env.reset(seed=seed, options={"task": task})
    agent = PatientAgent(oracle(env.oracle))
    agent.reset(info["tools"], seed=seed)
    logs: list[TurnLog] = []
    infos: list[dict[str, Any]] = []
    while not infos or infos[-1]["end"] is None:
        observation, _, _, _, info = env.step(agent.act(observation))
        infos.append(info)
        answer = env.snapshot().answer
        logs.append(turn_log(info, answer))
    return Played(
        logs=tuple(logs),
        points=tuple(info["points"] for info in infos),
        score=infos[-1]["score"],
        infos=tuple(infos),
    )


def scored_again(env: ToolEnv, played: Played) -> Iterator[int]:
    """The points after each turn, from the log alone."""
    instance = env.instance
    state = instance.initial_state.fork()
    for score in rescore(instance.rubric, instance.evidence(state), state, played.logs):
        yield score.points
