"""`palaestra/Synth-v0`: generated worlds as environments, one by its number or all of a split."""

from typing import Any

from palaestra.envs.env import ToolEnv
from palaestra.envs.synthesis.many import ManyWorldsEnv
from palaestra.envs.synthesis.one import open_numbered


def make_synth(env_id: str, *, world: int | None = None, **switches: Any) -> ToolEnv | ManyWorldsEnv:
    """A generated world, or all that a split has.

    Args:
        env_id: The id that was asked for.
        world: The world's number; `None` for a `ManyWorldsEnv`.
        switches: What `open_numbered` or `ManyWorldsEnv` takes. Any: they check them.

    Raises:
        CapabilityError: no such world is listed.
        UnknownNameError: there is no such split.
    """
    del env_id
    return ManyWorldsEnv(**switches) if world is None else open_numbered(world, **switches)
