"""The second renderer: the same pages in Chromium, and a comparison of what it shows and sends with the session.

Chromium asks for pages by its own rules: it follows links, encodes forms, decodes entities. Each request is answered
here, without a socket, and no other address can be reached. `ChromiumPages.act` plays an action with the mouse and the
keyboard, and says whether Chromium sent what the session in process says, and shows the same elements afterwards.
Needs the extra `web` and a Chromium on the machine.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from playwright.sync_api import BrowserContext, Dialog, Request, Route
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page as Window
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from palaestra.browser.driver import Browser
from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.addresses import ANY, plain_address, read_address, write_address
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.chromium_reading import SeenPage, read_window
from palaestra.envs.surfaces.pages.html import list_options, render_html
from palaestra.envs.surfaces.pages.marks import mark_picture
from palaestra.envs.surfaces.pages.pictures import BOXES, read_boxes
from palaestra.envs.surfaces.pages.session import CLOSE, Outcome
from palaestra.envs.surfaces.pages.tree import FIELDS, Box, Follow, Page, PageElement, Submit
from palaestra.errors import CapabilityError, InfrastructureError
from palaestra.record import record
from palaestra.records import ToolCall
from palaestra.steps import Returned

ORIGIN = "http://site.test"
"""Where the pages seem to be; no name server is asked for it."""
_LOADING = 10_000
"""Milliseconds that Chromium has to load the page that an action leads to; one that never loads is a difference."""
_ENTERING = frozenset({"fill", "clear", "select_option", "check"})
"""The tools after which Chromium holds what was entered, and loads nothing."""
_SEEN = """() => {
  const known = { a: 'link', button: 'button', select: 'combobox', textarea: 'textbox', ul: 'list', nav: 'navigation' }
  const parts = { h1: 'heading', h2: 'heading', small: 'cell', dt: 'definition', table: 'table', tr: 'row', p: 'text' }
  const typed = { checkbox: 'checkbox', search: 'searchbox' }
  const field = (e, role) => {
    const value = e.type === 'checkbox' ? (e.checked ? 'true' : '') : e.value || ''
    const options = role === 'combobox' ? [...e.options].map(o => o.value) : []
    return [e.closest('label').firstChild.textContent, value, [...options, e.ariaRequired ? 'required' : '']]
  }
  const seen = e => {
    const tag = e.tagName.toLowerCase(), id = e.dataset.id ?? ''
    const role = e.getAttribute('role') ?? known[tag] ?? typed[e.type] ?? parts[tag] ?? (id ? tag : 'listitem')
    const label = e.getAttribute('aria-label')
    if (e.closest('label')) return [id, role, ...field(e, role)]
    if (role === 'tab') return [id, role, e.textContent, e.ariaSelected === 'true' ? 'selected' : '', []]
    if (role === 'link') return [id, role, e.textContent, e.nextSibling?.data?.slice(1) ?? '', []]
    if (role === 'button') return [id, role, label ?? e.textContent, '', []]
    if (role === 'text' || role === 'alert') return [id, role, '', e.textContent, []]
    if (role === 'cell') return [id, role, e.textContent, e.parentElement.textContent.slice(e.textContent.length), []]
    if (role === 'definition') {
      const said = e.nextElementSibling
      return [id, role, e.textContent, said.querySelector('[data-id]') ? '' : said.textContent, []]
    }
    return [id, role, role === 'heading' ? e.textContent : label ?? '', '', []]
  }
  const all = '[data-id], h1, h2, p, small, dt, table, tr, ul, nav, form, .card, [role=alert]'
  return [...document.querySelectorAll(all)].filter(e => e.dataset.id || !e.closest('[role=dialog]')).map(seen)
}"""


_AT = "([x, y]) => document.elementFromPoint(x, y)?.closest('[data-id]')?.dataset.id ?? ''"


@record
class SeenElement:
    """An element as a renderer shows it."""

    id: str
    role: str
    name: str
    value: str
    state: tuple[str, ...] = ()
    """Of a field: its options, and at the end whether it is required."""


@record
class PageStep:
    """An action in both renderers."""

    call: ToolCall
    sent: str
    """What Chromium sent: an address, or a form's fields; empty where it sent nothing."""
    expected: str
    """The same by the session in process."""
    shown: tuple[SeenElement, ...]
    """What Chromium shows afterwards."""
    drawn: tuple[SeenElement, ...]
    """The same by the tree."""

    @property
    def equal(self) -> bool:
        """Whether both renderers agree."""
        return self.sent == self.expected and self.shown == self.drawn


class Chromium:
    """A Chromium without a window on the screen, for any number of episodes.

    Args:
        program: Its path.
    """

    def __init__(self, program: str) -> None:
        self._browser = Browser(program)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close it, and every context with it."""
        self._browser.close()

    def open(self, env: ToolEnv, *, size: tuple[int, int] = (1280, 800), dark: bool = False) -> "ChromiumPages":
        """The pages of an episode, in a context of its own.

        Args:
            env: An environment on the surface of pages, in an episode.
            size: Of the window, in pixels.
            dark: Whether the dark colours are shown.

        Raises:
            CapabilityError: the environment has no pages.
        """
        browser = _browser_of(env)
        context = self._browser.open_context(size=size, dark=dark)
        return ChromiumPages(env, browser, context)

    def memory(self) -> int:
        """Bytes that all its processes have written, shared pages in proportion; Linux alone tells."""
        return self._browser.memory()


def _browser_of(env: ToolEnv) -> PageBrowser:
    if not isinstance(env.episode.surface, PageBrowser):
        raise CapabilityError(f"surface {env.surface!r} has no pages; make the environment with surface='pages'")
    return env.episode.surface


class ChromiumPages:
    """An episode's pages in Chromium; `Chromium.open` gives one.

    Args:
        env: The environment.
        browser: The episode's, in process.
        context: Chromium's, with nothing in it yet.
    """

    def __init__(self, env: ToolEnv, browser: PageBrowser, context: BrowserContext) -> None:
        self._env = env
        self._browser = browser
        self._context = context
        self.denied: list[str] = []
        """Addresses beyond the site that were asked for, none of which was reached."""
        self.returned: Returned | None = None
        """What the environment returned for the last action."""
        self._pending: ToolCall | None = None
        self._sent = ""
        context.route("**/*", self._answer)
        self.window = context.new_page()
        """Playwright's page."""
        self._crashed = False
        self.window.on("crash", self._note_crash)
        self._load()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the context."""
        self._context.close()

    def begin_again(self) -> None:
        """Show the episode that the environment has begun since, in the same context.

        Raises:
            CapabilityError: the environment has no pages.
        """
        self._browser = _browser_of(self._env)
        self.denied.clear()
        self._load()

    def on_dialog(self, receive: Callable[[str], object]) -> None:
        """Have `receive` called with the message of each dialog that a script opens; pages have no script."""

        def dismiss(dialog: Dialog) -> None:
            receive(dialog.message)
            dialog.dismiss()

        self.window.on("dialog", dismiss)

    def title(self) -> str:
        """The title that Chromium shows."""
        return self.window.title()

    def screenshot(self) -> bytes:
        """The window as PNG."""
        return self.window.screenshot(animations="disabled")

    def boxes(self) -> dict[str, Box]:
        """Where each element that can be acted on stands in the window, by id; those out of sight are left out."""
        return read_boxes(self.window.evaluate(BOXES))

    def locate(self, x: int, y: int) -> str:
        """The id of the element at a place of the window, in pixels; empty where none is.

        Raises:
            ValueError: the place is outside the window.
        """
        size = self.window.viewport_size
        assert size is not None, "the context has a size"
        if not (0 <= x < size["width"] and 0 <= y < size["height"]):
            raise ValueError(f"({x},{y}) is outside the window of {size['width']}x{size['height']} pixels")
        return str(self.window.evaluate(_AT, [x, y]))

    def marked_screenshot(self) -> bytes:
        """The window as PNG, with a box and a number on each element that can be acted on (set of marks).

        The numbers are those of `boxes`, from 1.
        """
        boxes = self.boxes().values()
        return mark_picture(self.screenshot(), {str(number): box for number, box in enumerate(boxes, 1)})

    def read(self) -> SeenPage:
        """The page as Chromium shows it, with its address; what is not visible is left out."""
        seen = read_window(self.window.evaluate)
        return replace(seen, page=replace(seen.page, url=plain_address(seen.page.url)))

    def act(self, call: ToolCall) -> PageStep:
        """Play an action in both renderers.

        Actions that need no page, such as those on tabs, take place in process, and Chromium loads the page after them.

        Raises:
            InfrastructureError: Chromium is gone or does not answer; the episode is void and has no score.
        """
        try:
            step = self._act(call)
        except PlaywrightError as error:
            raise self._void(call, str(error).splitlines()[0]) from error
        if self._crashed:
            raise self._void(call, "the process that draws the page has ended")
        return step

    def refresh(self) -> None:
        """Load the page in front again; what was entered in its fields stays."""
        self._load()

    def _void(self, call: ToolCall, said: str) -> InfrastructureError:
        """The error of an action at which Chromium failed. The episode then takes no step and has no score."""
        self._env.episode.faulted = True
        return InfrastructureError(
            f"Chromium failed at {call.tool} ({said:.200}); the episode is void; reset the environment, open it again"
        )

    def _act(self, call: ToolCall) -> PageStep:
        before = self._page()
        expected = self._expected_request(call, before)
        self._sent, self._pending = "", call
        if expected:
            with suppress(PlaywrightTimeout), self.window.expect_navigation(timeout=_LOADING):
                self._play(call, before)
        else:
            self._play(call, before)
        if self._waits():  # Chromium had nothing to send
            entered = self._step(call) and call.tool in _ENTERING
            if not entered or self._waits_for_fields():
                self._load()
        if self._sent.startswith("POST"):  # the session stands at the empty form now
            self.window.evaluate("url => history.replaceState(null, '', url)", self._browser.session.tab.url)
        return PageStep(
            call=call,
            sent=self._sent,
            expected=expected,
            shown=tuple(
                SeenElement(id=i, role=r, name=n, value=v, state=tuple(s))
                for i, r, n, v, s in self.window.evaluate(_SEEN)
            ),
            drawn=self._drawn_elements(),
        )

    def _note_crash(self, window: Window) -> None:
        del window
        self._crashed = True

    def _waits(self) -> bool:
        """Whether the action has not taken place yet: `_answer` takes it where Chromium sends something."""
        return self._pending is not None

    def _waits_for_fields(self) -> bool:
        """Whether what is entered changes which buttons there are: a page without scripts is then drawn anew."""
        return self._browser.session.disturbance.present == "disabled"

    def _play(self, call: ToolCall, page: Page) -> None:
        """What a person does for an action, with the window."""
        named = call.arguments.get("element")
        if not isinstance(named, str) or named not in {*(e.id for e in page.walk() if e.id), CLOSE}:
            return
        target = self.window.locator(f'[data-id="{named}"]')
        if target.count() != 1:
            return
        element = next((one for one in page.walk() if one.id == named), None)
        role = "button" if element is None else element.role
        match call.tool:
            case "click" if role in ("link", "button", "tab"):
                target.click()
            case "press" if role in ("link", "tab"):
                target.press("Enter")
            case "press" if role in FIELDS:
                target.evaluate(
                    "e => e.form.requestSubmit(e.form.querySelector('button'))"
                )  # Enter breaks a textarea's line
            case "fill" if role in ("textbox", "searchbox"):
                target.fill(str(call.arguments["text"]).replace("\0", ""))  # no keyboard has it
            case "clear" if role in ("textbox", "searchbox"):
                target.fill("")
            case "select_option" | "fill" if role == "combobox":
                value = str(call.arguments.get("option", call.arguments.get("text")))
                if value in target.evaluate("e => [...e.options].map(o => o.value)"):
                    target.select_option(value)
            case "check" if role == "checkbox":
                target.set_checked(bool(call.arguments.get("checked", True)))
            case "fill" | "clear" if role == "checkbox":
                target.set_checked(call.arguments.get("text") == "true")
            case _:
                pass

    def _answer(self, route: Route, request: Request) -> None:
        """Answer what Chromium asks for: take the action that it comes of, and give the page after it."""
        if not request.url.startswith(ORIGIN + "/"):
            self.denied.append(request.url)
            route.abort()
            return
        if urlsplit(request.url).path == "/favicon.ico":
            route.fulfill(status=204)
            return
        call, self._pending = self._pending, None
        if call is not None:
            self._sent = _request_text(request)
            self._step(call)
        route.fulfill(body=render_html(self._page(), self._browser.session), content_type="text/html; charset=utf-8")

    def _step(self, call: ToolCall) -> bool:
        """Take an action in process; whether it was done."""
        self._pending = None
        session = self._browser.session
        for said in self._browser.write(self._env.episode.state, call):
            self.returned = self._env.step({"tool": said.tool, "arguments": dict(said.arguments)})
        return self._browser.session is not session

    def _load(self) -> None:
        self._pending = None
        self.window.goto(ORIGIN + self._browser.session.tab.url)

    def _page(self) -> Page:
        return self._browser.page(self._env.episode.state)

    def _expected_request(self, call: ToolCall, page: Page) -> str:
        """What a browser sends for an action, by the tree and the session."""
        named = call.arguments.get("element")
        if call.tool not in ("click", "press") or not isinstance(named, str):
            return ""
        if named == CLOSE:
            return "POST {}" if self._browser.session.tab.outcome is not None else ""
        element = next((one for one in page.walk() if one.id == named), None)
        if element is None:
            return ""
        values = {one.id: _as_seen(one).value for one in page.walk() if one.role in FIELDS}
        activation = element.activation
        if call.tool == "press":
            forms = [one.activation for one in page.walk() if isinstance(one.activation, Submit)]
            sent_by = next((form for form in forms if any(f.element == named for f in form.fields)), None)
            activation = sent_by or (activation if isinstance(activation, Follow) else None)
        if isinstance(activation, Submit):
            sent = {field.argument: values.get(field.element, "") for field in activation.fields}
            sent = {**sent, **dict(activation.kept)} if activation.action else {**dict(activation.kept), **sent}
            if activation.action:
                return f"POST {_nonempty_fields(sent)}"
            return f"GET {write_address(*read_address(activation.url).path, query=_drop_blanks(sent))}"
        return "" if activation is None else f"GET {activation.url}"

    def _drawn_elements(self) -> tuple[SeenElement, ...]:
        page, outcome = self._page(), self._browser.session.tab.outcome
        first, *others = page.elements
        seen = [_as_seen(part) for part in first.walk()]
        if outcome is not None:
            seen.append(_close_button() if not outcome.refused else _alert(outcome))
        return (*seen, *(_as_seen(part) for element in others for part in element.walk()))


def _as_seen(element: PageElement) -> SeenElement:
    """An element of the tree, as a page shows it."""
    state: tuple[str, ...] = ()
    value = element.value
    if element.role == "definition" and element.children:
        value = ""
    if element.role == "checkbox" and value != "true":
        value = ""
    if element.role in FIELDS:
        options = list_options(element) if element.role == "combobox" else ()
        state = (*options, "required" if element.required else "")
    return SeenElement(id=element.id, role=element.role, name=element.name, value=value, state=state)


def _close_button() -> SeenElement:
    return SeenElement(id=CLOSE, role="button", name="Close", value="")


def _alert(outcome: Outcome) -> SeenElement:
    return SeenElement(id="", role="alert", name="", value=outcome.alert)


def _request_text(request: Request) -> str:
    """What a request says, in the form of `PageStep.expected`."""
    if request.method == "POST":
        fields = dict(parse_qsl(request.post_data or "", keep_blank_values=True))
        return f"POST {_nonempty_fields({name: value.replace(chr(13), '') for name, value in fields.items()})}"
    parts = urlsplit(request.url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return "GET " + write_address(*read_address(parts.path).path, query=_drop_blanks(query))


def _drop_blanks(query: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if value and value != ANY}


def _nonempty_fields(fields: Mapping[str, Any]) -> dict[str, str]:
    """A form's fields without the empty ones, which say nothing, in the order of their names."""
    return {name: fields[name] for name in sorted(fields) if fields[name]}
