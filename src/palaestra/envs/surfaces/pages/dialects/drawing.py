"""An observation within its settings: viewport, depth, difference and budget, and what of it counts as seen."""

from collections import Counter
from dataclasses import replace

from palaestra.envs.surfaces.pages.dialects.dialect import Dialect, DialectLine, Screen, with_numbers
from palaestra.envs.surfaces.pages.dialects.layout import limit_depth, viewport, whole_page
from palaestra.envs.surfaces.pages.dialects.session import DialectSession, LastObservation
from palaestra.envs.surfaces.pages.dialects.tokens import count_tokens
from palaestra.envs.surfaces.pages.tree import Page, PageElement, ShownRow
from palaestra.record import record

_TAIL = 40
"""Tokens kept for the line that says what was cut."""


@record
class PageObservation:
    """What an agent is shown of a page."""

    text: str
    shows: tuple[ShownRow, ...]
    """Rows of the lines that are in the text, and of no others."""
    session: DialectSession
    """The session after it was seen."""


def screen_of(page: Page, session: DialectSession) -> tuple[Screen, int]:
    """What a dialect draws of a page, and how many elements lie deeper than the settings ask for."""
    settings = session.settings
    elements = whole_page(page, session) if settings.extent == "page" else viewport(page, session)
    deeper = 0
    if settings.depth is not None:
        elements, deeper = limit_depth(elements, settings.depth)
    last = session.observed
    fresh = (
        frozenset(_ids(elements)).difference(last.elements)
        if last is not None and last.url == page.url
        else frozenset[str]()
    )
    numbered = with_numbers(session, elements)
    return Screen(page=page, elements=elements, session=numbered, fresh=fresh), deeper


def observe(dialect: Dialect, page: Page, session: DialectSession, *, lines: int) -> PageObservation:
    """Draw a page.

    Args:
        dialect: How.
        page: The page in front.
        session: Where the browser stands.
        lines: How many lines the page has in the plain renderer, by which it scrolls.
    """
    screen, deeper = screen_of(page, session)
    settings, session = session.settings, screen.session
    drawn = list(dialect.draw(screen))
    told = _position(screen, deeper, lines)
    last, shown = session.observed, drawn
    compared = settings.changes and last is not None and last.url == page.url
    if last is not None and compared:
        shown = _difference(drawn, last.lines)
    skip = 0 if compared else session.skip
    if session.found and settings.budget is not None and not compared:
        wanted = session.found.casefold()
        skip = next((n for n, line in enumerate(shown) if wanted in line.text.casefold()), 0)
    skip = min(skip, max(0, len(shown) - 1))
    head = [*told, *([f"{skip} lines before these are left out"] if skip else [])]
    kept, cut = [*shown[skip:], *dialect.draw_end(screen)], 0
    if settings.budget is not None:
        kept, cut = _cut(head, kept, settings.budget)
    observed = LastObservation(
        url=page.url,
        elements=_ids(screen.elements),
        lines=_known_lines(drawn, kept, last.lines if last is not None and compared else ())
        if settings.changes
        else (),
        kept=len(kept),
        cut=cut,
    )
    text = [*head, *(line.text for line in kept)]
    if cut:
        text.append(f"... {cut} lines cut (budget {settings.budget} tokens), not seen; {dialect.more} to see them")
    return PageObservation(
        text="\n".join(text),
        shows=tuple(row for line in kept for row in line.shows),
        session=replace(session, skip=skip, observed=observed),
    )


def _ids(elements: tuple[PageElement, ...]) -> tuple[str, ...]:
    return tuple(e.id for part in elements for e in part.walk() if e.id)


def _position(screen: Screen, deeper: int, lines: int) -> list[str]:
    """What an observation leaves out, in words."""
    session, told = screen.session, list[str]()
    if len(session.tabs) > 1:
        told.append(f"tab {session.active + 1} of {len(session.tabs)}")
    if session.found:
        told.append(f"found {session.found!r:.60} at line {session.tab.scroll + 1} of {lines}")
    if deeper:
        told.append(f"{deeper} elements lie deeper than depth {session.settings.depth} and are not shown")
    return told


def _difference(drawn: list[DialectLine], before: tuple[str, ...]) -> list[DialectLine]:
    """The lines that are gone, and those that are new."""
    old = Counter(before)
    new: list[DialectLine] = []
    for line in drawn:
        if old[line.text] > 0:
            old[line.text] -= 1
        else:
            new.append(replace(line, text=f"+ {line.text}"))
    gone = [DialectLine(text=f"- {text}") for text in _remaining(before, old)]
    same = DialectLine(text=f"{len(drawn) - len(new)} lines as before")
    return [same, *gone, *new]


def _known_lines(drawn: list[DialectLine], kept: list[DialectLine], before: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of a page that the agent knows: those of before that are still there, and those just shown."""
    known = Counter(before) + Counter(line.text.removeprefix("+ ") for line in kept)
    found: list[str] = []
    for line in drawn:
        if known[line.text] > 0:
            known[line.text] -= 1
            found.append(line.text)
    return tuple(found)


def _remaining(before: tuple[str, ...], left: Counter[str]) -> list[str]:
    """The lines of `before` that are left over, in their order."""
    counts, found = Counter(left), list[str]()
    for text in before:
        if counts[text] > 0:
            counts[text] -= 1
            found.append(text)
    return found


def _cut(head: list[str], lines: list[DialectLine], budget: int) -> tuple[list[DialectLine], int]:
    """The first lines that the budget holds, and how many are cut. A first line that is too long is cut within."""
    spent = sum(count_tokens(line) + 1 for line in head)
    costs = [count_tokens(line.text) + 1 for line in lines]
    if spent + sum(costs) <= budget:
        return lines, 0
    room, kept = budget - spent - _TAIL, list[DialectLine]()
    for line, cost in zip(lines, costs, strict=True):
        if cost > room:
            break
        kept.append(line)
        room -= cost
    if not kept and lines:
        return [DialectLine(text=_shorten(lines[0].text, max(0, room)))], len(lines) - 1
    return kept, len(lines) - len(kept)


def _shorten(text: str, budget: int) -> str:
    """The beginning of a text that a budget holds; what it shows does not count as seen."""
    words = text.split(" ")
    while len(words) > 1 and count_tokens(" ".join(words)) + 3 > budget:
        words = words[: max(1, len(words) * 3 // 4)]
    short = " ".join(words)
    while short and count_tokens(short) + 3 > budget:
        short = short[: len(short) * 3 // 4]
    return f"{short} ..."
