"""Environments that are watched while an adapter plays them: what they were asked, and how they ended."""

from contextlib import suppress
from typing import Any, ClassVar

import gymnasium as gym

import palaestra
from palaestra.errors import EpisodeOverError
from palaestra.protocols import Action
from palaestra.records import Message
from worlds.registration import LIBRARY_ID, register

WATCHED_ID = "test/Watched-v0"


class WatchedEnv(gym.Wrapper[tuple[Message, ...], Action, tuple[Message, ...], Action]):
    """An environment, in process or on a server, that notes its digest and score before it is closed."""

    latest: ClassVar[list["WatchedEnv"]] = []
    """Those that were made since a test began, in order."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.steps = 0
        self.noted: tuple[str, int] | None = None
        self.latest.append(self)

    def step(self, action: Action) -> Any:
        self.steps += 1
        return super().step(action)

    @property
    def ended(self) -> tuple[str, int]:
        """Digest and points so far, also of one that was closed."""
        if self.noted is not None:
            return self.noted
        world: Any = self.unwrapped
        return world.digest(), world.score().points

    def close(self) -> None:
        if self.steps:
            with suppress(EpisodeOverError):  # a void episode has no score
                self.noted = self.ended
        super().close()


def make_watched(inner: str = LIBRARY_ID, url: str | None = None, **switches: Any) -> WatchedEnv:
    """An environment that is watched."""
    made: Any = palaestra.connect(url, **switches) if url else palaestra.make(inner, **switches)
    return WatchedEnv(made)


def register_served() -> None:
    """Register the library under the id that its server gives it, as authors need; again does nothing."""
    if "palaestra/Library-v0" not in gym.registry:
        palaestra.register_world("worlds.library:LIBRARY")


def register_watched() -> None:
    """Register `WATCHED_ID`; again does nothing."""
    register()
    if WATCHED_ID not in gym.registry:
        gym.register(  # pyright: ignore[reportUnknownMemberType]
            WATCHED_ID, entry_point=make_watched, disable_env_checker=True, order_enforce=False
        )
