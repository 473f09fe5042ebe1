"""Held-out wordings about orders: to cancel one, to send one elsewhere, and where a parcel is."""

from palaestra.envs.kit.letters import LetterKind
from palaestra.envs.worlds.storefront.letters.surroundings import CUSTOMERS

_CANCEL_IN_SHORT = (
    "In short: a cancellation.",
    "So what I want is a cancellation.",
    "To sum up: it should be cancelled.",
    "A cancellation, that is the whole request.",
)
_ADDRESS_IN_SHORT = (
    "In short: a changed address.",
    "So the delivery address is what matters.",
    "It is only the address that changes.",
)
_LOST_PARCEL_IN_SHORT = (
    "In short: a missing parcel, to be shipped anew or reimbursed.",
    "It is the missing parcel that I write about.",
    "So: ship it anew or reimburse me.",
)
_STATUS_IN_SHORT = (
    "In short: tracking code and expected delivery day.",
    "So all I need is the tracking code with the expected delivery day.",
)

_ORDER = frozenset({"order"})
_CANCELLING = (
    "A relative had the very same idea for my birthday, so one of us has to step back.",
    "Our plans have changed, and there is nothing left to build.",
    "I clicked too fast late at night.",
    "The project that it was meant for has been shelved.",
    "My brother has a spare set that he gives me, so a cancellation is the sensible thing.",
)
_CANCELLING_ABROAD = {
    "de": "Ich habe mich beim Bestellen leider vertan.",
    "fr": "Finalement, je n'en ai plus l'utilité.",
    "es": "Me he precipitado con la compra.",
}

CANCEL = LetterKind(
    topic="cancel",
    summaries=_CANCEL_IN_SHORT,
    around=CUSTOMERS,
    facts=_ORDER,
    wishes=(
        "Would you be so kind as to cancel {order} completely, as long as it is still with you?",
        "Kindly withdraw {order}: a full cancellation, nothing of it should be sent.",
        "Could you scrap {order} for me? I mean the whole order; cancel every line.",
        "{order} can be cancelled, all of it. Do not ship any of it.",
        "Take {order} out of your system, please; I want the order cancelled entirely.",
        "I am asking you to call {order} off. A cancellation of the complete order is what I am after.",
    ),
    foreign_wishes={
        "de": "Bitte stornieren Sie {order} komplett, so in English: cancel the entire order.",
        "fr": "Merci d'annuler {order} en entier, I would be glad of a cancellation before anything goes out.",
        "es": "Quisiera anular {order} por completo: cancel it entirely, nothing should leave your warehouse.",
    },
    reasons=_CANCELLING,
    foreign_reasons=_CANCELLING_ABROAD,
)
CANCEL_FOR = LetterKind(
    topic="cancel",
    summaries=_CANCEL_IN_SHORT,
    around=CUSTOMERS,
    facts=frozenset({"order", "owner"}),
    wishes=(
        "On behalf of {owner}, whose order {order} is, I would ask you to cancel it altogether.",
        "{owner} placed {order} and wants it cancelled entirely; I have been asked to let you know.",
        "This is about {order}, which belongs to {owner}. {owner} would like the whole order cancelled and sent me.",
        "I write in the name of {owner}: kindly call {order} off, a full cancellation.",
        "{owner} cannot get to a computer, so I do this: {order} should be cancelled, every line of it.",
    ),
    reasons=_CANCELLING[1:2] + _CANCELLING[3:4],
)
CANCEL_AGAIN = LetterKind(
    topic="cancel",
    summaries=_CANCEL_IN_SHORT,
    around=CUSTOMERS,
    facts=_ORDER,
    wishes=(
        "Would somebody finally cancel {order}, all of it? My earlier messages about this went unanswered.",
        "{order} is still to be cancelled entirely. That is not my first mail on it, and nobody has replied so far.",
        (
            "Once more, because earlier mails of mine got no answer: the complete {order} should be called off, a "
            "cancellation, nothing else."
        ),
        "Kindly withdraw {order}, the whole order, as I asked in previous tickets that nobody reacted to.",
        "As my previous attempts met with silence, I repeat that I want {order} cancelled completely.",
    ),
    reasons=_CANCELLING,
    foreign_reasons=_CANCELLING_ABROAD,
)
CANCEL_UNNAMED = LetterKind(
    topic="cancel",
    summaries=_CANCEL_IN_SHORT,
    around=CUSTOMERS,
    wishes=(
        "Among what I have open with you is an order that should be cancelled; kindly call that one off entirely.",
        "There is an order of mine in your queue that I do not want to receive. A cancellation would be great.",
        "Could you cancel an order for me, completely, as long as it has not gone out?",
        "An order that I placed the other day ought to be cancelled; do withdraw it, all of it.",
        "I would be glad of a cancellation: an order of mine was not meant to be placed.",
    ),
    foreign_wishes={
        "de": "Bitte eine Bestellung stornieren: I want an order cancelled that is still with you.",
    },
    reasons=_CANCELLING,
    foreign_reasons=_CANCELLING_ABROAD,
)
REDIRECT = LetterKind(
    topic="address",
    summaries=_ADDRESS_IN_SHORT,
    around=CUSTOMERS,
    facts=frozenset({"order", "street", "city"}),
    wishes=(
        "Could the delivery address of {order} be changed to {street}, {city}?",
        "{order} should go to a different address: {street}, {city}.",
        "Kindly alter where {order} is delivered. The address it needs is {street}, and the town is {city}.",
        "For {order}, the address on the label ought to read {street}, {city}, not the one you have.",
        "Please have the courier bring {order} to this address: {street} in the town of {city}.",
    ),
    foreign_wishes={
        "de": "Die Lieferadresse stimmt nicht mehr: {order} needs to be delivered to the address {street}, {city}.",
        "fr": "L'adresse de livraison a changé. Use {street}, {city} as the address for {order}.",
    },
    reasons=(
        "Nobody is in at our place during the day.",
        "The bell at home is out of order, and couriers give up.",
        "My sister has offered to sign for it.",
        "I am house-sitting for a while.",
    ),
    foreign_reasons={
        "de": "Unser Hausflur ist gerade eine Baustelle.",
        "es": "Estaré fuera unos días.",
    },
)
REDIRECT_UNNAMED = LetterKind(
    topic="address",
    summaries=_ADDRESS_IN_SHORT,
    around=CUSTOMERS,
    facts=_ORDER,
    wishes=(
        "{order} must be delivered to another address than the one you have; could you change that?",
        "The delivery address of {order} is out of date. It should come to where I live now.",
        "Would you change the address for {order}? It is meant to go to my parents' place this time.",
        "I need {order} brought to a different address, not the old one.",
    ),
    foreign_wishes={
        "de": "Die Adresse muss geändert werden: {order} has to be delivered to a different address.",
    },
    reasons=(
        "The keys of the old place have been handed over.",
        "I am staying with family for a while.",
        "Couriers have a hard time finding anybody in at the moment.",
    ),
    foreign_reasons={
        "fr": "Nous avons déménagé.",
    },
)
NEW_HOME = LetterKind(
    topic="address",
    summaries=_ADDRESS_IN_SHORT,
    around=CUSTOMERS,
    facts=frozenset({"street", "city"}),
    wishes=(
        "Every open order of mine that has not reached me needs a changed delivery address: {street}, {city}.",
        "Could you change the address on all of my outstanding orders to {street}, {city}?",
        "For each order that is still on my list, deliver to {street}, {city}; the former address is void.",
        "{street}, {city} is the address for all my pending orders from today on.",
        "All that you have yet to deliver to me should be addressed to {street} in the town of {city}.",
    ),
    foreign_wishes={
        "de": (
            "Neue Adresse für alle offenen Bestellungen: {street}, {city}. Please use that address for each open order."
        ),
    },
    reasons=(
        "The lorry with our furniture left this morning.",
        "The landlord wanted the old place back.",
        "It was a hectic week of carrying boxes.",
    ),
    foreign_reasons={
        "de": "Wir sind umgezogen.",
        "es": "Acabamos de mudarnos.",
    },
)
OVERDUE = LetterKind(
    topic="lost parcel",
    summaries=_LOST_PARCEL_IN_SHORT,
    around=CUSTOMERS,
    facts=_ORDER,
    wishes=(
        "{order} has not arrived. Either ship a second parcel or reimburse me, whichever your rules allow.",
        (
            "The parcel with {order} seems to have vanished; a replacement shipment or a reimbursement would both "
            "be fine."
        ),
        (
            "What has become of {order}? The delivery date has come and gone without a parcel. Ship it anew or "
            "reimburse me, I do not mind which."
        ),
        (
            "No sign of {order}: the courier never delivered the parcel. Make it good, with another shipment or the"
            " money."
        ),
        "I believe the courier mislaid {order}. Whether you ship another parcel or reimburse me is up to you.",
    ),
    foreign_wishes={
        "fr": "Le colis n'est jamais arrivé: {order} is missing. A second shipment or a reimbursement, as you can.",
        "de": "Das Paket ist verschollen: {order} has never been delivered. Ship another parcel, or reimburse me.",
    },
    reasons=(
        "I have asked the neighbours on both sides, and nobody took in a parcel.",
        "I have had the tracking page open all week.",
        "I stay in every afternoon for the courier, and no one rings.",
        "The post office knows nothing either.",
    ),
    foreign_reasons={
        "es": "Miro el seguimiento a diario.",
    },
)
STATUS = LetterKind(
    topic="status",
    summaries=_STATUS_IN_SHORT,
    around=CUSTOMERS,
    wishes=(
        "Which tracking code does the parcel under way to me have, and what day is the expected delivery?",
        "I would like to follow my parcel: give me its tracking code and the expected delivery day.",
        (
            "Please let me have tracking information for the parcel that you shipped to me, with the expected day "
            "of delivery."
        ),
        "When can I expect my delivery, and under which tracking code does the parcel travel?",
    ),
    foreign_wishes={
        "de": (
            "Könnten Sie mir die Sendungsnummer schicken? I want the parcel's tracking code and its expected "
            "delivery day."
        ),
    },
    reasons=(
        "I want to be in when the courier rings.",
        "Our concierge asks for it in advance.",
        "The mail that should have told me has gone astray.",
    ),
    foreign_reasons={
        "fr": "Il me tarde de le recevoir.",
    },
)
