"""A library that misbehaves on request: an agent that writes `!hang` has it hang. Importing this registers it."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym

from palaestra.agents.hosted import WorldSpec
from palaestra.envs import ToolEnv
from palaestra.errors import InfrastructureError
from palaestra.protocols import Action
from palaestra.records import Message
from worlds.registration import LIBRARY_ID

FAULTY_ID = "test/FaultyLibrary-v0"


class OddError(Exception):
    """Pickles, but cannot be made again from what it pickled to."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one}, {other}")


def _crash() -> None:
    raise KeyError("shelf 9")


def _odd() -> None:
    raise OddError("rust", "dust")


def _fault() -> None:
    raise InfrastructureError("the disk is gone")


def _dawdle() -> None:
    time.sleep(0.4)


def _hang() -> None:
    threading.Event().wait()


DEEDS: Mapping[str, Callable[[], None]] = {
    "!crash": _crash,
    "!odd": _odd,
    "!fault": _fault,
    "!dawdle": _dawdle,
    "!hang": _hang,
    "!exit": lambda: sys.exit(3),
    "!kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
}


class Faulty(ToolEnv):
    """See the module's text. `on_make`, `on_reset` and `on_close` name what it does then."""

    def __init__(
        self, env_id: str, *, on_make: str = "", on_reset: str = "", on_close: str = "", **kwargs: Any
    ) -> None:
        super().__init__(env_id, **kwargs)
        if on_make:
            DEEDS[on_make]()
        self._on_reset = on_reset
        self._on_close = on_close

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Message, ...], dict[str, Any]]:
        if self._on_reset:
            DEEDS[self._on_reset]()
        return super().reset(seed=seed, options=options)

    def step(self, action: Action) -> tuple[tuple[Message, ...], float, bool, bool, dict[str, Any]]:
        if isinstance(action, str) and action in DEEDS:
            DEEDS[action]()
        return super().step(action)

    def close(self) -> None:
        if self._on_close:
            DEEDS[self._on_close]()
        super().close()


def faulty(form: str = "compact", **switches: object) -> WorldSpec:
    """How one is made."""
    return WorldSpec(env_id=FAULTY_ID, action_format=form, switches=switches, imports=("rollouts.faulty",))


if FAULTY_ID not in gym.registry:
    gym.register(  # pyright: ignore[reportUnknownMemberType]
        FAULTY_ID,
        entry_point="rollouts.faulty:Faulty",
        kwargs={"env_id": LIBRARY_ID},
        disable_env_checker=True,
        order_enforce=False,
    )
