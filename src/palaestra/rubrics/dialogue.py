"""Criteria about the conversation between the agent and the requester.

They read the log of messages: the acts that the person understood, and their answers. They never read the agent's words
themselves.
"""

from collections.abc import Sequence

from palaestra.records import Layer, ToolEvent, Verdict
from palaestra.rubrics.criterion import MET, UNMET, Criterion
from palaestra.rubrics.evidence import Evidence

_RIGHT = ("reveal", "correct", "affirm")


def expect_question(
    topic: str, *, id: str | None = None, points: int | None = None, after: Sequence[str] = ()
) -> Criterion:
    """Expect that the agent asked about `topic` and got the true answer; a mistake counts once it is corrected."""
    return expect_user_message(
        *(f"{kind}:{topic}" for kind in _RIGHT),
        id=id or f"asked-{topic}",
        text=f"Asked about the {topic}, and was told.",
        points=points,
        after=after,
    )


def expect_user_message(
    *said: str,
    id: str,
    text: str | None = None,
    points: int | None = None,
    after: Sequence[str] = (),
) -> Criterion:
    """Expect that the person said one of these, such as "accept:fee"; it counts once the agent could read it."""

    def check(evidence: Evidence) -> Verdict:
        return UNMET if set(said).isdisjoint(evidence.event.said) else MET

    return Criterion(
        id=id,
        text=text or f"Heard the customer's answer: {' or '.join(said)}.",
        check=check,
        points=points,
        layer="selection",
        after=tuple(after),
        about="event",
    )


def expect_message(
    *acts: str,
    id: str,
    text: str | None = None,
    points: int | None = None,
    layer: Layer = "task",
    after: Sequence[str] = (),
) -> Criterion:
    """Expect that a message of the agent did one of these acts, as the person understood it.

    The first time decides: if it came before a criterion of `after`, saying it again does not help.

    Args:
        acts: Acts such as "inform:fee"; a kind alone, such as "refuse", stands for any topic.
        id: The criterion's id.
        text: The sentence that people read.
        points: The points that it wins.
        layer: The layer of its points.
        after: Criteria that must have been met before.
    """

    def does(event: ToolEvent) -> bool:
        return any(act in acts or act.partition(":")[0] in acts for act in event.acts)

    def check(evidence: Evidence) -> Verdict:
        *before, event = evidence.events
        return MET if does(event) and not any(map(does, before)) else UNMET

    return Criterion(
        id=id,
        text=text or f"Said to the customer: {' or '.join(acts)}.",
        check=check,
        points=points,
        layer=layer,
        after=tuple(after),
        about="event",
    )
