"""Another look of the same site, drawn from a seed: language, words, order, layout, lengths of lists, steps of forms.

A variation changes how pages read. Rows, ids of elements, addresses of rows, and what a form calls stay the same.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from palaestra.envs.surfaces.pages.lexicon import LANGUAGES, SYNONYMS
from palaestra.envs.surfaces.pages.tree import PLAIN_LOOK, Page, PageElement, PageLook
from palaestra.errors import UnknownNameError
from palaestra.record import record
from palaestra.seeding import Stream

Order: TypeAlias = Literal["usual", "reversed", "rotated"]
PER_PAGE = 10
"""Rows of a list that stand on one page, without variation."""
_RELABELLED = frozenset({"button", "form", "heading", "link", "list", "navigation", "search", "tab", "table"})
"""Roles of elements whose names are words of the site. Names of fields are names of arguments, and stay."""
_DATA_IDS = ("row.", "of.")
"""What the ids of links begin with whose names are values of rows."""
_LABEL = re.compile(r"^(.*?)(: | where | with | \(|$)", re.DOTALL)
"""The words of the site at the beginning of a name; data come after them."""
_WORD = re.compile(r"[A-Za-z]+")


@record
class PageVariation:
    """How a site looks. The defaults are the site as it was made."""

    look: PageLook = PLAIN_LOOK
    """Theme, density, language and icons, which renderers read."""
    synonyms: bool = False
    """Whether labels use other words."""
    order: Order = "usual"
    """Of the blocks of a page below its heading."""
    cards: bool = False
    """Whether rows of tables stand in cards, a line for each column."""
    per_page: int = PER_PAGE
    """Rows of a list that stand on one page."""
    wizard: int = 0
    """Fields on a page of a form with more; 0 for all on one page."""

    @classmethod
    def of(cls, name: int | str) -> "PageVariation":
        """The variation of a seed, which combines families for training, or the one of a family by its name.

        Raises:
            UnknownNameError: there is no such family.
            ValueError: the seed is below 0.
        """
        if isinstance(name, str):
            if name not in FAMILIES:
                raise UnknownNameError.of("family of variations", name, FAMILIES)
            return FAMILIES[name]
        if name < 0:
            raise ValueError(f"variation={name}: seeds are 0 or above")
        return _combine([FAMILIES[family] for family in draw_families(name)])


FAMILIES: Mapping[str, PageVariation] = {
    "dark": PageVariation(look=replace(PLAIN_LOOK, theme="dark")),
    "contrast": PageVariation(look=replace(PLAIN_LOOK, theme="contrast")),
    "spacious": PageVariation(look=replace(PLAIN_LOOK, density="spacious")),
    "terse": PageVariation(look=replace(PLAIN_LOOK, density="terse")),
    "german": PageVariation(look=replace(PLAIN_LOOK, language="de")),
    "spanish": PageVariation(look=replace(PLAIN_LOOK, language="es")),
    "synonyms": PageVariation(synonyms=True),
    "rotated": PageVariation(order="rotated"),
    "long-lists": PageVariation(per_page=25),
    "chinese": PageVariation(look=replace(PLAIN_LOOK, language="zh")),
    "reversed": PageVariation(order="reversed"),
    "cards": PageVariation(cards=True),
    "short-lists": PageVariation(per_page=5),
    "icons": PageVariation(look=replace(PLAIN_LOOK, icons=True)),
    "wizard": PageVariation(wizard=2),
}
"""By name: what one family changes."""
HELD_OUT_FAMILIES = ("chinese", "reversed", "cards", "short-lists", "icons", "wizard")
"""The families that no seed draws: the axis "interface" of evaluation."""
TRAINING_FAMILIES = tuple(name for name in FAMILIES if name not in HELD_OUT_FAMILIES)
"""The families that seeds combine."""


def draw_families(seed: int) -> tuple[str, ...]:
    """The families that a seed combines: each with even odds. A later one decides what two of them change."""
    stream = Stream.root("interface", seed)
    return tuple(name for name in TRAINING_FAMILIES if stream.split(name).chance(50))


def vary_page(page: Page, variation: PageVariation) -> Page:
    """A page as the variation shows it."""
    first, *others = page.elements
    blocks = _reorder(others, variation.order)
    return Page(
        url=page.url,
        title=translate_label(page.title, variation.look.language, synonyms=variation.synonyms),
        elements=(_vary(first, variation), *(_vary(element, variation) for element in blocks)),
        look=variation.look,
    )


@lru_cache(maxsize=4_096)
def translate_label(label: str, language: str, *, synonyms: bool) -> str:
    """The words of the site at the beginning of a label in another language, or in other words; data stay."""
    found = _LABEL.match(label)
    assert found is not None, "the pattern fits every text"
    said = found[1]
    if synonyms:
        said = _replace_words(said, SYNONYMS)
    if language in LANGUAGES:
        said = _replace_words(said, LANGUAGES[language])
    return said + label[found.end(1) :]


def _replace_words(text: str, lexicon: Mapping[str, str]) -> str:
    def other(found: re.Match[str]) -> str:
        word = found[0]
        said = lexicon.get(word.lower())
        if said is None or word.isupper():
            return word
        return said[0].upper() + said[1:] if word[0].isupper() else said

    return _WORD.sub(other, text)


def _vary(element: PageElement, variation: PageVariation) -> PageElement:
    if not (variation.cards or variation.synonyms or variation.look.language != "en"):
        return element
    return _vary_label(element, variation)


def _vary_label(element: PageElement, variation: PageVariation) -> PageElement:
    role, name = element.role, element.name
    if role in _RELABELLED and name and not element.id.startswith(_DATA_IDS):
        name = translate_label(name, variation.look.language, synonyms=variation.synonyms)
    if variation.cards and role in ("table", "row"):
        role = "list" if role == "table" else "listitem"
    children = tuple(_vary_label(child, variation) for child in element.children)
    return replace(element, role=role, name=name, children=children)


def _reorder(elements: Sequence[PageElement], order: Order) -> list[PageElement]:
    """The elements of a page below its navigation, blocks in another order. The first heading stays first."""
    if order == "usual" or not elements or elements[0].role != "heading":
        return list(elements)
    blocks: list[list[PageElement]] = []
    for element in elements[1:]:
        last = blocks[-1][-1].role if blocks else ""
        joins = last == "heading" or (element.role == "definition" and last == "definition")
        if joins:
            blocks[-1].append(element)
        else:
            blocks.append([element])
    blocks = blocks[::-1] if order == "reversed" else [*blocks[1:], *blocks[:1]]
    return [elements[0], *(element for block in blocks for element in block)]


def _combine(parts: Sequence[PageVariation]) -> PageVariation:
    """What several variations change, together."""
    usual = PageVariation()
    changed: dict[str, Any] = {}
    look: dict[str, Any] = {}
    for part in parts:
        for name in ("synonyms", "order", "cards", "per_page", "wizard"):
            if getattr(part, name) != getattr(usual, name):
                changed[name] = getattr(part, name)
        for name in ("theme", "density", "language", "icons"):
            if getattr(part.look, name) != getattr(PLAIN_LOOK, name):
                look[name] = getattr(part.look, name)
    return replace(usual, look=replace(PLAIN_LOOK, **look), **changed)
