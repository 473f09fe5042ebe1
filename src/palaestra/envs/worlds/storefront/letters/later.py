"""Held-out wordings of requests that ask the desk to wait for some days, and to decide then."""

from palaestra.envs.kit.letters import LetterKind
from palaestra.envs.worlds.storefront.letters.surroundings import CUSTOMERS

_FACTS = frozenset({"orders", "days"})

RETURNS_UNDER_WAY = LetterKind(
    topic="returns under way",
    summaries=(
        "In short: wait for my shipments to your warehouse, then transfer the sums.",
        "So: the boxes travel to your warehouse, and I am reimbursed for each that made it there.",
    ),
    around=CUSTOMERS,
    facts=_FACTS,
    wishes=(
        (
            "The boxes with the goods of {orders} travel to your warehouse and take {days} days at most. Do not close "
            "this before they are due; reimburse me then for each box that your warehouse has booked in."
        ),
        (
            "A courier carries the goods of {orders} to your warehouse and needs {days} days for it. Would you hold "
            "this matter until then and reimburse me for each box that reached the warehouse?"
        ),
        (
            "Kindly hold this for {days} days: by then the warehouse should have the boxes with the goods of {orders}. "
            "Reimburse me at that point for each box it has taken in."
        ),
    ),
    reasons=(
        "The receipts of the courier are in my drawer.",
        "I packed everything in the cartons it came in.",
    ),
    foreign_reasons={"de": "Ich habe alles gut verpackt."},
)
SEARCH_UNDER_WAY = LetterKind(
    topic="carrier search",
    summaries=(
        "In short: await the inquiry, then settle what has vanished.",
        "So: the inquiry first, and afterwards a remedy for whatever has vanished.",
    ),
    around=CUSTOMERS,
    facts=_FACTS,
    wishes=(
        (
            "The depot runs an inquiry about {orders}, none of which is here, and promises its result in {days} days. "
            "Hold this until the inquiry is over, and then remedy each delivery that must be given up."
        ),
        (
            "There is an inquiry at the depot about {orders}; none of them has come so far. It takes {days} days. "
            "Would you hold this until then, and remedy whichever of them has vanished for good?"
        ),
        (
            "Kindly hold this for {days} days, as the depot has an inquiry open about {orders}, which I still expect. "
            "Once the inquiry is over, remedy what has vanished."
        ),
    ),
    reasons=(
        "The hotline of the depot was friendly, for a change.",
        "Our neighbours have not taken anything in either.",
    ),
    foreign_reasons={"fr": "Le dépôt ne répond qu'une fois par semaine."},
)
GOODS_TO_COME = LetterKind(
    topic="restock",
    summaries=(
        "In short: await the restock, then swap what you can and settle what the delay earns.",
        "So: swaps as far as the restock goes, and the goodwill that a long workshop stay earns.",
    ),
    around=CUSTOMERS,
    facts=_FACTS,
    wishes=(
        (
            "The hardware of {orders} sits in your workshop, and a restock is announced in {days} days. Hold this "
            "until the restock; swap for fresh units what you can by then, and grant the goodwill that a long "
            "workshop stay has earned by then."
        ),
        (
            "Your workshop has the hardware of {orders}. Your site announces a restock in {days} days, so hold this "
            "until then. Swap whatever the restock covers for fresh units, and grant any goodwill that a workshop stay "
            "of that length earns."
        ),
        (
            "Kindly hold this for {days} days, until the announced restock. The hardware of {orders} is in your "
            "workshop: swap it for fresh units where the restock allows, and grant the goodwill that the long workshop "
            "stay earns by then."
        ),
    ),
    reasons=(
        "I have borrowed a spare from my neighbour in the meantime.",
        "Everything went off to you well wrapped.",
    ),
    foreign_reasons={"es": "Mientras tanto uso un equipo prestado."},
)
WORD_TO_COME = LetterKind(
    topic="unpacking",
    summaries=(
        "In short: hear first which seals are broken, then prepare the labels.",
        "So: labels for the whole lot, after you have heard about the seals.",
    ),
    around=CUSTOMERS,
    facts=_FACTS,
    wishes=(
        (
            "The whole lot of {orders} shall go back since I have no use for it. A cousin keeps it and reports to you "
            "in {days} days which seals are broken. Hold this until the report about the seals, then prepare the "
            "labels."
        ),
        (
            "I have no use for the lot of {orders}, so it shall go back. Which seals are broken, a cousin reports to "
            "you in {days} days; hold this until then and prepare the labels afterwards."
        ),
        (
            "Kindly hold this for {days} days: by then a cousin reports which seals on the lot of {orders} are broken. "
            "I have no use for any of it, and it shall go back; prepare the labels once you know about the seals."
        ),
    ),
    reasons=(
        "The cousin lives two villages away and has a key to the storeroom.",
        "I am at sea with a poor connection.",
    ),
    foreign_reasons={"de": "Der Cousin hat den einzigen Schlüssel."},
)
