"""Held-out wordings of errands: what the split "heldout" alone has."""

from collections.abc import Mapping

from palaestra.envs.kit import LetterKind, Surroundings, Voice

_FAMILY = Surroundings(
    subjects=("Something for you", "Before the weekend", "When you have a minute", "A small thing", "For today"),
    voices=(
        (
            Voice(
                greetings=("Morning!", "Hi there,", "Dear assistant,", "Hello you,"),
                histories=(
                    "The last parcel came in good shape.",
                    "I spent all evening on the sofa with a catalogue.",
                    "My old desk has finally been given away.",
                ),
                closings=("Thanks a lot.", "Cheers!", "Much obliged.", "Talk soon."),
            ),
            60,
        ),
        (
            Voice(
                greetings=("Hello.", "Quick one:", "Short note:"),
                histories=("Typing on the train.", "In a meeting until noon.", "Phone battery is low."),
                closings=("Thanks.", "Bye.", "That is all."),
            ),
            40,
        ),
    ),
    asides=(
        "The garden is lovely at the moment, by the way.",
        "I have sorted out the rest of the list myself.",
        "No need to call me about it.",
    ),
)
_REASONS = (
    "I have thought about it for a while.",
    "It has been on my list since last month.",
    "My sister talked me into it.",
    "It is for the desk in the small room.",
)


def _kind(topic: str, facts: str, wishes: tuple[str, ...], summaries: tuple[str, ...]) -> LetterKind:
    return LetterKind(
        topic=topic,
        around=_FAMILY,
        facts=frozenset(facts.split()),
        wishes=wishes,
        reasons=_REASONS,
        summaries=summaries,
    )


_PAID = "Have it brought by {delivery} delivery and settle it by {payment}."

LETTERS: Mapping[str, LetterKind] = {
    "buy-one": _kind(
        "buy",
        "what limit delivery payment",
        (
            "Get me {what}, as long as it stays within {limit}. " + _PAID,
            "I am after {what}; {limit} is the most I would spend. " + _PAID,
            "Would you purchase {what} for no more than {limit}? " + _PAID,
        ),
        ("One piece, that is it.", "So: a single piece."),
    ),
    "cheapest": _kind(
        "buy",
        "what limit delivery payment",
        (
            "Whatever costs least among {what} should be mine, one piece, up to {limit}. " + _PAID,
            "Look through {what} and take the lowest price, one piece, {limit} at the outside. " + _PAID,
        ),
        ("The lowest price decides.", "Least money wins."),
    ),
    "best-rated": _kind(
        "buy",
        "what limit delivery payment",
        (
            "Among {what} I want the one that reviewers like most, one piece, within {limit}. " + _PAID,
            "Find the highest rating among {what}; one piece, and {limit} is my ceiling. " + _PAID,
        ),
        ("The rating decides.", "Stars matter most to me."),
    ),
    "pair": _kind(
        "buy",
        "first second limit delivery payment",
        (
            "Get me {first} together with {second}, one of each and in one order; both for {limit} at most. " + _PAID,
            "One {first}, one {second}, a single order, goods up to {limit} in sum. " + _PAID,
        ),
        ("Both or neither.", "It only makes sense as a pair."),
    ),
    "several": _kind(
        "buy",
        "number what delivery payment",
        (
            "We need {number} of this: {what}. " + _PAID,
            "Put in an order for {number} times {what}. " + _PAID,
        ),
        ("All in one order.", "A smaller number is no use."),
    ),
    "by-day": _kind(
        "buy",
        "what day payment",
        (
            "{what}: here on {day} or earlier, one piece, settled by {payment}, with the cheapest delivery in time.",
            "Get one {what} to me by {day}. Take the delivery that costs least and is in time; settle by {payment}.",
        ),
        ("Later is of no use.", "The day is what counts."),
    ),
    "voucher": _kind(
        "voucher",
        "what code delivery payment",
        (
            "Get one {what} with the code {code}, and only if the code holds. " + _PAID,
            "I have the code {code} and would use it on one {what}; without the code I do not want it. " + _PAID,
        ),
        ("No code, no order.", "It is the discount that I am after."),
    ),
    "again": _kind(
        "again",
        "order what delivery payment",
        (
            "Order {order} had {what} in it. One more of the very same, please. " + _PAID,
            "The same {what} as in {order}, one piece, once more. " + _PAID,
        ),
        ("The very same article.", "Same colour, same edition."),
    ),
    "gift": _kind(
        "buy",
        "what street city delivery payment",
        (
            "Send one {what} to {street}, {city}, as a present. " + _PAID,
            "A present: one {what}, to be sent to {street} in {city}. " + _PAID,
        ),
        ("My own address stays as it is.", "It is only this order that goes elsewhere."),
    ),
    "cancel": _kind(
        "cancel",
        "order",
        ("Call {order} off for me.", "I no longer want {order}; stop it.", "Scrap {order}, all of it."),
        ("In short: a cancellation.", "So: off with it."),
    ),
    "send-back": _kind(
        "return",
        "number what order",
        (
            "I do not care for {what} from {order} after all: {number} should go back.",
            "From {order}, {number} of {what} should be returned; I changed my mind.",
        ),
        ("Nothing is broken.", "It works, I just do not like it."),
    ),
    "redirect": _kind(
        "address",
        "order street city",
        (
            "{order} should go to {street}, {city}.",
            "I will be at {street}, {city}, so have {order} delivered there.",
        ),
        ("Only this order.", "My address on file stays."),
    ),
    "moved": _kind(
        "address",
        "street city",
        (
            "I live at {street}, {city} from now on; put that into my address book.",
            "My address book should say {street}, {city}.",
        ),
        ("Nothing else changes.", "Old orders stay as they are."),
    ),
    "last-day": _kind(
        "question",
        "order",
        ("Until which day could I still send {order} back?", "Which is the last day for returning {order}?"),
        ("I only want to know the day.", "Do not start anything."),
    ),
    "friend": _kind(
        "cancel",
        "order",
        ("A friend ordered {order} with their own account; call it off.", "Stop {order}, which a friend has placed."),
        ("They asked me to.", "They can not get at it."),
    ),
}
"""Every kind of errand that a family words."""
