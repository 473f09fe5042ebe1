"""A snapshot of an episode, and the environments into which it can be restored."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from palaestra.envs.noise import Noise, NoiseSnapshot
from palaestra.envs.request_variation import RequestVariation
from palaestra.envs.state import OverlaySnapshot
from palaestra.envs.user import UserState
from palaestra.envs.world import CONVENTIONAL
from palaestra.errors import TaskError
from palaestra.records import EndReason, JsonObject, Message, ToolEvent
from palaestra.rubrics import ChecklistSnapshot

if TYPE_CHECKING:  # injections are tried out in episodes, so they come after them
    from palaestra.envs.injections.choice import InjectionChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything that decides how an episode goes on. It pickles, and restores into another process."""

    world: str
    task_id: str
    handbook: int
    seed: int
    rows: OverlaySnapshot
    checklist: ChecklistSnapshot
    events: tuple[ToolEvent, ...]
    heard: tuple[str, ...]
    elapsed: int
    waited: int
    turn: int
    unparsable: int
    max_turns: int
    answer: JsonObject
    end: EndReason | None
    observation: tuple[Message, ...]
    user: UserState | None
    noise_state: NoiseSnapshot | None
    variation: RequestVariation | None = None
    stakes: bool = False
    session: Any = None
    """Where the surface stands; `None` on surfaces that hold nothing."""
    surface: str = CONVENTIONAL
    """The tools that are played with."""
    surface_settings: Any = None
    """The settings of the surface; `None` where it is under none."""
    injection: "InjectionChoice | None" = None
    """Which instruction is planted; `None` where none is."""

    @property
    def noise(self) -> Noise | None:
        """The switches of the noise at work; `None` where every switch is off."""
        return None if self.noise_state is None else self.noise_state.noise

    def check_fit(
        self,
        *,
        world: str,
        noise: Noise | None,
        variation: RequestVariation | None,
        stakes: bool,
        injection: "InjectionChoice | None",
        surface: str,
        surface_settings: Any,
    ) -> None:
        """Raise where an environment has another world or other switches.

        Raises:
            TaskError: it has; the message names both sides.
        """
        if self.world != world:
            raise TaskError(f"a snapshot of {self.world} does not fit {world}; restore it there")
        for name, here, there in (
            ("noise", self.noise, noise),
            ("wording and temper", self.variation, variation),
            ("stakes", self.stakes, stakes),
            ("injection", self.injection, injection),
            ("surface", self.surface, surface),
            ("surface_settings", self.surface_settings, surface_settings),
        ):
            if here != there:
                raise TaskError(
                    f"a snapshot with {_switch(name, here)} does not fit an environment with {_switch(name, there)}; "
                    f"make the environment with the same {name}"
                )


def _switch(name: str, value: object) -> str:
    if isinstance(value, bool | str):
        return f"{name}={value!r}"
    return f"no {name}" if value is None else str(value)
