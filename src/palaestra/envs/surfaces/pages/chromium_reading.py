"""What Chromium shows of a page, read back as the tree that was drawn: what an agent reads there follows from it alone.

It is read from Chromium's document, elements that are not visible left out. What a tree holds and a document does not
show, rows and where links lead, is missing.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from palaestra.envs.surfaces.pages.session import Outcome
from palaestra.envs.surfaces.pages.tree import Page, PageElement, PageLook
from palaestra.record import record

_SCRIPT = Path(__file__).with_name("chromium_page.js").read_text()


@record
class SeenPage:
    """A page as a window shows it."""

    page: Page
    outcome: Outcome | None
    """The dialog or alert that lies over it."""


def read_window(evaluate: Callable[[str], Any]) -> SeenPage:
    """The page that a window shows.

    Args:
        evaluate: Runs a JavaScript function in the window and gives its result. Any: JSON.
    """
    seen: Mapping[str, Any] = evaluate(_SCRIPT)
    over: Mapping[str, Any] | None = seen["outcome"]
    look = PageLook(theme=seen["theme"], density=seen["density"], language=seen["language"], icons=bool(seen["icons"]))
    page = Page(url=seen["url"], title=seen["title"], elements=_elements(seen["elements"]), look=look)
    return SeenPage(page=page, outcome=None if over is None else _outcome(over))


def _elements(nodes: Sequence[Mapping[str, Any]]) -> tuple[PageElement, ...]:
    return tuple(
        PageElement(
            role=node["role"],
            id=node["id"],
            name=node["name"],
            value=node["value"],
            options=tuple(node["options"]),
            required=node["required"],
            children=_elements(node["children"]),
        )
        for node in nodes
    )


def _outcome(over: Mapping[str, Any]) -> Outcome:
    code, _, message = over["content"].partition(": ") if over["refused"] else ("", "", "")
    content = {"error": {"code": code, "message": message}} if over["refused"] else over["content"]
    return Outcome(action=over["action"], content=orjson.dumps(content).decode(), refused=over["refused"])
