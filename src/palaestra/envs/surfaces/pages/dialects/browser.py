"""A browser whose pages and actions are in a dialect; rows, forms and evidence are those of the plain one."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import orjson

from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.dialects.dialect import Dialect, Screen, picture_of
from palaestra.envs.surfaces.pages.dialects.drawing import observe, screen_of
from palaestra.envs.surfaces.pages.dialects.session import DialectSession
from palaestra.envs.surfaces.pages.session import BrowserSession
from palaestra.envs.surfaces.pages.settings import PageSettings
from palaestra.envs.surfaces.pages.site import Site
from palaestra.envs.surfaces.pages.text import element_lines
from palaestra.envs.surfaces.pages.tree import FIELDS, Page
from palaestra.errors import ToolRefusal
from palaestra.protocols import StateView
from palaestra.records import Json, ToolCall, ToolEvent
from palaestra.seeding import Stream
from palaestra.tools import CallResult, Tool, ToolContext

_ENTERING = frozenset({"fill", "clear", "select_option", "check", "focus", "select_all"})


class DialectBrowser(PageBrowser):
    """The browser of one episode, in a dialect.

    Args:
        site: What it opens.
        dialect: How pages are drawn and actions read.
        settings: What the user set.
        speaking: The names of the world's tools that talk and end.
    """

    session: DialectSession

    def __init__(self, site: Site, dialect: Dialect, settings: PageSettings, speaking: frozenset[str]) -> None:
        super().__init__(site, settings)
        self.session = DialectSession(settings=settings)
        self._dialect = dialect
        self._tools: dict[str, Tool] = {tool.name: tool for tool in dialect.tools}
        self._speaking = speaking
        self._plan: tuple[ToolCall, ...] | ToolRefusal | None = None
        """What the call under way means, worked out before its form changes the page."""

    def submission(self, state: StateView, call: ToolCall) -> ToolCall | None:
        """The call of an action that this call makes; what it enters in the form before is entered here."""
        self._drawn = None
        self._sent_now = False
        self._plan = None
        tool = self._tools.get(call.tool)
        if tool is None:
            return None
        try:
            arguments = tool.validate(call.arguments)
            plan = self._dialect.read(ToolCall(tool=call.tool, arguments=arguments), self.screen(state))
        except ToolRefusal as refusal:
            self._plan = refusal
            return None
        self._plan = plan
        if not plan:
            return None
        if plan[-1].tool in self._speaking:
            return plan[-1]
        before, action = self.session, None
        try:
            for step in plan[:-1]:
                self.session = self._enter_value(state, step)
            action = super().submission(state, plan[-1])
        except ToolRefusal:
            pass
        if action is None:
            self.session = before
        else:
            self._plan = plan[-1:]
        return action

    def settle(self, action: ToolCall, result: CallResult) -> ToolEvent:
        """See `PageBrowser`: a message or an end leaves the browser as it is."""
        if action.tool not in self._speaking:
            self.session = self.session.at_rest()
            return super().settle(action, result)
        self._drawn = None
        if result.event.error is not None:
            self._plan = ToolRefusal(result.event.error, _message(result.content))
        return result.event

    def perform(self, context: ToolContext, tool: str) -> str:
        """Do what the call under way means, and show the page.

        Args:
            context: The call.
            tool: The name of its tool.
        """
        plan = self._plan
        assert plan is not None, f"{tool} is called through an episode, which asks for the submission first"
        if isinstance(plan, ToolRefusal):
            raise plan
        before = self.session
        try:
            for step in plan:
                self.session = self._run_step(context, step)
            return self.show(context)
        except Exception:
            self.session = before
            raise

    def show(self, context: ToolContext) -> str:
        """The page in front in the dialect; only rows that are in the text count as shown."""
        page = self.page(context.state)
        seen = observe(self._dialect, page, self.session, lines=self.view(context.state).lines)
        self.count_shown(context, seen.shows)
        self.session = seen.session
        if self.session.settings.renderer == "chromium":
            self._attach_picture(context, page)
        return seen.text

    def _attach_picture(self, context: ToolContext, page: Page) -> None:
        """Put the picture of the viewport beside the text."""
        screen = screen_of(page, self.session)[0]
        picture = picture_of(screen)
        numbers = {id: number for number, id in enumerate(screen.session.handles, 1)}
        context.attach(picture.mark(numbers) if self.session.settings.marks else picture.png)

    def screen(self, state: StateView) -> Screen:
        """What the dialect draws of the page in front."""
        return screen_of(self.page(state), self.session)[0]

    def write(self, state: StateView, call: ToolCall) -> tuple[ToolCall, ...]:
        """The calls of the dialect that do what a plain call does on the page in front."""
        return self._dialect.write(call, self.screen(state))

    def draw_action(self, state: StateView, ids: Callable[[str], Sequence[str]], stream: Stream) -> ToolCall:
        """See `SurfaceState`: the first call that an action at random takes in the dialect."""
        drawn = super().draw_action(state, ids, stream)
        try:
            return self.write(state, drawn)[0]
        except ToolRefusal:  # what lies out of sight cannot be pointed at
            return self.write(state, ToolCall(tool="scroll", arguments={"direction": "down"}))[0]

    def _run_step(self, context: ToolContext, step: ToolCall) -> DialectSession:
        """The session after an action of the browser."""
        before = self.session
        after = self._change_session(context, step)
        assert isinstance(after, DialectSession), "tabs change, the kind of session stays"
        if (after.active, after.tab.place, after.tab.url) != (before.active, before.tab.place, before.tab.url):
            return after.at_rest()
        if step.tool in _ENTERING or step.tool in ("find", "scroll"):
            return after
        return replace(after, found="")

    def _change_session(self, context: ToolContext, step: ToolCall) -> BrowserSession:
        given = step.arguments
        match step.tool:
            case "click" | "press":
                return self.activate(context, str(given["element"]), by_key=step.tool == "press")
            case "goto":
                return self.open(context, str(given["url"]), typed=True)
            case "back" | "forward":
                return self.step(context, -1 if step.tool == "back" else 1)
            case "scroll":
                return self.scroll(context, down=given.get("direction", "down") == "down")
            case "tab_new":
                return self.open_tab()
            case "tab_close":
                return self.close_tab()
            case "tab_focus":
                number = given["number"]
                assert isinstance(number, int), "dialects check it"
                return self.focus_tab(number)
            case "find":
                return self.find_text(context.state, str(given["text"]))
            case name if name in _ENTERING:
                return self._enter_value(context.state, step)
            case _:  # noop, and what talks or ends, which has been done
                return self.session

    def _enter_value(self, state: StateView, step: ToolCall) -> DialectSession:
        """The session after a value was entered, or a field chosen."""
        session, given = self.session, step.arguments
        match step.tool:
            case "select_all":
                return replace(session, selected=bool(session.focus))
            case "focus":
                name = str(given["element"])
                if name and not name.startswith("@") and self.find(self.page(state), name).role not in FIELDS:
                    raise ToolRefusal("no_field", f"{name} is no field and takes no text; click it")
                return replace(session, focus=name, selected=False)
            case "check":
                value = "true" if given.get("checked", True) else "false"
            case _:
                value = str(given.get("option", given.get("text", "")))
        element = str(given["element"])
        entered = self.enter(state, element, value)
        assert isinstance(entered, DialectSession), "entering a value keeps the kind of session"
        return replace(entered, focus=element, selected=False)

    def scroll(self, context: ToolContext, *, down: bool) -> BrowserSession:
        """The session after scrolling: on to what was cut of the last observation first, then along the page."""
        session = self.session
        settings, observed = session.settings, session.observed
        if down and observed is not None and observed.cut and observed.url == session.tab.url:
            return replace(session, skip=session.skip + max(1, observed.kept), found="")
        if not down and session.skip:
            return replace(session, skip=0, found="")
        if settings.extent == "page":
            return replace(session, found="")
        moved = super().scroll(context, down=down)
        assert isinstance(moved, DialectSession), "scrolling keeps the kind of session"
        return replace(moved, skip=0, found="")

    def find_text(self, state: StateView, text: str) -> DialectSession:
        """The session scrolled to the first line that holds a text, after the one found last.

        Raises:
            ToolRefusal: no line of the page holds it.
        """
        wanted = text.casefold()
        lines = [line.text.casefold() for element in self.page(state).elements for line in element_lines(element)]
        places = [number for number, line in enumerate(lines) if wanted in line]
        if not places:
            raise ToolRefusal(
                "no_match", f"no line of this page holds {text!r:.60}; open another page or use fewer words"
            )
        tab = self.session.tab
        again = self.session.found == text
        place = next((p for p in places if p > tab.scroll), places[0]) if again else places[0]
        return replace(self.session.with_tab(replace(tab, scroll=place)), found=text, skip=0)


def _message(content: str) -> str:
    """What a refused call says."""
    answer: Json = orjson.loads(content)
    error = answer.get("error") if isinstance(answer, dict) else None
    return str(error.get("message") if isinstance(error, dict) else answer)
