"""Rewards: finite, in range, summing to the score, and to be worked out again from the log alone."""

import math
from collections.abc import Iterator
from typing import Any

from palaestra.envs.check.subject import Operation, Subject, describe_operation
from palaestra.envs.env import ToolEnv
from palaestra.errors import RecordError, RowError
from palaestra.rubrics import TOTAL, TurnLog, rescore
from palaestra.steps import StepRecord


def check_rewards(subject: Subject) -> None:
    """Every reward is a finite float within the rubric's range, and together they are the score."""
    outcome = subject.spec.kwargs.get("reward") == "outcome"
    for walk in subject.walks:
        env = subject.make()
        total = 0.0
        for operation in walk.operations:
            if isinstance(operation, int):
                env.reset(seed=operation)
                total = 0.0
                continue
            _, reward, terminated, truncated, info = env.step(operation)
            _check_reward(subject, env, operation, reward)
            total += reward
            paid = info["points"] if terminated or truncated or not outcome else 0
            if total != paid or sum(info["components"].values()) != info["points"]:
                raise subject.fault(
                    f"after {describe_operation(operation)} the rewards sum to {total}, "
                    f"the points are {info['points']} and the components {info['components']}",
                    "the return is the score, and the components sum to it (0 before the end if reward='outcome')",
                    "Give the change of the checklist's points as reward",
                )


def _check_reward(subject: Subject, env: ToolEnv, operation: Operation, reward: object) -> None:
    widest = TOTAL - env.instance.rubric.worst
    if type(reward) is not float or not math.isfinite(reward) or not -widest <= reward <= widest:
        raise subject.fault(
            f"{describe_operation(operation)} gave the reward {reward!r}",
            f"a reward is a finite float within [-{widest}, {widest}], the span of the rubric's scores",
            "Give float(points now - points before)",
        )


def check_rescoring(subject: Subject) -> None:
    """A fresh checklist, fed with the logged events and changes, comes to the same scores."""
    for walk in subject.walks:
        env = subject.make()
        episode: list[tuple[TurnLog, int]] = []
        for operation in walk.operations:
            if isinstance(operation, int):
                _rescore(subject, env, episode)
                env.reset(seed=operation)
                episode = []
            else:
                episode.append(_log(env, operation))
        _rescore(subject, env, episode)


def _log(env: ToolEnv, operation: Any) -> tuple[TurnLog, int]:
    """Play one turn: what its log holds, and the score that the environment gave."""
    record: StepRecord = env.step(operation)[4]["record"]
    answer = env.snapshot().answer
    heard = tuple(message["content"] for message in record.messages)
    log = TurnLog(
        events=record.events, changes=record.changes, answer=answer, end=record.end, heard=heard, code=record.code
    )
    return log, record.standing.points


def _rescore(subject: Subject, env: ToolEnv, episode: list[tuple[TurnLog, int]]) -> None:
    if not episode:
        return
    for number, (again, (_, given)) in enumerate(zip(_scores(subject, env, episode), episode, strict=True), 1):
        if again != given:
            raise subject.fault(
                f"{env.task.id}: after turn {number} the score is {given}, but the log is worth {again}",
                "a reward can be worked out again from the log alone",
                "Let criteria read evidence only: events, rows, changes and the answer",
            )


def _scores(subject: Subject, env: ToolEnv, episode: list[tuple[TurnLog, int]]) -> Iterator[int]:
    instance = env.instance
    state = instance.initial_state.replica()
    logs = [log for log, _ in episode]
    try:
        for score in rescore(instance.rubric, instance.evidence(state), state, logs):
            yield score.points
    except (RecordError, RowError) as error:
        raise subject.fault(
            f"{env.task.id}: the log does not add up: {error}",
            "events and journal together account for every change",
            "Write rows only inside of a tool, through its context's state",
        ) from error
