"""The oracle's episodes, played through a player in any format."""

from functools import cache

from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.player import Player
from palaestra.trainers.rollouts.worlds import LocalWorlds
from palaestra.trajectory import Episode
from pooled.clock import run
from rollouts.engine import ScriptedEngine
from rollouts.library import codec, jobs, library, shown, solving


@cache
def played(form: str, place: int) -> Episode:
    """The library's task at `place`, as whoever writes what the oracle does plays it."""
    job = jobs(len(shown()))[place]

    async def main() -> Episode:
        world = await LocalWorlds(library(form)).open()
        config = PlayConfig(context=8192, turn=200)
        return await Player(job, world, ScriptedEngine(solving(form)), codec(form), config).play()

    return run(main())
