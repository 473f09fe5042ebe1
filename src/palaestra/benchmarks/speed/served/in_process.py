"""The same steps without a server: one environment, and as many environments in turn as a server holds sessions.

With many environments in turn, a step finds few of its rows in the processor's caches, as on a server.
"""

import gc
import time
from collections.abc import Iterator, Sequence

from palaestra.benchmarks.speed.served.figures import ServedSample, ServedScale
from palaestra.benchmarks.speed.served.scripts import SEEDS, make_world
from palaestra.protocols import Action


def time_in_process(env_id: str, scripts: Sequence[Sequence[Action]], scale: ServedScale) -> Iterator[ServedSample]:
    """Play one environment, then many environments in turn."""
    _warm_up(env_id, scripts)
    for sessions in dict.fromkeys((1, scale.sessions)):
        gc.collect()
        yield _time_environments(env_id, scripts, sessions, scale.seconds)


def _warm_up(env_id: str, scripts: Sequence[Sequence[Action]]) -> None:
    """Play each episode untimed, so that one-time work of a process does not count towards the first row."""
    env = make_world(env_id)
    for seed, script in enumerate(scripts):
        env.reset(seed=seed)
        for action in script:
            env.step(action)


def _time_environments(env_id: str, scripts: Sequence[Sequence[Action]], sessions: int, seconds: float) -> ServedSample:
    envs = [make_world(env_id) for _ in range(sessions)]
    seeds = [number % SEEDS for number in range(sessions)]
    actions: list[Iterator[Action]] = []
    for env, seed in zip(envs, seeds, strict=True):
        env.reset(seed=seed)
        actions.append(iter(scripts[seed]))
    played, wall, processor = 0, 0.0, 0.0
    while wall < seconds:
        over: list[int] = []
        begun, spent = time.perf_counter(), time.process_time()
        for place, env in enumerate(envs):
            end = env.step(next(actions[place]))
            if end[2] or end[3]:
                over.append(place)
        wall += time.perf_counter() - begun
        processor += time.process_time() - spent
        played += sessions
        for place in over:
            if sessions == 1:  # a single environment plays all episodes, one after another
                seeds[place] = (seeds[place] + 1) % SEEDS
            envs[place].reset(seed=seeds[place])
            actions[place] = iter(scripts[seeds[place]])
    return ServedSample(
        name="in process",
        workers=0,
        sessions=sessions,
        batch=1,
        steps=played,
        wall_seconds=wall,
        processor_seconds=processor,
        session_bytes=None,
    )
