"""Where customers want goods sent: streets in towns that suit them. Those of the split "heldout" occur in no other."""

from palaestra.envs.worlds.storefront.desk import Desk

PLACES = (
    ("Lindenweg", "Graz"),
    ("Birkenallee", "Linz"),
    ("Rue Verte", "Lyon"),
    ("Rue des Lilas", "Nantes"),
    ("Harbour Lane", "Cork"),
    ("Mill Road", "Galway"),
    ("Via Nuova", "Bologna"),
    ("Via Larga", "Parma"),
    ("Kerkstraat", "Leiden"),
    ("Molenweg", "Utrecht"),
    ("Calle Mayor", "Sevilla"),
    ("Calle Nueva", "Granada"),
)
HELD_OUT_PLACES = (
    ("Amselgrund", "Villach"),
    ("Impasse du Moulin", "Rennes"),
    ("Quarry Row", "Sligo"),
    ("Vicolo Stretto", "Modena"),
    ("Dijkpad", "Zwolle"),
    ("Ronda Alta", "Huelva"),
)
HIGHEST_NUMBER = 90
"""The highest house number of a street."""


def draw_place(desk: Desk) -> tuple[str, str]:
    """A street with a house number, and its town."""
    street, city = desk.stream.choice(HELD_OUT_PLACES if desk.split == "heldout" else PLACES)
    return f"{street} {desk.stream.between(1, HIGHEST_NUMBER)}", city
