"""A browser at work in an episode: it holds the session, opens pages, and says which tool a sent form calls."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from palaestra.envs.surfaces.pages.addresses import ANY, read_address, write_address
from palaestra.envs.surfaces.pages.disturbances import END, SLOW, SLOW_SECONDS, disturb_page
from palaestra.envs.surfaces.pages.forms import read_arguments
from palaestra.envs.surfaces.pages.generated import DO, LOOK_UP
from palaestra.envs.surfaces.pages.session import CLOSE, MOST_TABS, BrowserSession, Outcome, Tab, ThreadMessage
from palaestra.envs.surfaces.pages.settings import PageSettings
from palaestra.envs.surfaces.pages.site import Site
from palaestra.envs.surfaces.pages.text import SCROLL, PageView, view_page
from palaestra.envs.surfaces.pages.tree import FIELDS, Follow, Page, PageElement, Role, ShownRow, Submit
from palaestra.errors import ToolRefusal, UnknownNameError
from palaestra.protocols import StateView
from palaestra.records import ToolCall, ToolEvent
from palaestra.seeding import Stream
from palaestra.tools import CallResult, ToolContext

_TEXTS = ("7", "2026-03-01", "Zoë <b>", "true", "")
"""What somebody types who types at random."""
_CHECKED = ("true", "false", "")
"""What a checkbox holds."""
SENDING = frozenset({"click", "press"})
"""The tools that may send a form."""


class PageBrowser:
    """The browser of one episode.

    Args:
        site: What it opens.
        settings: What the user set.

    Attributes:
        settings: The same; `None` where nothing was set.
        session: Where it stands. It is replaced, never changed, so who keeps it has a snapshot.
    """

    def __init__(self, site: Site, settings: PageSettings) -> None:
        self._site = site
        self.session = BrowserSession(settings=settings)
        self.settings: Any = None if settings == PageSettings() else settings
        self._drawn: tuple[Tab, Page] | None = None
        """The page that was drawn last, and for which tab; it holds until the next call."""
        self._sent_now = False
        """Whether the call under way has sent a form that calls an action."""

    @property
    def site(self) -> Site:
        """What it opens."""
        return self._site

    # what the episode asks

    def submission(self, state: StateView, call: ToolCall) -> ToolCall | None:
        """The call of an action that this call makes by sending a form; `None` where it sends none.

        It changes nothing. What cannot be read sends nothing: the call's own tool then says what is wrong.
        """
        self._drawn = None
        self._sent_now = False
        try:
            if call.tool == "goto" and isinstance(url := call.arguments.get("url"), str):
                return self._site.look_up(url)
            if call.tool in SENDING and isinstance(named := call.arguments.get("element"), str):
                return self._form_call(self.page(state), named, by_key=call.tool == "press")
        except ToolRefusal:
            pass
        return None

    def _form_call(self, page: Page, named: str, *, by_key: bool) -> ToolCall | None:
        element = self.find(page, named)
        form = _find_form(page, element, by_key=by_key)
        if form is None:
            return self._site.look_up(element.activation.url) if isinstance(element.activation, Follow) else None
        if not form.action:
            return self._site.look_up(self._form_address(page, form))
        kept = {field.element: value for name, value in form.kept for field in form.fields if field.argument == name}
        return ToolCall(tool=form.action, arguments=read_arguments(form.fields, {**kept, **self._values(page)}))

    def settle(self, action: ToolCall, result: CallResult) -> ToolEvent:
        """Take in what came of a form that was sent. What a look-up found is evidence only as far as pages show it."""
        self._drawn = None
        if action.tool == LOOK_UP:
            return replace(result.event, shown=(), columns=(), mentioned=frozenset())
        refused = result.event.error is not None
        outcome = Outcome(action=action.tool, content=result.content, refused=refused)
        tab = self.session.tab if refused else self.session.tab.replace_page(_after_sending(self.session.tab.url))
        self.session = self.session.with_tab(replace(tab, outcome=outcome, scroll=0))
        self._sent_now = True
        return result.event

    def hear(self, text: str, *, by_agent: bool) -> None:
        """See `SurfaceState`."""
        self._drawn = None
        message = ThreadMessage(by_agent=by_agent, text=text)
        self.session = replace(self.session, thread=(*self.session.thread, message))

    def show(self, context: ToolContext) -> str:
        """The page in front as text; its rows count as shown."""
        view = self.view(context.state)
        self.count_shown(context, view.shows)
        return view.text

    def count_shown(self, context: ToolContext, shows: Sequence[ShownRow]) -> None:
        """Log what was shown of rows as evidence, column by column."""
        columns: dict[tuple[str, str], set[str]] = {}
        for shown in shows:
            columns.setdefault((shown.row.table, shown.row.id), set()).update(shown.columns)
        rows = {(shown.row.table, shown.row.id): shown.row for shown in shows}
        for key, row in rows.items():
            names = columns[key]
            if names >= self._site.columns(row.table):
                context.show(row)
            else:
                context.show_columns([row], sorted(names))
        context.mention(*(key for shown in shows for key in shown.ids))

    def draw_action(self, state: StateView, ids: Callable[[str], Sequence[str]], stream: Stream) -> ToolCall:
        """See `SurfaceState`: one of the elements on the page in front, or a move of the browser."""
        page = self.page(state)
        element = stream.choice([element for element in page.walk() if element.id])
        if element.role not in FIELDS:
            click = ToolCall(tool="click", arguments={"element": element.id})
            return click if stream.chance(75) else stream.choice(_MOVES)
        field = next((field for form in _forms(page) for field in form.fields if field.element == element.id), None)
        known = ids(field.references) if field is not None and field.references else ()
        text = stream.choice([*element.options, ""] if element.options else known or _TEXTS)
        if element.role == "checkbox":
            return ToolCall(tool="check", arguments={"element": element.id, "checked": stream.chance(50)})
        return ToolCall(tool="fill", arguments={"element": element.id, "text": text})

    def write(self, state: StateView, call: ToolCall) -> tuple[ToolCall, ...]:
        """The calls of the tools on offer that do what a plain call does on the page in front; here itself."""
        del state
        return (call,)

    def view(self, state: StateView) -> PageView:
        """What is seen of the page in front."""
        return view_page(self.page(state), self.session)

    def page(self, state: StateView) -> Page:
        """The page in front; where its row is gone, the refusal stands in its place."""
        page, present = self._draw(state, self.session.tab), self.session.disturbance.present
        return disturb_page(page, present) if present else page

    def _draw(self, state: StateView, tab: Tab) -> Page:
        if self._drawn is None or self._drawn[0] is not tab:
            self._drawn = (tab, self._site.page(state, tab, self.session.thread))
        return self._drawn[1]

    # what actions do; each gives the session after it, or refuses

    def open(self, context: ToolContext, url: str, *, typed: bool) -> BrowserSession:
        """The session after the tab in front has opened an address.

        Args:
            context: The call.
            url: The address.
            typed: Whether it was typed, and so names the ids in it, or followed from a page that shows it.
        """
        if typed:
            context.name(*self._site.address_ids(url))
        return self._arrive(context, self.visit(context.state, url))

    def activate(self, context: ToolContext, name: str, *, by_key: bool = False) -> BrowserSession:
        """The session after an element was activated. A form that calls an action was sent before this."""
        if self._sent_now:  # the page in front may be another one by now, without the button
            return self.session
        return self._arrive(context, self.follow(context.state, name, by_key=by_key))

    def _arrive(self, context: ToolContext, session: BrowserSession) -> BrowserSession:
        """That session, after the time that a slow answer takes."""
        if session.disturbance.present == SLOW != self.session.disturbance.present:
            context.clock.advance(SLOW_SECONDS)
        return session

    def visit(self, state: StateView, url: str) -> BrowserSession:
        """The session at an address, with the disturbance that its opening brings."""
        tab = self.session.tab.visit(url)
        self._draw(state, tab)
        session = self.session.with_tab(tab)
        disturbances = session.settings.disturbances
        if disturbances is None:
            return session
        return replace(session, disturbance=session.disturbance.open_page(disturbances))

    def follow(self, state: StateView, name: str, *, by_key: bool = False) -> BrowserSession:
        """The session after an element was activated, which changes no row."""
        if name == CLOSE and self.session.tab.outcome is not None:
            return self.session.with_tab(replace(self.session.tab, outcome=None))
        page = self.page(state)
        element = self.find(page, name)
        if name == END:
            return replace(self.session, disturbance=self.session.disturbance.end())
        form = _find_form(page, element, by_key=by_key)
        if form is not None:
            return self.session if form.action else self.visit(state, self._form_address(page, form))
        if isinstance(element.activation, Follow):
            return self.visit(state, element.activation.url)
        return self.session

    def enter(self, state: StateView, name: str, value: str, *, roles: AbstractSet[Role] = FIELDS) -> BrowserSession:
        """The session after a value was entered in a field.

        Args:
            state: The rows.
            name: The id of the field.
            value: What is entered. Held as a browser holds it: no NUL, and spaces for a search box's line breaks.
            roles: The roles of fields that take it.

        Raises:
            ToolRefusal: the page has no such field, or it does not take the value.
        """
        element = self.find(self.page(state), name)
        if element.role not in FIELDS:
            raise ToolRefusal("no_field", f"{name} is a {element.role} and takes no text; click it")
        if element.role not in roles:
            raise ToolRefusal("wrong_field", f"{name} is a {element.role}, not a {' or '.join(sorted(roles))}")
        if element.role == "checkbox" and value not in _CHECKED:
            raise ToolRefusal("no_option", f"{name} is a checkbox: it is true or false, not {value!r:.60}")
        value = value.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
        if element.role == "searchbox":
            value = value.replace("\n", " ")
        if element.options and value and value not in element.options:
            raise ToolRefusal("no_option", str(UnknownNameError.of("option", value, element.options)))
        return self.session.with_tab(self.session.tab.enter(name, value))

    def scroll(self, context: ToolContext, *, down: bool) -> BrowserSession:
        """The session after scrolling; at an end it stays."""
        tab = self.session.tab
        last = max(0, self.view(context.state).lines - 1)
        moved = min(tab.scroll + SCROLL, last) if down else max(0, tab.scroll - SCROLL)
        return self.session.with_tab(replace(tab, scroll=moved))

    def step(self, context: ToolContext, by: int) -> BrowserSession:
        """The session after going back or forward in the history."""
        tab = self.session.tab
        if not 0 <= tab.place + by < len(tab.history):
            raise ToolRefusal("no_page", f"there is no page {'before' if by < 0 else 'after'} this one in the history")
        session = self.session.with_tab(tab.step(by))
        self._draw(context.state, session.tab)
        return session

    def open_tab(self) -> BrowserSession:
        """The session with a further tab in front."""
        if len(self.session.tabs) >= MOST_TABS:
            raise ToolRefusal("too_many_tabs", f"{MOST_TABS} tabs are open; close one")
        return replace(self.session, tabs=(*self.session.tabs, Tab()), active=len(self.session.tabs))

    def close_tab(self) -> BrowserSession:
        """The session without the tab in front."""
        tabs = self.session.tabs
        if len(tabs) == 1:
            raise ToolRefusal("last_tab", "the last tab cannot be closed")
        left = (*tabs[: self.session.active], *tabs[self.session.active + 1 :])
        return replace(self.session, tabs=left, active=min(self.session.active, len(left) - 1))

    def focus_tab(self, number: int) -> BrowserSession:
        """The session with another tab in front; tabs count from 1."""
        if not 1 <= number <= len(self.session.tabs):
            raise ToolRefusal("no_tab", f"there is no tab {number}; tabs 1 to {len(self.session.tabs)} are open")
        return replace(self.session, active=number - 1)

    # elements

    def find(self, page: Page, name: str) -> PageElement:
        """The element of that id.

        Raises:
            ToolRefusal: the page has none; the message names the nearest.
        """
        found = {element.id: element for element in page.walk() if element.id}
        if name not in found:
            raise ToolRefusal("stale_element", str(UnknownNameError.of("element", name[:80], found)))
        return found[name]

    def _values(self, page: Page) -> dict[str, str]:
        """What each field of a page holds."""
        return {element.id: element.value for element in page.walk() if element.role in FIELDS}

    def _form_address(self, page: Page, form: Submit) -> str:
        """The address that a form which looks something up asks for."""
        values = self._values(page)
        query = {field.argument: values.get(field.element, "") for field in form.fields}
        query = {name: value for name, value in query.items() if value and value != ANY}
        return write_address(*read_address(form.url).path, query={**dict(form.kept), **query})


def _find_form(page: Page, element: PageElement, *, by_key: bool) -> Submit | None:
    """The form that activating an element sends; `None` where it sends none.

    Args:
        page: The page.
        element: One of its elements.
        by_key: Whether by the Enter key, which sends the form that holds the field.
    """
    if not by_key:
        return element.activation if isinstance(element.activation, Submit) else None
    return next((form for form in _forms(page) if any(field.element == element.id for field in form.fields)), None)


def _forms(page: Page) -> list[Submit]:
    """What the forms of a page send."""
    return [part.activation for part in page.walk() if isinstance(part.activation, Submit)]


def _after_sending(url: str) -> str:
    """Where a browser stands after a form was sent: at its empty form, so that nothing is sent a second time."""
    path = read_address(url).path
    return write_address(*path[:2]) if path[:1] == (DO,) else url


_MOVES = (
    ToolCall(tool="back", arguments={}),
    ToolCall(tool="scroll", arguments={}),
    ToolCall(tool="tab_new", arguments={}),
    ToolCall(tool="tab_focus", arguments={"number": 1}),
)
