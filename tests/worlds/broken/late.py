"""Environments that go wrong late: an ordinary smoke test would find the rest."""

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

from palaestra.envs.env import ToolEnv
from palaestra.protocols import Action
from palaestra.records import Message

Observation: TypeAlias = tuple[Message, ...]
Stepped: TypeAlias = tuple[Observation, float, bool, bool, dict[str, Any]]
Reset: TypeAlias = tuple[Observation, dict[str, Any]]

LATE = 3
"""The turn from which most of them are broken."""


class Late(ToolEnv, ABC):
    """Breaks what a step returns, from the third turn on."""

    def step(self, action: Action) -> Stepped:
        stepped = super().step(action)
        return self.spoilt(stepped) if self.episode.turn >= LATE else stepped

    @abstractmethod
    def spoilt(self, stepped: Stepped) -> Stepped:
        """What is returned in place of `stepped`."""
