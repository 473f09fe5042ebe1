"""Held-out wordings about custom PCs: to exchange a part, to mend a build, and to finish one."""

from palaestra.envs.kit.letters import LetterKind
from palaestra.envs.worlds.storefront.letters.surroundings import CUSTOMERS

_BUILD_IN_SHORT = (
    "In short: a changed configuration.",
    "So that is what the configuration needs.",
    "It is only this configuration that changes.",
)

_REASONS = (
    "It is going to be a present for my nephew.",
    "I have been planning this machine for months.",
    "The configurator on your site and I do not get along.",
)
_REASONS_ABROAD = {
    "de": "Das wird mein erster selbst geplanter Rechner.",
    "fr": "C'est mon premier PC sur mesure.",
}

OTHER_CARD = LetterKind(
    topic="build",
    summaries=_BUILD_IN_SHORT,
    around=CUSTOMERS,
    facts=frozenset({"build", "product"}),
    wishes=(
        "In the configuration {build}, swap the graphics card for the {product}. All other parts stay.",
        "Could you exchange the graphics card in {build}? The {product} should go in, the other parts remain.",
        "My configuration {build} should get the {product} for a graphics card; leave the other parts untouched.",
        "A swap in {build}: out with the current graphics card, in with the {product}, every other part stays.",
    ),
    foreign_wishes={
        "de": "Bitte die Grafikkarte tauschen: the {product} goes into configuration {build}, all other parts stay.",
    },
    reasons=_REASONS,
    foreign_reasons=_REASONS_ABROAD,
)
FIX_BUILD = LetterKind(
    topic="build",
    summaries=_BUILD_IN_SHORT,
    around=CUSTOMERS,
    facts=frozenset({"build", "part"}),
    wishes=(
        (
            "Configuration {build} is reported as incompatible, and I suspect the {part}. Swap it for the least "
            "expensive {part} on your shelves with which everything fits; all other parts stay."
        ),
        (
            "My configuration {build} does not pass your check. The culprit seems to be the {part}: exchange it for"
            " the lowest-priced compatible {part} on your shelves, and touch no other part."
        ),
        (
            "Something in {build} is incompatible, I guess the {part}. Could you swap in whichever compatible "
            "{part} costs least among those on your shelves? The other parts of the configuration remain."
        ),
        (
            "{build} will not run as configured, because of the {part}, I think. I want the least expensive {part} "
            "on your shelves that is compatible, and no other part of the configuration changed."
        ),
    ),
    reasons=_REASONS,
    foreign_reasons=_REASONS_ABROAD,
)
FINISH_BUILD = LetterKind(
    topic="build",
    summaries=_BUILD_IN_SHORT,
    around=CUSTOMERS,
    facts=frozenset({"build", "size", "budget"}),
    wishes=(
        (
            "Configuration {build} lacks a graphics card. Add the lowest-priced one with {size} on your shelves "
            "that fits the case. Should the power supply then be too small, swap it for the lowest-priced one on "
            "your shelves that suffices. My budget for both together is EUR {budget}; beyond that, change nothing."
        ),
        (
            "To complete {build} I need a graphics card with {size}, the least expensive on your shelves that fits "
            "the case, and, if the power supply cannot carry it, the least expensive sufficient power supply on "
            "your shelves. Together they may come to EUR {budget}; should they cost more, leave the configuration "
            "alone."
        ),
        (
            "Could you complete my configuration {build}? What it lacks is a graphics card: {size}, fitting the "
            "case, the lowest price among those on your shelves. Where the power supply does not suffice, exchange "
            "that as well, again at the lowest price on your shelves. EUR {budget} is my budget for the two parts; "
            "if they exceed it, do not touch the configuration."
        ),
    ),
    reasons=_REASONS,
    foreign_reasons=_REASONS_ABROAD,
)
