"""Held-out wordings about money: prices, refunds that are due, charges, credit and compensation."""

from palaestra.envs.kit.letters import LetterKind
from palaestra.envs.worlds.storefront.letters.surroundings import CUSTOMERS

_PRICE_IN_SHORT = (
    "In short: a price match.",
    "So I hope that you match the competitor's price.",
    "A price match, that is the whole request.",
)
_REFUND_DUE_IN_SHORT = (
    "In short: the payout.",
    "So this is about the payout.",
    "It is the payout that I write about.",
)
_DOUBLE_CHARGE_IN_SHORT = (
    "In short: a duplicate debit.",
    "So one debit of the pair should be reversed, the duplicate.",
)
_COMPENSATION_IN_SHORT = (
    "In short: compensation for the delay.",
    "So this is about compensation.",
    "Compensation for the delay, that is the whole request.",
)
_CODE_IN_SHORT = (
    "In short: the voucher.",
    "So it is all about applying that voucher.",
    "A voucher applied late, that is the whole request.",
)
_STORE_CREDIT_IN_SHORT = (
    "In short: my store credit balance.",
    "So the balance of my store credit is all I need.",
)
_TOTAL_PAID_IN_SHORT = (
    "In short: the net total.",
    "So the net total of my payments is all I need.",
)

_ORDER = frozenset({"order"})
_PIECE = frozenset({"order", "product"})

CHEAPER = LetterKind(
    topic="price",
    summaries=_PRICE_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE,
    wishes=(
        "A competitor lists the {product} at a lower price than I paid under {order}. I ask for a price match.",
        "Could I have a price match for the {product} of {order}? A competitor offers a lower price.",
        "The price of the {product} in {order} is beaten by a competitor; kindly match the lower price.",
        "I have come across a lower price for the {product} at a competitor. Please match it for {order}.",
        "On behalf of my wallet: price match for the {product}, {order}. A competitor has a lower price.",
    ),
    foreign_wishes={
        "de": (
            "Anderswo ist der Preis niedriger: a competitor undercuts the {product} of {order}. Would you match the"
            " price?"
        ),
    },
    reasons=(
        "My brother-in-law sent me the link with a grin.",
        "I was not even looking for it; an advertisement showed it to me.",
        "I know that you advertise fair prices.",
    ),
    foreign_reasons={
        "fr": "Le prix m'a surpris.",
    },
)
CHEAPER_ORDER = LetterKind(
    topic="price",
    summaries=_PRICE_IN_SHORT,
    around=CUSTOMERS,
    facts=_ORDER,
    wishes=(
        "Competitors have lower prices for most lines of {order}. I ask for a price match on each line.",
        "Take {order} line by line: competitors sell most of it at a lower price. Kindly match every one.",
        "Could there be a price match for the whole of {order}? Line after line, competitors are below your price.",
        (
            "I went through {order} with a price search open, and competitors have lower prices for most lines; "
            "match them all, please."
        ),
    ),
    reasons=(
        "I made a spreadsheet, which says a lot about my weekend.",
        "I know that you advertise fair prices.",
    ),
    foreign_reasons={
        "es": "Mi cuñado me mandó los enlaces.",
    },
)
MONEY_FOR_RETURN = LetterKind(
    topic="refund due",
    summaries=_REFUND_DUE_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE,
    wishes=(
        (
            "The {product} of {order} has gone back to you as a return, and the payout for it is outstanding. "
            "Kindly transfer it."
        ),
        "I returned the {product}, {order}, and my account shows no payout for it so far. Could you transfer it?",
        "Since my return of the {product} of {order} no payout has arrived. Please transfer what I am owed.",
        "Could you complete the payout for the {product} of {order}, which is back in your warehouse as a return?",
    ),
    foreign_wishes={
        "de": "Die Erstattung steht noch aus: my return of the {product} of {order} calls for its payout.",
    },
    reasons=(
        "I look at my account every morning.",
        "The receipt of the drop-off is in my drawer.",
    ),
    foreign_reasons={
        "fr": "Je surveille mon compte.",
    },
)
WAITING_REFUND = LetterKind(
    topic="refund due",
    summaries=_REFUND_DUE_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE,
    wishes=(
        "For the faulty {product} of {order} a payout was promised and had to be signed off. Please see it through.",
        (
            "Has anybody signed off the payout for the defective {product} in {order}? My account shows nothing;"
            " please see it through."
        ),
        (
            "The payout that you announced for the {product} of {order} waits for somebody's signature, I was told."
            " Please chase it."
        ),
        "I am still owed the payout for the {product} of {order}, which somebody was to approve. Please get it moving.",
    ),
    foreign_wishes={
        "de": (
            "Wo bleibt meine Erstattung? The payout for the faulty {product} of {order} was with somebody for approval;"
            " please chase it."
        ),
    },
    reasons=(
        "I look at my account every morning.",
        "I understand that it is a formality.",
    ),
    foreign_reasons={
        "es": "Ya ha pasado bastante tiempo.",
    },
)
TOO_LITTLE = LetterKind(
    topic="refund due",
    summaries=_REFUND_DUE_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE,
    wishes=(
        (
            "The payout for the {product} of {order} fell short of the price I had paid. Kindly transfer what is "
            "missing."
        ),
        "My account shows a payout for the {product}, {order}, that is too low. Could you transfer the missing part?",
        "There is an amount missing in the payout for the {product} of {order}; please make up the shortfall.",
        (
            "You transferred too low an amount for the {product} of {order}. The missing part of the payout is "
            "still due."
        ),
    ),
    foreign_wishes={
        "de": "Es fehlt ein Betrag: the payout for the {product} of {order} was too low, so transfer what is missing.",
    },
    reasons=(
        "I have done the sum three times.",
        "My wife found it when she did the accounts.",
    ),
    foreign_reasons={
        "fr": "Le compte n'y est pas.",
    },
)
CHARGED_TWICE = LetterKind(
    topic="double charge",
    summaries=_DOUBLE_CHARGE_IN_SHORT,
    around=CUSTOMERS,
    facts=_ORDER,
    wishes=(
        "{order} was debited two times although there was one purchase. Kindly reverse the duplicate debit.",
        "There is a pair of debits for {order} on my card; one is a duplicate and should be reversed.",
        "A duplicate debit for {order} has turned up on my statement. Could you reverse it?",
        "I was debited double for {order}. One debit was due, so reverse the duplicate.",
    ),
    foreign_wishes={
        "de": "Doppelt abgebucht: {order} was debited two times, and the duplicate should be reversed.",
    },
    reasons=(
        "I only noticed when the card was declined at the bakery.",
        "The bank says that I should turn to you.",
    ),
    foreign_reasons={
        "es": "El banco me remite a ustedes.",
    },
)
CHARGED_TWICE_UNNAMED = LetterKind(
    topic="double charge",
    summaries=_DOUBLE_CHARGE_IN_SHORT,
    around=CUSTOMERS,
    wishes=(
        (
            "Somewhere among my purchases is a duplicate debit. I do not know which order it belongs to; look for "
            "it and reverse it, please."
        ),
        (
            "I have been debited double for an order, though I cannot say for which. Reverse the duplicate once you"
            " have it."
        ),
        (
            "One of your debits appears as a duplicate on my statement, the order is not named there. Could you "
            "trace and reverse it?"
        ),
        "My bank shows a duplicate debit by you, without the order. Kindly trace it and reverse one of the pair.",
    ),
    reasons=(
        "I only noticed when the card was declined at the bakery.",
        "The bank says that I should turn to you.",
    ),
    foreign_reasons={
        "de": "Mein Steuerberater ist darauf gestoßen.",
    },
)
SLOW_REPAIR = LetterKind(
    topic="compensation",
    summaries=_COMPENSATION_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE,
    wishes=(
        (
            "My warranty claim on the {product} of {order} drags on and on. Would a goodwill credit for the delay "
            "be due?"
        ),
        (
            "The {product}, {order}, has been with your workshop as a claim far too long. What compensation do you "
            "grant for such a delay?"
        ),
        "Could you compensate me for the delay with my claim for the {product} of {order}?",
        (
            "I ask for compensation, since the claim on my {product}, bought under {order}, meets with one delay "
            "after another."
        ),
    ),
    foreign_wishes={
        "de": (
            "Für die lange Verzögerung hätte ich gern einen Ausgleich: compensation for the delayed claim on the "
            "{product} of {order}."
        ),
    },
    reasons=(
        "I make do with a borrowed one meanwhile.",
        "Every call ends with a promise of soon.",
    ),
    foreign_reasons={
        "fr": "Ma patience a des limites.",
    },
)
DELAYED = LetterKind(
    topic="compensation",
    summaries=_COMPENSATION_IN_SHORT,
    around=CUSTOMERS,
    facts=_ORDER,
    wishes=(
        "{order} reached me with a long delay. What compensation do you grant for that?",
        "The delivery of {order} was badly delayed, though it is here now. Would a goodwill credit be due?",
        "Could you compensate me for the delay with which {order} was delivered?",
        "I ask for compensation: {order} is here at last, well behind the promised day.",
    ),
    foreign_wishes={
        "de": "Für die Verspätung von {order} hätte ich gern einen Ausgleich, a compensation for the delay.",
        "fr": "Le retard était considérable. Compensation for the delayed delivery of {order} would be fair.",
    },
    reasons=(
        "We had to put off the whole weekend project.",
        "I had taken a day off for it, which was for nothing.",
        "Every call ended with a promise of soon.",
    ),
)
LATE_PARCELS = LetterKind(
    topic="compensation",
    summaries=_COMPENSATION_IN_SHORT,
    around=CUSTOMERS,
    facts=frozenset({"carrier", "since"}),
    wishes=(
        (
            "Deliveries by {carrier} are delayed time after time. Check all of my orders placed since {since} and "
            "compensate me for each delayed parcel of {carrier}."
        ),
        (
            "Kindly look at every order I placed since {since}. For each parcel that {carrier} delivered with a "
            "delay, I ask for the compensation your rules grant."
        ),
        (
            "{carrier} again, always behind time! For all orders since {since}, compensation for each delayed "
            "{carrier} parcel, if you please."
        ),
        (
            "Since {since} I have ordered several times, and {carrier} has been behind schedule more than once. I "
            "ask for compensation for each of those {carrier} delays."
        ),
    ),
    reasons=(
        "I had taken days off for some of it, which was for nothing.",
        "The other couriers ring on time.",
    ),
    foreign_reasons={
        "de": "Das nervt allmählich.",
    },
)
MISSED_CODE = LetterKind(
    topic="code",
    summaries=_CODE_IN_SHORT,
    around=CUSTOMERS,
    facts=frozenset({"code", "order"}),
    wishes=(
        "At the checkout of {order} the voucher {code} slipped my mind. Could it be applied afterwards?",
        "Would you apply the voucher {code} to {order} retroactively?",
        "I had the voucher {code} lying on my desk and did not use it for {order}. Can the discount be applied now?",
        "{order} went through without my voucher {code}. I would be glad if you applied the discount after the fact.",
    ),
    foreign_wishes={
        "de": (
            "Gutschein vergessen: the voucher {code} should have been applied to {order}. Is the discount still "
            "possible?"
        ),
        "fr": "Le code {code} n'a pas été saisi. Could that voucher be applied to {order} all the same?",
    },
    reasons=(
        "The field for it was further down than I scrolled.",
        "I found the leaflet under a stack of letters.",
        "The doorbell rang just as I was paying.",
    ),
    foreign_reasons={
        "es": "Qué despiste el mío.",
    },
)
STORE_CREDIT = LetterKind(
    topic="store credit",
    summaries=_STORE_CREDIT_IN_SHORT,
    around=CUSTOMERS,
    facts=frozenset({"account"}),
    wishes=(
        "What is the store credit balance on {account}, which is my account?",
        "Please look up the balance of store credit for my account, {account}.",
        "I would like to know the store credit balance that stands on {account}, my customer account.",
        "My account is {account}. Which balance of store credit do I have at present?",
    ),
    foreign_wishes={
        "de": "Wie hoch ist mein Guthaben? The store credit balance of {account}, my account, is all I need.",
    },
    reasons=(
        "I am planning a bigger purchase.",
        "My note of it got lost.",
    ),
    foreign_reasons={
        "es": "No recuerdo la cifra.",
    },
)
NET_PAID = LetterKind(
    topic="total paid",
    summaries=_TOTAL_PAID_IN_SHORT,
    around=CUSTOMERS,
    facts=frozenset({"since"}),
    wishes=(
        "For my accounts I need the net total of my payments, refunds deducted, for all orders placed since {since}.",
        "Could you work out the net total of my payments for orders placed since {since}, refunds deducted?",
        "What is the net total of my payments for all orders placed since {since}? Refunds have to be deducted.",
        "My bookkeeper asks for a net total: my payments for orders placed since {since}, less all refunds.",
    ),
    foreign_wishes={
        "de": "Für die Buchhaltung: the net total of my payments for orders since {since}, refunds deducted.",
    },
    reasons=(
        "The accountant wants it by the end of the week.",
        "I claim part of it as equipment.",
    ),
    foreign_reasons={
        "fr": "C'est pour ma comptabilité.",
    },
)
