"""The dialect of BrowserGym: an accessibility tree with a bid before each element, and its high-level actions.

Bids are the site's own ids. The names and arguments of actions are those of BrowserGym's action sets "bid", "nav",
"tab", "chat" and "infeas"; `action_format="browsergym"` reads them as its action strings.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from palaestra.envs.surfaces.pages.dialects.acting import page_tool
from palaestra.envs.surfaces.pages.dialects.calls import make_call, one_option, unknown_key
from palaestra.envs.surfaces.pages.dialects.dialect import Dialect, DialectLine, Screen, one_line
from palaestra.envs.surfaces.pages.tree import FIELDS, Follow, PageElement
from palaestra.records import Prose, ToolCall
from palaestra.tools import ToolContext

Bid = Annotated[str, Field(min_length=1, max_length=200)]
_KEYS = ("Enter",)
_PAGE_HEIGHT = 500


@page_tool
def click(context: ToolContext, bid: Bid) -> None:
    """Click an element.

    Args:
        bid: Its bid.
    """


@page_tool
def dblclick(context: ToolContext, bid: Bid) -> None:
    """Click an element twice, which does what one click does.

    Args:
        bid: Its bid.
    """


@page_tool
def fill(context: ToolContext, bid: Bid, value: str) -> None:
    """Replace what a field holds. A list is written with commas, or as JSON.

    Args:
        bid: The field's bid.
        value: What it holds then.
    """


@page_tool
def clear(context: ToolContext, bid: Bid) -> None:
    """Empty a field.

    Args:
        bid: The field's bid.
    """


@page_tool
def select_option(context: ToolContext, bid: Bid, options: str | list[str]) -> None:
    """Choose an option of a combobox.

    Args:
        bid: The combobox's bid.
        options: The option, or a list of one.
    """


@page_tool
def check(context: ToolContext, bid: Bid) -> None:
    """Check a checkbox.

    Args:
        bid: The checkbox's bid.
    """


@page_tool
def uncheck(context: ToolContext, bid: Bid) -> None:
    """Uncheck a checkbox.

    Args:
        bid: The checkbox's bid.
    """


@page_tool
def hover(context: ToolContext, bid: Bid) -> None:
    """Move the mouse over an element, which changes nothing on these pages.

    Args:
        bid: Its bid.
    """


@page_tool
def focus(context: ToolContext, bid: Bid) -> None:
    """Give a field the focus.

    Args:
        bid: The field's bid.
    """


@page_tool
def press(context: ToolContext, bid: Bid, key_comb: str) -> None:
    """Press a key in a field; Enter sends the form in which it stands.

    Args:
        bid: The field's bid.
        key_comb: The key, such as "Enter".
    """


@page_tool
def scroll(context: ToolContext, delta_x: float, delta_y: float) -> None:
    """Scroll the page by most of a screen.

    Args:
        delta_x: Has no effect.
        delta_y: Down where it is above 0, up where it is below.
    """


@page_tool
def goto(context: ToolContext, url: str) -> None:
    """Open an address of this site, such as "/orders".

    Args:
        url: The address.
    """


@page_tool
def go_back(context: ToolContext) -> None:
    """Go back to the page before this one."""


@page_tool
def go_forward(context: ToolContext) -> None:
    """Go forward to the page from which you went back."""


@page_tool
def new_tab(context: ToolContext) -> None:
    """Open a tab."""


@page_tool
def tab_close(context: ToolContext) -> None:
    """Close the tab in front."""


@page_tool
def tab_focus(context: ToolContext, index: int) -> None:
    """Bring a tab to the front.

    Args:
        index: Its number, from 0.
    """


@page_tool
def noop(context: ToolContext, wait_ms: float = 1000) -> None:
    """Do nothing, and look at the page again.

    Args:
        wait_ms: Has no effect: pages do not change by themselves.
    """


@page_tool
def find_text(context: ToolContext, text: Annotated[str, Field(min_length=1, max_length=200)]) -> None:
    """Scroll to the first line of the page that holds a text; again, to the next one.

    Args:
        text: What is looked for; small and capital letters are the same.
    """


@page_tool
def send_msg_to_user(context: ToolContext, text: Annotated[str, Prose(), Field(min_length=1)]) -> None:
    """Say something to the person you are helping.

    Args:
        text: What you tell them.
    """


@page_tool
def report_infeasible(context: ToolContext, reason: Annotated[str, Prose()]) -> None:
    """End the task as not done.

    Args:
        reason: Why you cannot do it.
    """


class BrowserGymDialect(Dialect):
    """`[bid] role 'name', property=value`, a tab for each level."""

    name = "browsergym"
    tools = (
        click, dblclick, fill, clear, select_option, check, uncheck, hover, focus, press, scroll, goto, go_back,
        go_forward, new_tab, tab_close, tab_focus, noop, find_text, send_msg_to_user, report_infeasible,
    )  # fmt: skip
    more = "scroll(0, 500)"

    def draw(self, screen: Screen) -> Iterator[DialectLine]:
        """See `Dialect`."""
        yield DialectLine(text=f"RootWebArea {screen.page.title!r}, focused, url={screen.page.url!r}")
        for element in screen.elements:
            yield from _nodes(element, 1, screen.session.focus)

    def read(self, call: ToolCall, screen: Screen) -> tuple[ToolCall, ...]:
        """See `Dialect`."""
        return (_action(call, screen),)

    def write(self, call: ToolCall, screen: Screen | None) -> tuple[ToolCall, ...]:
        """See `Dialect`."""
        del screen
        given: Any = call.arguments
        match call.tool:
            case "click" | "clear":
                said = make_call(call.tool, bid=given["element"])
            case "press":
                said = make_call("press", bid=given["element"], key_comb=given.get("key", "Enter"))
            case "fill":
                said = make_call("fill", bid=given["element"], value=given["text"])
            case "select_option":
                said = make_call("select_option", bid=given["element"], options=given["option"])
            case "check":
                said = make_call("check" if given.get("checked", True) else "uncheck", bid=given["element"])
            case "scroll":
                down = given.get("direction", "down") == "down"
                said = make_call("scroll", delta_x=0, delta_y=_PAGE_HEIGHT if down else -_PAGE_HEIGHT)
            case "back" | "forward":
                said = make_call(f"go_{call.tool}")
            case "tab_new":
                said = make_call("new_tab")
            case "tab_focus":
                said = make_call("tab_focus", index=given["number"] - 1)
            case "reply" if set(given) == {"message"}:
                said = make_call("send_msg_to_user", text=given["message"])
            case "give_up":
                said = make_call("report_infeasible", reason=given["reason"])
            case _:
                said = call
        return (said,)


def _action(call: ToolCall, screen: Screen) -> ToolCall:
    given: Any = call.arguments
    match call.tool:
        case "click" | "dblclick":
            return make_call("click", element=given["bid"])
        case "fill":
            return make_call("fill", element=given["bid"], text=given["value"])
        case "clear":
            return make_call("clear", element=given["bid"])
        case "select_option":
            return make_call("select_option", element=given["bid"], option=one_option(given["options"]))
        case "check" | "uncheck":
            return make_call("check", element=given["bid"], checked=call.tool == "check")
        case "focus":
            return make_call("focus", element=given["bid"])
        case "hover":
            if screen.find(given["bid"]) is None:
                return make_call("click", element=given["bid"])  # refused as an element that is not there
            return make_call("noop")
        case "press":
            if given["key_comb"] not in _KEYS:
                raise unknown_key(given["key_comb"], _KEYS)
            return make_call("press", element=given["bid"], key="Enter")
        case "scroll":
            if not given["delta_y"]:
                return make_call("noop")
            return make_call("scroll", direction="down" if given["delta_y"] > 0 else "up")
        case "goto":
            return make_call("goto", url=given["url"])
        case "go_back" | "go_forward":
            return make_call(call.tool.removeprefix("go_"))
        case "new_tab":
            return make_call("tab_new")
        case "tab_focus":
            return make_call("tab_focus", number=given["index"] + 1)
        case "find_text":
            return make_call("find", text=given["text"])
        case "send_msg_to_user":
            return make_call("reply", message=given["text"])
        case "report_infeasible":
            return make_call("give_up", reason=given["reason"])
        case _:
            return make_call(call.tool)


def _nodes(element: PageElement, level: int, focus: str) -> Iterator[DialectLine]:
    indent = "\t" * level
    ids = (element.id,) if element.id else ()
    split = element.role in ("cell", "definition") and bool(element.value)
    shows = () if split else element.shows
    yield DialectLine(text=indent + _node(element, focus), shows=shows, elements=ids)
    for option in element.options if element.role == "combobox" else ():
        selected = str(option == element.value)
        yield DialectLine(text=f"{indent}\toption {option!r}, selected={selected}")
    if split:
        yield DialectLine(text=f"{indent}\tStaticText {one_line(element.value)!r}", shows=element.shows)
    for child in element.children:
        yield from _nodes(child, level + 1, focus)


def _node(element: PageElement, focus: str) -> str:
    """An element in BrowserGym's words."""
    if element.role == "text":
        return f"StaticText {one_line(element.value)!r}"
    bid = f"[{element.id}] " if element.id else ""
    said = f"{bid}{_ROLES.get(element.role, str(element.role))} {one_line(element.name)!r}"
    if element.role == "checkbox":
        said += ", checked='true'" if element.value == "true" else ", checked='false'"
    elif element.role in FIELDS:
        said += f" value={element.value!r}"
    elif element.role == "link" and element.value:
        said += f", description={one_line(element.value)!r}"
    if element.role == "combobox":
        said += ", hasPopup='menu'"
    if isinstance(element.activation, Follow):
        said += ", clickable"
    if element.required:
        said += ", required"
    if focus and element.id == focus:
        said += ", focused"
    return said


_ROLES = {"cell": "gridcell", "definition": "DescriptionListDetail"}
