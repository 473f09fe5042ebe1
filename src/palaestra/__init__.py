"""Palaestra: a training hall for tool-using agents.

Importing it registers the environments with Gymnasium; no world is loaded until one is made.
"""

from pathlib import Path
from typing import Any, get_args

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from palaestra.env_settings import BenchmarkId, make
from palaestra.errors import PackError
from palaestra.packs import PACKS, Pack, installed_packs, pack_at
from palaestra.version import __version__

BENCHMARKS: tuple[str, ...] = get_args(BenchmarkId)
"""The ids of the external benchmarks; each is installed separately."""


def register_world(place: str | Path, *, env_id: str | None = None) -> str:
    """Register a world pack with `gymnasium.make` and every command. The pack's code runs when it is first used.

    Args:
        place: A folder with `world.toml` in it, a Python file that defines `WORLD`, a blueprint (YAML or JSON), or
            "module:ATTRIBUTE". A file or module is read at once, since it has no manifest.
        env_id: An environment id to use instead of the one that follows from the world's id and version.

    Returns:
        The environment id, such as "palaestra/HumanResources-v0".

    Raises:
        PackError: there is no pack at that place, it cannot be read, or another pack has its id.
    """
    pack = pack_at(place, env_id=env_id)
    if pack.env_id in PACKS and (other := PACKS.find(pack.env_id)).place != pack.place:
        raise PackError(
            f"{pack.env_id} is registered by {other.source} ({other.place}), so {pack.place} cannot be; change the id"
        )
    if pack.env_id in gym.registry and pack.env_id not in PACKS:
        raise PackError(f"{pack.env_id} is another environment's, so {pack.place} cannot have it; change the id")
    _register(pack, place=pack.place)
    return pack.env_id


def connect(
    url: str, world: str | None = None, *, key: str | None = None, **switches: Any
) -> gym.Env[tuple[Any, ...], Any]:
    """Connect to a world on a server, as a Gymnasium environment; needs the extra `serve`.

    Args:
        url: The server, such as "http://127.0.0.1:8765".
        world: The name of one of its worlds; may be `None` if it serves only one.
        key: The key; `None` reads the environment variable `PALAESTRA_KEY`, if it is set.
        switches: Further arguments of `palaestra.serving.client.ServedEnv`, such as `view`, `task` and `lease`; for
            authors also arguments of the world's own environment, such as `split` and `noise`.

    Returns:
        A `palaestra.serving.client.ServedEnv`.

    Raises:
        ConfigError: the address is invalid, or the server serves several worlds and `world` is `None`.
        AccessError: the key is missing, wrong or expired, or too small for the switches.
        RequestError: a switch does not exist, or cannot have this value.
        ServerError: the server cannot be reached.
    """
    # Any: an observation is a tuple of messages, which nothing here may import.
    made: gym.Env[Any, Any] = gym.make("palaestra/Served-v0", url=url, world=world, key=_secret(key), **switches)
    return made.unwrapped


def connect_vec(
    url: str, num_envs: int, world: str | None = None, *, key: str | None = None, **switches: Any
) -> gym.vector.VectorEnv[Any, Any, Any]:
    """Connect to several environments of a world on a server; needs the extra `serve`. Their turns share one message.

    Args:
        url: The server, such as "http://127.0.0.1:8765".
        num_envs: The number of environments.
        world: The name of one of its worlds; may be `None` if it serves only one.
        key: The key; `None` reads the environment variable `PALAESTRA_KEY`, if it is set.
        switches: Further arguments of `palaestra.serving.client.ServedVectorEnv`: `autoreset_mode`, and those of
            `connect`.

    Returns:
        A `palaestra.serving.client.ServedVectorEnv`. Any: its arrays hold messages and actions.

    Raises:
        PalaestraError: as `connect`, and if the server has no room for that many sessions.
    """
    made: gym.vector.VectorEnv[Any, Any, Any] = gym.make_vec(
        "palaestra/Served-v0", num_envs=num_envs, url=url, world=world, key=_secret(key), **switches
    )
    return made


def _secret(key: str | None) -> str | None:
    """A key that does not show when printed: it is part of a spec, which people print."""
    from palaestra.secret import SecretText  # noqa: PLC0415  most programs connect to no server

    return None if key is None else SecretText(key)


def _register(pack: Pack, **switches: str) -> None:
    PACKS.add(pack)
    _make_known(pack.env_id, "palaestra.envs.env:ToolEnv", **switches)


def _make_known(env_id: str, entry_point: str, vector_entry_point: str | None = None, **switches: str) -> None:
    # Gymnasium's own wrappers would repeat checks and counts of the environment itself. `gym.register` looks through
    # all registered environments on each call, which takes a tenth of the import time with hundreds of worlds.
    gym.registry[env_id] = EnvSpec(
        id=env_id,
        entry_point=entry_point,
        vector_entry_point=vector_entry_point,
        kwargs={"env_id": env_id, **switches},
        disable_env_checker=True,
        order_enforce=False,
    )


for _pack in installed_packs():
    if _pack.env_id in BENCHMARKS:
        PACKS.misnamed.append(f"The world {_pack.name} of {_pack.source} is left out: a benchmark is {_pack.env_id}.")
    else:
        _register(_pack)
_make_known("palaestra/Synth-v0", "palaestra.envs.synthesis:make_synth")
_make_known(
    "palaestra/Served-v0",
    "palaestra.serving.client.env:ServedEnv",
    "palaestra.serving.client.vector_env:ServedVectorEnv",
)
for _id in BENCHMARKS:
    _make_known(_id, "palaestra.benchmarks.external.env:ExternalEnv")

__all__ = ["BENCHMARKS", "__version__", "connect", "connect_vec", "make", "register_world"]
