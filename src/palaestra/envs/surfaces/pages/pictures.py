"""Pictures of pages: what the system's Chromium draws of a viewport, and where each element stands in it.

A picture is a function of the page and the session alone, so forks and replays see equal bytes on the same machine.
Chromium runs in a thread of its own, once a process, and begins with the first picture. Needs the extra `web`.
"""

import atexit
import os
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from queue import SimpleQueue
from threading import Thread
from typing import Any

from palaestra.browser.driver import Browser
from palaestra.browser.program import VARIABLE, find_program
from palaestra.cache import LruCache
from palaestra.envs.surfaces.pages.html import render_html
from palaestra.envs.surfaces.pages.marks import mark_picture
from palaestra.envs.surfaces.pages.session import BrowserSession
from palaestra.envs.surfaces.pages.tree import Box, Page, PageElement
from palaestra.errors import CapabilityError
from palaestra.record import record

WIDE, HIGH = 1280, 200
"""Pixels of a picture's width and of its least height; it is as high as what it shows."""
MOST_HIGH = 16_000
"""Pixels of the greatest height; what lies below is not in the picture."""
BOXES = """() => [...document.querySelectorAll('[data-id]')].map(e => {
  const box = e.getBoundingClientRect(), around = e.closest('.wide')?.getBoundingClientRect() ?? box
  const left = Math.max(0, box.left, around.left), right = Math.min(window.innerWidth, box.right, around.right)
  const top = Math.max(0, box.top), bottom = Math.min(window.innerHeight, box.bottom)
  return [e.dataset.id, Math.round(left), Math.round(top), Math.round(right), Math.round(bottom)]
}).filter(([, left, top, right, bottom]) => left < right && top < bottom)"""
"""JavaScript: id and edges of what the window shows of each element; a wide table shows what lies in its frame."""


@record
class PagePicture:
    """What Chromium draws of a page."""

    png: bytes
    boxes: Mapping[str, Box]
    """Of the elements that can be acted on, by id."""
    height: int
    """In pixels."""

    def mark(self, numbers: Mapping[str, int]) -> bytes:
        """The PNG with a box and a number on each element that has a number, by its id."""
        return mark_picture(self.png, {str(numbers[id]): box for id, box in self.boxes.items() if id in numbers})


def take_picture(page: Page, elements: tuple[PageElement, ...], session: BrowserSession) -> PagePicture:
    """A picture of what the viewport shows.

    Args:
        page: The page in front.
        elements: What of it the viewport shows, without the dialog.
        session: Where the browser stands, for the dialog that lies over the page.

    Raises:
        CapabilityError: Chromium is missing.
    """
    if not elements or elements[0].role != "navigation":
        elements = (PageElement(role="navigation", name=""), *elements)
    document = render_html(replace(page, elements=elements), session)
    return _pictures.get(document, lambda: _studio().take(document))


def read_boxes(found: list[tuple[str, int, int, int, int]]) -> dict[str, Box]:
    """What `BOXES` found, by id."""
    return {id: Box(left=left, top=top, right=right, bottom=bottom) for id, left, top, right, bottom in found}


def require_program() -> str:
    """The path of Chromium.

    Raises:
        CapabilityError: there is none.
    """
    program = find_program()
    if program is None:
        raise CapabilityError(
            "renderer='chromium': no Chromium is installed; install one (apt install chromium), or name its program "
            f"in {VARIABLE}"
        )
    return program


class _Studio:
    """A Chromium and the thread that speaks with it: Playwright stays in the thread in which it began."""

    def __init__(self, program: str) -> None:
        self.process = os.getpid()
        self._asked: SimpleQueue[tuple[str | None, Future[PagePicture | None]]] = SimpleQueue()
        self._browser = Browser(program)
        self._page: Any = None
        Thread(target=self._work, name="pictures", daemon=True).start()
        atexit.register(self._close)

    def take(self, document: str) -> PagePicture:
        taken = self._ask(document)
        assert taken is not None, "only closing gives none"
        return taken

    def _ask(self, document: str | None) -> PagePicture | None:
        answer: Future[PagePicture | None] = Future()
        self._asked.put((document, answer))
        return answer.result()

    def _work(self) -> None:
        """Answer one document after the other; `None` is the last."""
        while True:
            document, answer = self._asked.get()
            try:
                if document is None:
                    self._browser.close()
                answer.set_result(None if document is None else self._take(document))
            except BaseException as error:
                self._page = None  # the next picture begins with another window
                answer.set_exception(error)
            if document is None:
                return

    def _take(self, document: str) -> PagePicture:
        if self._page is None or self._page.is_closed():
            context = self._browser.open_context(size=(WIDE, HIGH))
            context.set_offline(True)
            self._page = context.new_page()
        page = self._page
        page.set_viewport_size({"width": WIDE, "height": HIGH})
        page.set_content(document)
        height = min(MOST_HIGH, page.evaluate("() => document.documentElement.scrollHeight"))
        page.set_viewport_size({"width": WIDE, "height": height})
        boxes = read_boxes(page.evaluate(BOXES))
        return PagePicture(png=page.screenshot(animations="disabled"), boxes=boxes, height=height)

    def _close(self) -> None:
        if self.process == os.getpid():
            self._ask(None)


_pictures: LruCache[str, PagePicture] = LruCache(64)
_open: list[_Studio] = []


def _studio() -> _Studio:
    """The one of this process; a forked process begins its own."""
    if not _open or _open[-1].process != os.getpid():
        _open.append(_Studio(require_program()))
    return _open[-1]
