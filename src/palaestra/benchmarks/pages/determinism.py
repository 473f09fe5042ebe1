"""Checks that equal actions give equal episodes: digests in several processes, and screenshots in fresh browsers.

The result of an episode in one process or browser is one line of a log, so an interrupted measurement resumes with the
missing episodes.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import gymnasium as gym
import orjson
from pydantic import TypeAdapter

from palaestra.envs import ToolEnv
from palaestra.errors import EpisodeOverError, InfrastructureError
from palaestra.log import Log, read_log
from palaestra.packs import PACKS
from palaestra.record import record
from palaestra.records import ToolCall
from palaestra.seeding import Stream
from palaestra.table import Table

LOOKS: Sequence[Mapping[str, Any]] = (
    {},
    {"variation": 3},
    {"variation": "wizard", "disturbances": {"percent": 20, "seed": 5}},
    {"dialect": "browsergym", "budget": 1_500},
)
"""The surface settings that episodes use in turn."""
ACTIONS = 40
"""Maximum number of actions of a random episode."""
PICTURES = 8
"""Maximum number of screenshots of an episode in a browser."""


@record
class RepeatedEpisode:
    """An episode that was played in one process or browser."""

    renderer: str
    """"process" or "chromium"."""
    copy: int
    """The number of the process or browser."""
    env_id: str
    number: int
    steps: int
    digest: str
    """The digest of the digests after all steps, or of all screenshots."""


_EPISODE = TypeAdapter(RepeatedEpisode)


def play_digests(env_ids: Sequence[str], numbers: Sequence[int], copy: int) -> Iterator[RepeatedEpisode]:
    """Play episodes in this process: solutions and random actions in turn, with all surface settings.

    Args:
        env_ids: The worlds, in turn.
        numbers: The numbers of the episodes; a number determines its episode.
        copy: The number of the process.
    """
    for number in numbers:
        env, plan = _begin(env_ids, number)
        digests, steps = blake2b(env.digest().encode()), 0
        for step in range(ACTIONS if plan is None else len(plan)):
            call = plan[step] if plan is not None else env.legal_actions(1, seed=1_000 * number + step)[0]
            turn = {"tool": call.tool, "arguments": dict(call.arguments)} if isinstance(call, ToolCall) else call
            try:
                env.step(turn)
            except EpisodeOverError:
                break
            steps += 1
            digests.update(env.digest().encode())
            digests.update("".join(message["content"] for message in env.episode.observation).encode())
        yield RepeatedEpisode(
            renderer="process",
            copy=copy,
            env_id=env.env_id,
            number=number,
            steps=steps,
            digest=digests.hexdigest(),
        )


def _begin(
    env_ids: Sequence[str], number: int, *, looks: Sequence[Mapping[str, Any]] = LOOKS
) -> tuple[ToolEnv, tuple[ToolCall, ...] | None]:
    """Begin an episode; return its environment, and its solution where the episode plays it."""
    env_id = env_ids[number % len(env_ids)]
    place = number // len(env_ids)
    env = gym.make(env_id, surface="pages", surface_settings=looks[place % len(looks)] or None).unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is Palaestra's own"
    env.reset(seed=number)
    return env, env.oracle() if (place // len(looks)) % 2 == 0 else None


def measure_digests(
    env_ids: Sequence[str],
    *,
    episodes: int,
    processes: int,
    log: Path,
    step: Callable[[str, int], None] = lambda _, __: None,
) -> list[RepeatedEpisode]:
    """Play the same episodes in several fresh processes, each with another seed of Python's hashes.

    Args:
        env_ids: The worlds.
        episodes: Number of episodes per process.
        processes: Number of processes, which run one after another.
        log: The file of results, one per line.
        step: Receives the name of finished work, and its number of episodes.

    Raises:
        InfrastructureError: a process failed.
        RecordError: the log cannot be read.
    """
    found = _read(log)
    wanted = [("process", copy, number) for copy in range(processes) for number in range(episodes)]
    for copy in range(processes):
        lacking = [number for number in range(episodes) if ("process", copy, number) not in found]
        step(f"process {copy + 1}", episodes - len(lacking))
        if lacking:
            _add(log, found, _in_process(env_ids, lacking, copy), step)
    return [found[key] for key in wanted]


def _in_process(env_ids: Sequence[str], numbers: Sequence[int], copy: int) -> Iterator[RepeatedEpisode]:
    """Play episodes in a separate process."""
    code = (
        "import sys, orjson, palaestra\n"
        "from palaestra.benchmarks.pages.determinism import play_digests\n"
        "places, *given = orjson.loads(sys.argv[1])\n"
        "for env_id, place in places.items(): palaestra.register_world(place, env_id=env_id)\n"
        "for one in play_digests(*given): print(orjson.dumps(one).decode(), flush=True)"
    )
    places = {env_id: PACKS.find(env_id).place for env_id in env_ids if env_id in PACKS}
    given = orjson.dumps([places, list(env_ids), list(numbers), copy]).decode()
    command = [sys.executable, "-c", code, given]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=_environment(copy)) as process:  # noqa: S603  our own interpreter
        assert process.stdout is not None, "it was asked for"
        for line in process.stdout:
            yield _EPISODE.validate_json(line)
    if process.returncode:
        raise InfrastructureError(f"process {copy + 1} ended with status {process.returncode}; run the command again")


def _environment(copy: int) -> dict[str, str]:
    return {**os.environ, "PYTHONHASHSEED": str(copy + 1)}


def measure_pictures(
    env_ids: Sequence[str],
    *,
    episodes: int,
    program: str,
    log: Path,
    step: Callable[[str, int], None] = lambda _, __: None,
) -> list[RepeatedEpisode]:
    """Play each episode in two fresh browsers, and take screenshots.

    Args:
        env_ids: The worlds.
        episodes: Number of episodes.
        program: The path of Chromium.
        log: The file of results, one per line.
        step: Receives the name of finished work, and its number of episodes.

    Raises:
        InfrastructureError: Chromium failed.
        RecordError: the log cannot be read.
    """
    found = _read(log)
    wanted = [("chromium", copy, number) for number in range(episodes) for copy in range(2)]
    lacking = [key for key in wanted if key not in found]
    step("screenshots", len(wanted) - len(lacking))
    _add(log, found, (_play_pictures(env_ids, number, copy, program) for _, copy, number in lacking), step)
    return [found[key] for key in wanted]


def _play_pictures(env_ids: Sequence[str], number: int, copy: int, program: str) -> RepeatedEpisode:
    from palaestra.envs.surfaces.pages.chromium import Chromium  # noqa: PLC0415  needs the extra `web`

    env, plan = _begin(env_ids, number, looks=LOOKS[:3])
    pictures, steps = blake2b(), 0
    stream = Stream.root("pictures", number)
    with Chromium(program) as chromium, chromium.open(env) as pages:
        for place in range(2 * PICTURES):
            if plan is not None and place >= len(plan):
                break
            surface = env.episode.surface
            assert surface is not None, "it was made with pages"
            call = plan[place] if plan else surface.draw_action(env.episode.state, env.table_ids, stream.split(place))
            if call.tool in env.world.toolbox:
                break
            pages.act(call)
            steps += 1
            if place % 2:
                pictures.update(pages.screenshot())
    return RepeatedEpisode(
        renderer="chromium", copy=copy, env_id=env.env_id, number=number, steps=steps, digest=pictures.hexdigest()
    )


def _read(log: Path) -> dict[tuple[str, int, int], RepeatedEpisode]:
    episodes = map(_EPISODE.validate_json, read_log(log) if log.exists() else ())
    return {(one.renderer, one.copy, one.number): one for one in episodes}


def _add(
    log: Path,
    found: dict[tuple[str, int, int], RepeatedEpisode],
    episodes: Iterator[RepeatedEpisode],
    step: Callable[[str, int], None],
) -> None:
    with Log(log) as results:
        for one in episodes:
            results.append(orjson.dumps(one))
            results.sync()
            found[one.renderer, one.copy, one.number] = one
            step(f"{one.env_id} {one.number}", 1)


def unequal_episodes(played: Sequence[RepeatedEpisode]) -> list[str]:
    """Describe the episodes that differ between processes or browsers."""
    digests: dict[tuple[str, int], set[str]] = {}
    for one in played:
        digests.setdefault((one.renderer, one.number), set()).add(f"{one.steps} {one.digest}")
    return [
        f"{renderer}: episode {number} came out in {len(found)} ways"
        for (renderer, number), found in sorted(digests.items())
        if len(found) > 1
    ]


def determinism_table(played: Sequence[RepeatedEpisode]) -> Table:
    """The table of the number of equal episodes, by renderer."""
    rows: list[tuple[str, ...]] = []
    for renderer, name in (("process", "in process: digests and observations"), ("chromium", "Chromium: screenshots")):
        own = [one for one in played if one.renderer == renderer]
        if own:
            episodes, copies = len({one.number for one in own}), len({one.copy for one in own})
            steps = sum(one.steps for one in own)
            alike = episodes - len(unequal_episodes(own))
            rows.append((name, f"{episodes:,}", f"{copies}", f"{steps:,}", f"{alike:,}"))
    return Table(
        title="Episodes that come out alike in fresh processes and browsers",
        columns=("renderer", "episodes", "copies", "steps", "alike"),
        rows=tuple(rows),
        note="Solutions and random actions in turn, in all worlds, plain, varied, disturbed and in another dialect. "
        "Processes have different seeds of Python's hashes.",
    )
