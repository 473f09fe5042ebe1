"""How a talk went, and whose fault it is where it went badly: the user's or the agent's."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from palaestra.envs.user.acts import kind_of
from palaestra.envs.user.agenda import UserState
from palaestra.envs.user.persona import Persona

UserFault: TypeAlias = Literal["misinformed", "refused", "left"]
"""A mistake of the user's stands; they gave in to a refusal of what they were owed; they left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserReport:
    """How a talk stands."""

    patience: int
    """What is left of it."""
    settled: bool
    """Whether the user has what they settle for, or has accepted that they will not get it."""
    heard: tuple[str, ...]
    """Every act that they understood."""
    said: tuple[str, ...]
    """Everything that they said, as the log calls it."""
    irritations: tuple[str, ...]
    """What irritated them, in order."""
    fault: UserFault | None
    """What went wrong, if anything did: the gravest, a leaving before a refusal before a mistake."""
    blame: Literal["user", "agent"] | None
    """Whose doing it is: the user's is a mistake that they keep to and that no record shows."""


def reported(persona: Persona, state: UserState) -> UserReport:
    """The report on a talk that stands at `state`."""
    fault, blame = _fault(persona, state)
    return UserReport(
        patience=max(state.patience, 0),
        settled=state.mood in ("settled", "silent"),
        heard=state.heard,
        said=state.said,
        irritations=state.irritations,
        fault=fault,
        blame=blame,
    )


def _fault(persona: Persona, state: UserState) -> tuple[UserFault | None, Literal["user", "agent"] | None]:
    if state.mood == "gone":
        return "left", "agent"
    if persona.owed and kind_of(state.yielded) == "refuse":
        return "refused", "agent"
    standing = [fact for fact in persona.facts if fact.topic in state.misled]
    if not standing:
        return None, None
    hidden = all(fact.stubborn and not fact.evident for fact in standing)
    return "misinformed", "user" if hidden else "agent"
