"""What the viewport shows of a page, by the lines of the plain renderer, so that all dialects see the same."""

from dataclasses import replace

import orjson

from palaestra.envs.surfaces.pages.session import CLOSE, BrowserSession, Outcome
from palaestra.envs.surfaces.pages.text import INLINE, VIEWPORT, content_lines, element_lines
from palaestra.envs.surfaces.pages.tree import Page, PageElement
from palaestra.records import Json


def whole_page(page: Page, session: BrowserSession) -> tuple[PageElement, ...]:
    """The page with the dialog or the alert that lies over it, first."""
    outcome = session.tab.outcome
    return (*([] if outcome is None else [outcome_element(outcome)]), *page.elements)


def viewport(page: Page, session: BrowserSession) -> tuple[PageElement, ...]:
    """The elements that the viewport shows, each whole; those whose last line lies outside show no rows."""
    outcome = session.tab.outcome
    kept = [] if outcome is None else [outcome_element(outcome)]
    total = sum(1 for element in page.elements for _ in element_lines(element))
    top = min(session.tab.scroll, max(0, total - 1))
    if top == 0 and total <= VIEWPORT:
        return (*kept, *page.elements)
    line = 0
    for element in page.elements:
        clipped, line = _clip(element, "", line, top)
        if clipped is not None:
            kept.append(clipped)
    return tuple(kept)


def limit_depth(elements: tuple[PageElement, ...], depth: int) -> tuple[tuple[PageElement, ...], int]:
    """The elements down to a level, and how many lie deeper."""
    if depth == 0:
        return (), sum(1 for element in elements for _ in element.walk())
    kept: list[PageElement] = []
    left_out = 0
    for element in elements:
        children, deeper = limit_depth(element.children, depth - 1)
        kept.append(replace(element, children=children) if element.children else element)
        left_out += deeper
    return tuple(kept), left_out


def outcome_element(outcome: Outcome) -> PageElement:
    """What came of the form that was sent last, as a dialog or an alert."""
    if outcome.refused:
        return PageElement(role="alert", name=outcome.alert)
    content: Json = orjson.loads(outcome.content)
    texts = (PageElement(role="text", value=line) for line in content_lines(content, ""))
    close = PageElement(role="button", id=CLOSE, name="Close")
    return PageElement(role="dialog", name=f"{outcome.action} is done", children=(*texts, close))


def _clip(element: PageElement, indent: str, first: int, top: int) -> tuple[PageElement | None, int]:
    """What is seen of an element that begins at line `first`, and the line after it."""
    bottom = top + VIEWPORT
    if not element.children or element.role in INLINE or element.role == "definition":
        after = first + sum(1 for _ in element_lines(element, indent))
        if after <= top or first >= bottom:
            return None, after
        return (element if top < after <= bottom else _without_rows(element)), after
    line = first + sum(1 for _ in element_lines(replace(element, children=()), indent))
    label_seen = line > top and first < bottom
    children: list[PageElement] = []
    for child in element.children:
        clipped, line = _clip(child, f"{indent}  ", line, top)
        if clipped is not None:
            children.append(clipped)
    return (replace(element, children=tuple(children)) if children or label_seen else None), line


def _without_rows(element: PageElement) -> PageElement:
    return replace(element, shows=(), children=tuple(map(_without_rows, element.children)))
