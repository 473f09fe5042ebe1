"""Checks that generated worlds repeat to the byte: random play in fresh processes, each with another hash seed."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import cast

import gymnasium as gym
import orjson
from pydantic import TypeAdapter

from palaestra.durable import make_folder
from palaestra.envs import ToolEnv
from palaestra.envs.synthesis import generate_blueprint
from palaestra.errors import InfrastructureError
from palaestra.log import Log, read_log
from palaestra.record import record
from palaestra.seeding import Stream
from palaestra.table import Table

RECORD = "repeats.jsonl"
"""The file of records in a folder, with one line for each world and process."""
_BEGUN = 50
"""Percentage of episodes that start with the beginning of the solution: random calls alone change few rows."""


@record
class RepeatedWorld:
    """The result of random play in one world, in one process."""

    number: int
    """The number of the world."""
    copy: int
    """The number of the process."""
    steps: int
    episodes: int
    blueprint: str
    """The digest of its blueprint."""
    digest: str
    """A digest of all observations and rewards, and of the environment's digest at the end of every episode."""

    @property
    def name(self) -> str:
        """World and process."""
        return f"synth-{self.number} in process {self.copy + 1}"


def repeat_worlds(
    numbers: Sequence[int],
    out: Path,
    *,
    steps: int,
    processes: int,
    done: Callable[[RepeatedWorld], None] = lambda _: None,
) -> list[RepeatedWorld]:
    """Play worlds at random in several fresh processes, one after another, and record each world.

    Args:
        numbers: The worlds.
        out: A folder; worlds with a record of the same blueprint and number of steps are not played again.
        steps: Steps in each world and process.
        processes: The number of processes; their seeds of Python's hashes are 1, 2, ...
        done: Called with each world of each process, those on record first.

    Returns:
        The result of each world in each process.

    Raises:
        InfrastructureError: a process failed.
    """
    make_folder(out)
    blueprints = {number: generate_blueprint(number).digest for number in numbers}
    found = {
        (one.copy, one.number): one
        for one in read_repeats(out)
        if blueprints.get(one.number) == one.blueprint and one.steps == steps and one.copy < processes
    }
    for one in found.values():
        done(one)
    with Log(out / RECORD) as log:
        for copy in range(processes):
            left = [number for number in numbers if (copy, number) not in found]
            for one in _in_process(left, copy, steps) if left else ():
                log.append(orjson.dumps(one))
                log.sync()
                found[copy, one.number] = one
                done(one)
    return [found[copy, number] for copy in range(processes) for number in numbers]


def read_repeats(out: Path) -> list[RepeatedWorld]:
    """The last record of each world and process in a folder."""
    path = out / RECORD
    found = map(_REPEAT.validate_json, read_log(path) if path.exists() else ())
    return list({(one.copy, one.number): one for one in found}.values())


def _in_process(numbers: Sequence[int], copy: int, steps: int) -> Iterator[RepeatedWorld]:
    code = (
        "import sys, orjson\n"
        "from palaestra.proof.repeated_worlds import play_world\n"
        "numbers, copy, steps = orjson.loads(sys.argv[1])\n"
        "for number in numbers: print(orjson.dumps(play_world(number, copy=copy, steps=steps)).decode(), flush=True)"
    )
    command = [sys.executable, "-c", code, orjson.dumps([list(numbers), copy, steps]).decode()]
    environment = {**os.environ, "PYTHONHASHSEED": str(copy + 1)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:  # noqa: S603  our own interpreter
        assert process.stdout is not None, "it was asked for"
        for line in process.stdout:
            yield _REPEAT.validate_json(line)
    if process.returncode:
        raise InfrastructureError(f"process {copy + 1} ended with status {process.returncode}; run the command again")


def play_world(number: int, *, copy: int, steps: int) -> RepeatedWorld:
    """Play a world at random in this process: tasks of all splits, pieces of solutions, then random legal calls.

    Args:
        number: The number of the world, listed or not; it and `steps` decide everything that is played.
        copy: The number of the process.
        steps: The number of steps.
    """
    env = cast("ToolEnv", gym.make("palaestra/Synth-v0", world=number, unlisted=True).unwrapped)
    tasks = [task for split in env.task_set.splits for task in env.task_set.candidates(split)]
    digests, made, episodes = blake2b(digest_size=16), 0, 0
    while made < steps:
        stream = Stream.root("repeated worlds", number, episodes)
        env.reset(seed=episodes, options={"task": stream.choice(tasks)})
        begun = [*env.oracle()] if stream.chance(_BEGUN) else []
        begun = begun[: stream.between(0, len(begun))]
        is_over = False
        while not is_over and made < steps:
            call = begun.pop(0) if begun else None
            action = {"tool": call.tool, "arguments": dict(call.arguments)} if call else env.legal_actions(1)[0]
            observation, reward, terminated, truncated, _ = env.step(action)
            digests.update(orjson.dumps([observation, float(reward)]))
            made += 1
            is_over = terminated or truncated
        digests.update(env.digest().encode())
        episodes += 1
    return RepeatedWorld(
        number=number,
        copy=copy,
        steps=made,
        episodes=episodes,
        blueprint=generate_blueprint(number).digest,
        digest=digests.hexdigest(),
    )


def unequal_worlds(played: Sequence[RepeatedWorld]) -> list[str]:
    """The worlds whose results differ between processes, in words."""
    found: dict[int, set[tuple[str, str]]] = {}
    for one in played:
        found.setdefault(one.number, set()).add((one.blueprint, one.digest))
    return [f"synth-{number} came out in {len(ways)} ways" for number, ways in sorted(found.items()) if len(ways) > 1]


def repeat_table(played: Sequence[RepeatedWorld]) -> Table:
    """The number of worlds with equal results."""
    worlds, processes = len({one.number for one in played}), len({one.copy for one in played})
    first = [one for one in played if one.copy == 0]
    row = (
        f"{worlds}",
        f"{processes}",
        f"{sum(one.episodes for one in first):,}",
        f"{sum(one.steps for one in first):,}",
        f"{worlds - len(unequal_worlds(played))}",
    )
    return Table(
        title="Generated worlds that repeat to the byte",
        columns=("worlds", "processes", "episodes of each", "steps of each", "worlds alike"),
        rows=(row,),
        note="Processes are fresh and have different seeds of Python's hashes. Compared are the blueprint, every "
        "observation and reward, and the environment's digest at the end of every episode.",
    )


_REPEAT = TypeAdapter(RepeatedWorld)
