"""Held-out wordings of requests: what the split "heldout" alone has."""

from collections.abc import Mapping

from palaestra.envs.kit import LetterKind, Surroundings, Voice

_POST = Surroundings(
    subjects=("To the claims department", "My file", "A short letter", "News from me", "For your attention"),
    voices=(
        (
            Voice(
                greetings=("Good morning,", "Dear claims team,", "Dear sir or madam,", "Hello to all of you,"),
                histories=(
                    "The weather has been dreadful since.",
                    "My brother says that you were quick with his file.",
                    "I was on the telephone with you last spring about something else.",
                ),
                closings=("With kind regards", "Yours faithfully", "Thank you for your trouble.", "All the best"),
            ),
            55,
        ),
        (
            Voice(
                greetings=("Hi.", "Short one:", "Me again."),
                histories=("Writing from the bus.", "Hardly slept, sorry for typing mistakes.", "On my lunch break."),
                closings=("Thx.", "Cheers.", "That would be it."),
            ),
            45,
        ),
    ),
    asides=(
        "Everything else is sorted out already.",
        "There is no need to ring me up.",
        "The neighbours send their regards, by the way.",
    ),
)
_REASONS = (
    "I have been patient for a while.",
    "It has been on my mind all week.",
    "My partner keeps asking me about it.",
    "I would like to have it off my desk.",
)


def _kind(topic: str, facts: str, wishes: tuple[str, ...], summaries: tuple[str, ...]) -> LetterKind:
    return LetterKind(
        topic=topic,
        around=_POST,
        facts=frozenset(facts.split()),
        wishes=wishes,
        reasons=_REASONS,
        summaries=summaries,
    )


LETTERS: Mapping[str, LetterKind] = {
    "pay-invoice": _kind(
        "pay",
        "invoice claim",
        (
            "The bodywork is finished and {invoice} lies before you; kindly transfer what is due on {claim}.",
            "With {claim} goes the bill {invoice}. Transfer our share of it to the workshop, would you?",
            "The workshop waits for its money: {invoice}, on {claim}.",
        ),
        ("So: the workshop's money.", "It is about that one bill."),
    ),
}
"""Every kind of request that a family words."""
