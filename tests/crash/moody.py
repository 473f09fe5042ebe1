"""A library that fails once, in the way that the environment says, and one that always does."""

import math
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import gymnasium as gym

from palaestra.envs import ToolEnv
from palaestra.errors import InfrastructureError
from palaestra.protocols import Action
from palaestra.steps import Returned
from worlds.registration import LIBRARY_ID

DEED = "PALAESTRA_TEST_DEED"
"""How it fails, and a file that whoever fails removes: `raise:FILE`, `die:FILE`, `hang:FILE`, `nan:FILE`."""
MOODY_ID, RAISING_ID, NAN_ID = "test/MoodyLibrary-v0", "test/RaisingLibrary-v0", "test/NanLibrary-v0"


class Moody(ToolEnv):
    """Fails in the first step of the first world that comes to it."""

    def step(self, action: Action) -> Returned:
        deed, _, file = os.environ[DEED].partition(":")
        try:
            Path(file).unlink()
        except FileNotFoundError:
            return super().step(action)
        if deed == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if deed == "hang":
            threading.Event().wait()
        if deed == "nan":
            return _paid_nan(super().step(action))
        raise KeyError("shelf 9")


class Raising(ToolEnv):
    """Fails in every step."""

    def step(self, action: Action) -> Returned:
        raise InfrastructureError("the disk is gone")


class Nan(ToolEnv):
    """Pays NaN in every step."""

    def step(self, action: Action) -> Returned:
        return _paid_nan(super().step(action))


def _paid_nan(returned: Returned) -> Returned:
    messages, _, terminated, truncated, info = returned
    return messages, math.nan, terminated, truncated, {**info, "record": replace(info["record"], reward=math.nan)}


for env_id, kind in ((NAN_ID, "Nan"), (MOODY_ID, "Moody"), (RAISING_ID, "Raising")):
    if env_id not in gym.registry:
        gym.register(  # pyright: ignore[reportUnknownMemberType]
            env_id,
            entry_point=f"crash.moody:{kind}",
            kwargs={"env_id": LIBRARY_ID},
            disable_env_checker=True,
            order_enforce=False,
        )
