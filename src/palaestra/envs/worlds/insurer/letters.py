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
    "settle-contents": _kind(
        "settle",
        "claim",
        (
            "All that is gone stands on my list; now {claim} should be wound up and the money sent.",
            "How much is it for {claim}? Transfer it as soon as you have worked it out.",
            "Wind up {claim}, would you? The list has been with you for a while.",
        ),
        ("It is about the things on the list.", "In short: the money for my things."),
    ),
    "settle-stolen": _kind(
        "settle",
        "claim",
        (
            "Thieves emptied our home; officers came and wrote it all down. Wind up {claim}, would you?",
            "After the break-in the officers took notes for an hour. Now {claim} should be paid out.",
        ),
        ("It is about the break-in.", "Ask if you need anything of the officers' papers."),
    ),
    "pay-advance": _kind(
        "advance",
        "sum claim",
        (
            "Beds and coats cannot wait: kindly send me {sum} ahead of the rest of {claim}.",
            "Before {claim} is wound up I need {sum} in hand. Would you send that ahead?",
        ),
        ("A part of it ahead, that is all.", "The remainder may take its time."),
    ),
    "send-surveyor": _kind(
        "survey",
        "claim",
        (
            "It takes a pair of expert eyes to judge {claim}; have one of your people come round.",
            "Somebody who knows about damage ought to see {claim}. Whom do you send?",
        ),
        ("A visit, in short.", "I am at home most days."),
    ),
    "release-repair": _kind(
        "repair",
        "claim",
        (
            "The costs on {claim} are on paper now. Give the go-ahead, so that my mechanics can start.",
            "My mechanics would start tomorrow with {claim} if you gave the go-ahead.",
        ),
        ("I only need your go-ahead.", "The mechanics are of my own choosing."),
    ),
    "withdraw": _kind(
        "withdraw",
        "",
        (
            "One of the losses I told you about has sorted itself out. Strike it from your books.",
            "There is a loss of mine on your books that you need not deal with any longer; take it off.",
        ),
        ("Just strike it.", "There is nothing to pay on it."),
    ),
    "withdraw-named": _kind(
        "withdraw",
        "claim",
        (
            "The loss of {claim} has sorted itself out, so strike it from your books.",
            "Take {claim} off your books; I need nothing for it any longer.",
        ),
        ("Just strike it.", "There is nothing to pay on it."),
    ),
    "register-loss": _kind(
        "register",
        "contract what sum",
        (
            "Bad news, I fear: {what}. My policy is {contract}, and the damage may run to {sum}.",
            "{contract} is the policy, {sum} is my guess, and the story is short: {what}.",
        ),
        ("Put it on your books, please.", "So there is a new file to open."),
    ),
    "demand": _kind(
        "recover",
        "claim",
        (
            "In {claim} somebody else drove badly. Their company ought to bear its part; see to it.",
            "I should not bear {claim} alone: write to the company of whoever ran into me.",
        ),
        ("Fair is fair.", "Their company has deep pockets."),
    ),
    "deductible-back": _kind(
        "recover",
        "claim",
        (
            "Back in {claim} I bore a part myself. If the other company has paid, that part is mine.",
            "Did the other company transfer anything for {claim}? If so, hand me the part that I bore.",
        ),
        ("It is about the part that I bore.", "My own part, that is what I am after."),
    ),
    "reclaim": _kind(
        "reclaim",
        "invoice claim",
        (
            "Two transfers for one bill have reached my workshop, it says: {invoice}, on {claim}. One must go back.",
            "The workshop is honest enough to say so: {invoice} of {claim} came in two times. Fetch one back.",
        ),
        ("One of the two is too many.", "I do not want trouble with the workshop."),
    ),
    "what-was-paid": _kind(
        "question",
        "claim",
        (
            "Which sum has left your house for {claim} up to now?",
            "For my papers I need one figure: all that {claim} has brought so far.",
        ),
        ("One figure will do.", "I ask for nothing else."),
    ),
}
"""Every kind of request that a family words."""
