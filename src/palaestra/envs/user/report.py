"""How a talk went, and whose fault it is where it went badly: the user's or the agent's."""

from typing import Literal

from palaestra.envs.user.acts import kind_of
from palaestra.envs.user.agenda import UserState
from palaestra.envs.user.persona import Persona
from palaestra.steps import UserFault, UserReport


def make_report(persona: Persona, state: UserState) -> UserReport:
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
