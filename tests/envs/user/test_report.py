"""Whose fault it is."""

import pytest

from palaestra.envs.user import Persona, UserFact, decide, opening_state
from palaestra.envs.user.report import make_report
from palaestra.steps import UserReport

TOPICS = {"order": ("order",)}


def report(facts: tuple[UserFact, ...], *messages: str, owed: bool = False, patience: int = 3) -> UserReport:
    persona = Persona(goal="You want help.", topics=TOPICS, facts=facts, owed=owed, patience=patience)
    state = opening_state(persona, 0)
    for act in messages:
        state = decide(persona, state, (act,)).state
    return make_report(persona, state)


RIGHT = UserFact(topic="order", says="It is ORD-7.")
WRONG = UserFact(topic="order", says="It is ORD-7.", mistaken="It is ORD-1.")
HIDDEN = UserFact(topic="order", says="It is ORD-7.", mistaken="It is ORD-1.", stubborn=True, evident=False)
SHOWN = UserFact(topic="order", says="It is ORD-7.", mistaken="It is ORD-1.", stubborn=True)


@pytest.mark.parametrize(
    ("facts", "messages", "fault", "blame"),
    [
        pytest.param((RIGHT,), ["ask:order"], None, None, id="a talk that goes well"),
        pytest.param((WRONG,), ["ask:order"], "misinformed", "agent", id="nobody asked to check"),
        pytest.param((WRONG,), ["ask:order", "confirm:order"], None, None, id="mended"),
        pytest.param((HIDDEN,), ["ask:order", "confirm:order"], "misinformed", "user", id="kept to, and nothing shows"),
        pytest.param((SHOWN,), ["ask:order", "confirm:order"], "misinformed", "agent", id="the records show it"),
        pytest.param((RIGHT,), ["ask:order"] * 4, "left", "agent", id="asked the same thing again and again"),
    ],
)
def test_the_users_faults_are_told_from_the_agents(
    facts: tuple[UserFact, ...], messages: list[str], fault: str | None, blame: str | None
) -> None:
    found = report(facts, *messages)
    assert (found.fault, found.blame) == (fault, blame)


def test_a_refusal_is_a_fault_only_of_what_was_owed() -> None:
    assert report((), "refuse").fault is None
    assert (report((), "refuse", owed=True).fault, report((), "refuse", owed=True).blame) == ("refused", "agent")
