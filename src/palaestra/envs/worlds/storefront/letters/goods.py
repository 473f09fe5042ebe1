"""Held-out wordings about goods: to return or keep them, that they are damaged or faulty, and about their warranty."""

from palaestra.envs.kit.letters import LetterKind
from palaestra.envs.worlds.storefront.letters.surroundings import COLLEAGUES, CUSTOMERS
from palaestra.envs.worlds.storefront.schema import Fault

_RETURN_IN_SHORT = (
    "In short: a return.",
    "So this is about a return.",
    "To sum up: it should be returned.",
    "A return, that is the whole request.",
)
_KEEP_IN_SHORT = (
    "In short: I keep it.",
    "So I keep it, and it stays here.",
)
_DEFECT_IN_SHORT = (
    "In short: a refund.",
    "So this is about a refund.",
    "To sum up: I ask for a refund.",
    "A refund, that is the whole request.",
)
_WRONG_ITEM_IN_SHORT = (
    "In short: a wrong article, so exchange or refund.",
    "So the wrong article is here and the right one is missing.",
)
_CLAIM_IN_SHORT = (
    "In short: replacement, no repair.",
    "So my claim should end in a replacement and not in a repair.",
)
_WARRANTY_END_IN_SHORT = (
    "In short: the date on which the warranty expires.",
    "So the expiry date of the warranty is all I need.",
)
_RECALL_IN_SHORT = (
    "In short: the recall, as in the notice.",
    "So the recall notice says what to do.",
)

_PIECE = frozenset({"order", "product"})

SYMPTOMS: dict[Fault, tuple[str, ...]] = {
    "dead": ("stays completely dead when I switch it on", "shows no sign of life at all", "no longer powers up"),
    "noise": ("rattles and whines noisily", "hums so noisily that we hear it next door", "has become terribly noisy"),
    "overheating": (
        "overheats until it switches itself off",
        "runs so hot that it turns itself off from the heat",
        "overheats badly and then powers down",
    ),
    "display": (
        "draws coloured stripes across the screen image",
        "covers the screen image with stripes",
        "puts vertical stripes on everything I see on screen",
    ),
    "intermittent": (
        "cuts out every so often without any pattern",
        "works one hour and drops out the next, at random",
        "has random dropouts that I cannot explain",
    ),
}
"""Each fault in words that no other split has."""

SEND_BACK = LetterKind(
    topic="return",
    summaries=_RETURN_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE,
    wishes=(
        "Could you set up a return for the {product} that was part of {order}?",
        "I want to hand the {product} of {order} back to you; what does a return involve?",
        "Is a return possible for the {product}, bought under {order}?",
        "Please arrange for the {product} out of {order} to be returned; I am not going to keep it.",
        "{order}, {product}: I wish to make use of my right of return.",
        "The {product} belongs to {order}, and I have second thoughts. Kindly take it back as a return.",
    ),
    foreign_wishes={
        "de": "Ich möchte den Artikel zurückgeben: a return of the {product} that I got under {order}.",
        "fr": "Je souhaite retourner un article: the {product} of {order} should be returned to you.",
        "es": "Quiero devolver un artículo, a return, that is: the {product} of {order}.",
    },
    reasons=(
        "There is nothing wrong with it; I had simply pictured something else.",
        "I have realised that my old one does all I need.",
        "My partner bought one as well, and we hardly need two.",
        "I have slept on it and it is a luxury I can do without.",
        "It is a fine thing but not for me.",
    ),
    foreign_reasons={
        "de": "Es gefällt mir einfach nicht.",
        "fr": "Je me suis ravisé.",
        "es": "No es lo que imaginaba.",
    },
)
KEEP = LetterKind(
    topic="keep",
    summaries=_KEEP_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE,
    wishes=(
        (
            "I was going to hand back the {product} of {order}, and now I keep it. It stays here, so drop that "
            "plan, please."
        ),
        "The {product} of {order} stays with me. I keep it, so drop the return that was agreed.",
        "Kindly strike the {product} ({order}) off the list of what you expect back; I keep it and it stays here.",
        "The {product} stays here, the one of {order}. I keep it, and the return may be dropped.",
        "No return needed any longer for the {product} of {order}: I keep it.",
    ),
    foreign_wishes={
        "de": "Ich behalte es doch: drop the return of the {product} of {order}, I am keeping it.",
    },
    reasons=(
        "It has grown on me.",
        "I gave it a second chance on the weekend.",
        "My son has found a use for it.",
    ),
    foreign_reasons={
        "de": "Es ist besser als gedacht.",
    },
)
DAMAGED = LetterKind(
    topic="defect",
    summaries=_DEFECT_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE,
    wishes=(
        "When {order} was delivered, the {product} was already damaged. A refund is what I ask for.",
        "The {product} came out of the box of {order} with damage to it. Could I get a refund?",
        "Transport damage: the {product} in {order} reached me cracked. I ask for a refund of its price.",
        "I have to report a {product}, part of {order}, that was delivered damaged; kindly refund its price.",
        "{order} is here, but the {product} got damaged on the way to me. A refund, if you will.",
    ),
    foreign_wishes={
        "fr": "Le produit est arrivé abîmé: the {product} in {order} was damaged on delivery. I ask for a refund.",
    },
    reasons=(
        "The carton looked as if somebody had sat on it.",
        "I could take photos of the dents if that helps.",
        "The padding had slipped to one side.",
    ),
    foreign_reasons={
        "de": "Der Karton war eingedrückt.",
    },
)
BOTH_DAMAGED = LetterKind(
    topic="defect",
    summaries=_DEFECT_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE,
    wishes=(
        (
            "Of the {product} I bought two under {order}, and the pair of them were damaged on delivery. A refund "
            "for both is due."
        ),
        "{order} contained the {product} twice; each of the two was delivered damaged. I ask for a refund of both.",
        "Transport damage on two of two: both {product} in {order} reached me cracked. Kindly refund both.",
        (
            "The two {product} that make up {order} came damaged, one as much as the other. A refund for both, if "
            "you will."
        ),
    ),
    reasons=(
        "The carton looked as if somebody had sat on it.",
        "The padding had slipped to one side.",
    ),
    foreign_reasons={
        "de": "Der Karton war eingedrückt.",
    },
)
SOMETHING_DAMAGED = LetterKind(
    topic="defect",
    summaries=_DEFECT_IN_SHORT,
    around=CUSTOMERS,
    facts=frozenset({"order"}),
    wishes=(
        "One article of {order} was damaged on delivery. I am short of time and simply ask for a refund of it.",
        "{order}: a single item in it was delivered damaged. Refund for that, quickly, my day is full.",
        "In between two appointments: there was damage to one item in {order}, and I ask for its refund.",
        "I can spare a minute only. Part of {order} was damaged on delivery; a refund for that piece.",
    ),
    reasons=("The carton looked as if somebody had sat on it.",),
    foreign_reasons={
        "de": "Keine Zeit für lange Mails.",
    },
)
FAULTY = LetterKind(
    topic="defect",
    summaries=_DEFECT_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE | {"symptom"},
    wishes=(
        "The {product}, bought under {order}, {symptom}. I ask for a refund.",
        "My {product} is defective: it {symptom}. It was part of {order}, and I would ask for a refund.",
        "Regarding {order}: the {product} in it {symptom}, which is clearly a defect. Could I get a refund?",
        "I have a defective {product} here. It {symptom}. Kindly refund what I paid for it under {order}.",
        "There is a defect in the {product} of {order}; it {symptom}. A refund would settle it for me.",
    ),
    foreign_wishes={
        "de": "Das Gerät ist defekt: the {product} of {order} {symptom}. A refund is what I ask for.",
    },
    reasons=(
        "I have tried other cables and another socket.",
        "The manual's chapter on troubleshooting brought me no further.",
        "A friend who knows about computers looked at it, too.",
        "I treat my hardware with care.",
    ),
    foreign_reasons={
        "es": "Ya no sé qué más probar.",
    },
)
ONE_FAULTY = LetterKind(
    topic="defect",
    summaries=_DEFECT_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE | {"count"},
    wishes=(
        (
            "I have {count} pieces of the {product} under {order}; exactly one is defective. A refund for that one "
            "piece."
        ),
        "{order} had {count} of the {product} in it. A single one has a defect, and I ask for its refund alone.",
        (
            "Out of {count} {product} bought under {order}, one is defective and the rest are fine. Kindly refund "
            "the one."
        ),
        "One defective piece among the {count} {product} of {order}: could I get a refund for that piece?",
    ),
    reasons=(
        "I have tried other cables and another socket.",
        "The others run without a hitch.",
    ),
    foreign_reasons={
        "fr": "Les autres marchent très bien.",
    },
)
BROKEN = LetterKind(
    topic="defect",
    summaries=_DEFECT_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE,
    wishes=(
        "The {product} that I got under {order} is defective. I ask for a refund.",
        "Something is defective about the {product} of {order}, and I would ask for a refund.",
        "My {product} has a defect, and a refund would be the right thing. It was part of {order}.",
        "I can no longer use the {product} of {order}; it is defective. Could I get a refund?",
    ),
    foreign_wishes={
        "de": "Leider defekt: the {product} of {order}. A refund is what I ask for.",
    },
    reasons=(
        "I had looked forward to using it.",
        "It is a pity, since I liked it.",
    ),
    foreign_reasons={
        "fr": "C'est dommage.",
    },
)
WRONG_GOODS = LetterKind(
    topic="wrong item",
    summaries=_WRONG_ITEM_IN_SHORT,
    around=CUSTOMERS,
    facts=frozenset({"order", "goods"}),
    wishes=(
        "There was a mix-up in {order}: for {goods} I received a wrong article. Either exchange it or refund it.",
        "Instead of {goods}, {order} had a wrong article in the box. Exchange or refund, both are fine by me.",
        (
            "The box of {order} contained a wrong article where {goods} should have been. I ask for an exchange or "
            "a refund."
        ),
        "A wrong article was packed: I am missing {goods} in {order}. Kindly exchange it, or refund it.",
    ),
    foreign_wishes={
        "de": "Falscher Artikel: in {order} a wrong article took the place of {goods}. Exchange it or refund it.",
    },
    reasons=(
        "Whoever packed it must have reached into the next shelf.",
        "The packing list says the right thing, the content does not.",
    ),
    foreign_reasons={
        "fr": "L'étiquette était pourtant correcte.",
    },
)
NEW_ONE = LetterKind(
    topic="claim",
    summaries=_CLAIM_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE,
    wishes=(
        "Instead of having the {product} of {order} repaired, I ask for a replacement: a changed remedy on my claim.",
        "On my warranty claim for the {product} ({order}): could the repair be turned into a replacement?",
        "My warranty claim says repair for the {product} of {order}. I would prefer a replacement.",
        "Kindly switch my claim on the {product}, bought under {order}, away from repair and over to replacement.",
    ),
    foreign_wishes={
        "de": "Statt Reparatur lieber Ersatz: my claim for the {product} of {order} should become a replacement.",
    },
    reasons=(
        "Workshops take their time, and I need it daily.",
        "I do not trust a mended one.",
    ),
    foreign_reasons={
        "fr": "Je préfère du neuf.",
    },
)
WARRANTY_END = LetterKind(
    topic="warranty end",
    summaries=_WARRANTY_END_IN_SHORT,
    around=CUSTOMERS,
    facts=_PIECE,
    wishes=(
        "On which date does the warranty for the {product} expire? I got it under {order}.",
        "What is the expiry date of the warranty that covers the {product} of {order}?",
        "Kindly let me know the date on which the warranty of the {product} of {order} expires.",
        "How long does the warranty cover the {product}, {order}? I mean the expiry date.",
    ),
    foreign_wishes={
        "de": "Wann endet die Garantie? I need the date on which warranty for the {product} of {order} expires.",
    },
    reasons=(
        "My insurer keeps a list of such dates.",
        "I am tidying the drawer with all the receipts.",
    ),
    foreign_reasons={
        "es": "Es para mi archivo.",
    },
)
RECALL = LetterKind(
    topic="recall",
    summaries=_RECALL_IN_SHORT,
    around=COLLEAGUES,
    facts=frozenset({"product", "orders"}),
    wishes=(
        "The maker recalls the {product}. We shipped it with {orders}; kindly handle the recall as its notice says.",
        (
            "Recall of the {product}: the orders that contain it are {orders}. Would you deal with each as the "
            "notice says?"
        ),
        "{orders} all contain the {product}, for which there is a recall. Handle them by the recall notice.",
        "You will have seen the recall of the {product}. Affected on our side: {orders}. Over to you.",
    ),
    reasons=(
        "We have put the rest of the shelf aside.",
        "The pallets are marked.",
        "The list comes straight from the picking system.",
    ),
)
