"""The results of agents without task knowledge on the same tasks."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import gymnasium as gym
import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.agents import rollout
from palaestra.benchmarks.transfer.config import TransferConfig
from palaestra.benchmarks.transfer.figures import TaskFigures, legal_share, lookup_share
from palaestra.benchmarks.transfer.groups import SYNTH, TransferGroup, transfer_groups
from palaestra.digest import digest
from palaestra.durable import write_file
from palaestra.envs import ToolEnv
from palaestra.envs.synthesis import ManyWorldsEnv
from palaestra.envs.synthesis.listing import listed_worlds
from palaestra.errors import RecordError
from palaestra.proof.baselines import baselines
from palaestra.record import record
from palaestra.trajectory import Episode
from palaestra.validation import plain_rule

AGENTS = ("always-refuse", "reader", "legal-random", "schema-random")
"""The agents; each has a session of its own for each task, with seed 0."""


@record
class TransferFloors:
    """The results of agents without task knowledge."""

    settings: str
    """The digest of the tasks and of the listed worlds that have them."""
    results: Mapping[str, Mapping[str, Mapping[str, TaskFigures]]]
    """Figures by agent, group and task."""


_FLOORS = TypeAdapter(TransferFloors)


def measure_floors(config: TransferConfig, file: Path) -> TransferFloors:
    """Read the floors from `file`, or measure them and write the file.

    The group of all trained worlds has the floors of the first trained world.

    Raises:
        CapabilityError: no world is listed in a split.
        RecordError: the file cannot be read.
    """
    groups = transfer_groups(1, config.tasks)
    settings = _digest_of(groups)
    if file.exists():
        try:
            found = _FLOORS.validate_json(file.read_bytes())
        except ValidationError as error:
            raise RecordError(f"{file}: {plain_rule(error.errors()[0]['msg'])}; remove it to measure anew") from error
        if found.settings == settings:
            return found
    results = {agent: {group.name: _play_group(agent, group) for group in groups} for agent in AGENTS}
    floors = TransferFloors(settings=settings, results=results)
    write_file(file, orjson.dumps(floors))
    return floors


def _digest_of(groups: Sequence[TransferGroup]) -> str:
    numbers = {_number_of(task) for group in groups if group.env_id == SYNTH for task in group.tasks}
    listed = listed_worlds()
    return digest(
        [
            [[group.name, group.tasks] for group in groups],
            [[number, listed[number].blueprint] for number in sorted(numbers)],
        ]
    )


def _number_of(task: str) -> int:
    return int(task.partition("/")[0].removeprefix("synth-"))


def _play_group(agent: str, group: TransferGroup) -> dict[str, TaskFigures]:
    return {task: _figures(_play(agent, group.env_id, task)) for task in group.tasks}


def _play(agent: str, env_id: str, task: str) -> Episode:
    env = _world_of(env_id, task)
    return rollout(env, baselines(env)[agent], name=agent, seed=0, task=task)


def _world_of(env_id: str, task: str) -> ToolEnv:
    if env_id == SYNTH:
        many = ManyWorldsEnv(worlds=[_number_of(task)])
        return many.playing
    env = gym.make(env_id).unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is Palaestra's own"
    return env


def _figures(episode: Episode) -> TaskFigures:
    return TaskFigures(
        solved=(int(episode.score.passed),),
        points=(episode.score.points,),
        legal=legal_share(episode),
        lookups=lookup_share(episode),
    )
