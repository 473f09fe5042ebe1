"""Broken in determinism, snapshots and forks."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from palaestra.envs.env import ToolEnv
from palaestra.envs.snapshot import Snapshot
from palaestra.protocols import Action
from worlds.broken.late import Late, Reset, Stepped

_serials = iter(range(10**9))


class Numbered(Late):
    """Numbers its turns over all environments of the process."""

    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        return observation, reward, terminated, truncated, {**info, "serial": next(_serials)}


class HashOrdered(Late):
    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        tables = tuple({info.name for info in self.world.schema} | {t.name for t in self.world.toolbox})
        return observation, reward, terminated, truncated, {**info, "names": tables}


class NextAfterEnd(ToolEnv):
    """Draws another task where the episode before was played to its end."""

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Reset:
        self._ended = (
            self._episode is not None and self.episode.evidence.end is not None and not self.episode.evidence.events
        )
        return super().reset(seed=seed, options=options)

    def _draw_id(self, seed: int) -> str:
        return super()._draw_id(seed + 1 if self._ended else seed)


class LateClock(ToolEnv):
    """Begins later where the episode before ended without a call."""

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Reset:
        idle = self._episode is not None and self.episode.evidence.end is not None and not self.episode.evidence.events
        returned = super().reset(seed=seed, options=options)
        self.episode.clock.advance(60 if idle else 0)
        return returned


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedSnapshot(Snapshot):
    lock: Any = field(default_factory=threading.Lock)


class Unpicklable(ToolEnv):
    def snapshot(self) -> Snapshot:
        plain = super().snapshot()
        return LockedSnapshot(**{name: getattr(plain, name) for name in Snapshot.__dataclass_fields__})


class ForksWhole(ToolEnv):
    """Forks by a whole snapshot, whatever `snapshot` and `restore` do."""

    def fork(self) -> ToolEnv:
        sound = super().fork()
        ToolEnv.restore(sound, ToolEnv.snapshot(self))
        return sound


class ForgetsTurn(ForksWhole):
    def snapshot(self) -> Snapshot:
        return replace(super().snapshot(), turn=0)


class ForgetsMood(Late):
    """Counts turns beside the snapshot and lets the count show."""

    _mood = 0

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Reset:
        self._mood = 0
        return super().reset(seed=seed, options=options)

    def step(self, action: Action) -> Stepped:
        self._mood += 1
        return super().step(action)

    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        return observation, reward, terminated, truncated, {**info, "mood": self._mood}


class CannotGoBack(ForksWhole):
    def restore(self, snapshot: Snapshot) -> None:
        elapsed = self.episode.clock.elapsed if self._episode is not None else 0
        super().restore(snapshot)
        self.episode.clock.set_elapsed(max(elapsed, snapshot.elapsed))


class ForksElsewhere(ToolEnv):
    def fork(self) -> ToolEnv:
        fork = super().fork()
        fork.episode.clock.advance(1)
        return fork


class ForksShareTime(ToolEnv):
    def fork(self) -> ToolEnv:
        fork = super().fork()
        fork.episode.context.clock = self.episode.clock
        return fork


class SiblingsShareTime(ToolEnv):
    _shared: Any = None

    def fork(self) -> ToolEnv:
        fork = super().fork()
        if self._shared is None or self._shared.elapsed != self.episode.clock.elapsed:
            self._shared = fork.episode.clock
        fork.episode.clock = fork.episode.context.clock = self._shared
        return fork
