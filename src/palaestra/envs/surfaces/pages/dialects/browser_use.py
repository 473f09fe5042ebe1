"""The dialect of browser-use: a list of elements with indexes, new ones marked by `*`, and its actions.

An index belongs to one element of the site for the whole episode. `done` ends the task.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from palaestra.envs.surfaces.pages.dialects.acting import page_tool
from palaestra.envs.surfaces.pages.dialects.calls import make_call, press_enter, resolve_handle, unknown_key
from palaestra.envs.surfaces.pages.dialects.dialect import Dialect, DialectLine, Screen, one_line
from palaestra.envs.surfaces.pages.tree import FIELDS, PageElement
from palaestra.errors import ToolRefusal
from palaestra.records import Prose, ToolCall
from palaestra.tools import ToolContext

Index = int | Annotated[str, Field(min_length=1, max_length=200)]
_KEYS = ("Enter", "PageDown", "PageUp", "Alt+ArrowRight", "Control+t")
_SHOWN_TAGS = {
    "button": "button",
    "checkbox": "input type=checkbox",
    "combobox": "select",
    "link": "a",
    "searchbox": "input type=search",
    "textbox": "textarea",
}


@page_tool
def navigate(context: ToolContext, url: str, *, new_tab: bool = False) -> None:
    """Open an address of this site, such as "/orders".

    Args:
        url: The address.
        new_tab: Whether in a tab of its own.
    """


@page_tool
def go_back(context: ToolContext) -> None:
    """Go back to the page before this one."""


@page_tool
def click(context: ToolContext, index: Index) -> None:
    """Click an element.

    Args:
        index: Its index.
    """


@page_tool
def input(context: ToolContext, index: Index, text: str, *, clear: bool = True) -> None:  # noqa: A001  as browser-use names it
    """Type in a field. A list is written with commas, or as JSON.

    Args:
        index: The field's index.
        text: What to type.
        clear: Whether it replaces what the field holds, or is added to it.
    """


@page_tool
def select_dropdown(context: ToolContext, index: Index, text: str) -> None:
    """Choose an option of a dropdown.

    Args:
        index: The dropdown's index.
        text: The option.
    """


@page_tool
def send_keys(context: ToolContext, keys: str) -> None:
    """Press keys: Enter sends the form of the field typed in last, PageDown and PageUp scroll.

    Args:
        keys: The keys, such as "Enter", "Alt+ArrowRight" to go forward, or "Control+t" for a new tab.
    """


@page_tool
def scroll(context: ToolContext, *, down: bool = True, pages: float = 1.0) -> None:
    """Scroll the page.

    Args:
        down: Whether down, or up.
        pages: Has no effect: a scroll moves by most of a screen.
    """


@page_tool
def find_text(context: ToolContext, text: Annotated[str, Field(min_length=1, max_length=200)]) -> None:
    """Scroll to the first line of the page that holds a text; again, to the next one.

    Args:
        text: What is looked for; small and capital letters are the same.
    """


@page_tool
def switch(context: ToolContext, tab_id: int) -> None:
    """Bring a tab to the front.

    Args:
        tab_id: Its number, from 0.
    """


@page_tool
def close(context: ToolContext) -> None:
    """Close the tab in front."""


@page_tool
def wait(context: ToolContext, seconds: int = 3) -> None:
    """Do nothing, and look at the page again.

    Args:
        seconds: Has no effect: pages do not change by themselves.
    """


@page_tool
def done(context: ToolContext, text: Annotated[str, Prose()] = "", *, success: bool = True) -> None:
    """End the task.

    Args:
        text: Why it could not be done; has no effect where it was.
        success: Whether it was done.
    """


class BrowserUseDialect(Dialect):
    """`[index]<tag attribute=value />`, its text in the line below."""

    name = "browser-use"
    tools = (navigate, go_back, click, input, select_dropdown, send_keys, scroll, find_text, switch, close, wait, done)
    more = "scroll(down=True)"

    def draw(self, screen: Screen) -> Iterator[DialectLine]:
        """See `Dialect`."""
        yield DialectLine(text=f"Current url: {screen.page.url}")
        yield DialectLine(text=f"Title: {screen.page.title}")
        for element in screen.elements:
            yield from self._items(element, 0, screen)

    def read(self, call: ToolCall, screen: Screen) -> tuple[ToolCall, ...]:
        """See `Dialect`."""
        given: Any = call.arguments
        name = resolve_handle(str(given["index"]), screen, "") if "index" in given else ""
        element = screen.find(name)
        match call.tool:
            case "click" if element is not None and element.role == "checkbox":
                return (make_call("check", element=name, checked=element.value != "true"),)
            case "click":
                return (make_call("click", element=name),)
            case "input":
                held = "" if given["clear"] or element is None else element.value
                return (make_call("fill", element=name, text=held + given["text"]),)
            case "select_dropdown":
                return (make_call("select_option", element=name, option=given["text"]),)
            case "navigate" if given["new_tab"]:
                raise ToolRefusal("new_tab", 'an address opens in the tab in front; send_keys("Control+t") opens a tab')
            case "navigate":
                return (make_call("goto", url=given["url"]),)
            case "send_keys":
                return (_read_keys(given["keys"], screen),)
            case "scroll":
                return (make_call("scroll", direction="down" if given["down"] else "up"),)
            case "find_text":
                return (make_call("find", text=given["text"]),)
            case "switch":
                return (make_call("tab_focus", number=given["tab_id"] + 1),)
            case "done":
                return (make_call("finish") if given["success"] else make_call("give_up", reason=given["text"]),)
            case _:
                return (make_call({"go_back": "back", "close": "tab_close"}.get(call.tool, "noop")),)

    def write(self, call: ToolCall, screen: Screen | None) -> tuple[ToolCall, ...]:
        """See `Dialect`."""
        given: Any = call.arguments
        named = self._index(str(given["element"]), screen) if "element" in given else ""
        match call.tool:
            case "click":
                return (make_call("click", index=named),)
            case "check":
                element = None if screen is None else screen.find(str(given["element"]))
                holds = element is not None and element.value == "true"
                wanted = bool(given.get("checked", True))
                return (make_call("wait") if holds == wanted else make_call("click", index=named),)
            case "press":
                element = None if screen is None else screen.find(str(given["element"]))
                held = "" if element is None else element.value
                return (make_call("input", index=named, text=held), make_call("send_keys", keys="Enter"))
            case "fill" | "clear":
                return (make_call("input", index=named, text=given.get("text", "")),)
            case "select_option":
                return (make_call("select_dropdown", index=named, text=given["option"]),)
            case "scroll":
                return (make_call("scroll", down=given.get("direction", "down") == "down"),)
            case "goto":
                return (make_call("navigate", url=given["url"]),)
            case "back":
                return (make_call("go_back"),)
            case "forward" | "tab_new":
                return (make_call("send_keys", keys="Control+t" if call.tool == "tab_new" else "Alt+ArrowRight"),)
            case "tab_close":
                return (make_call("close"),)
            case "tab_focus":
                return (make_call("switch", tab_id=given["number"] - 1),)
            case "noop":
                return (make_call("wait"),)
            case "finish" if not given.get("answer"):
                return (make_call("done", success=True),)
            case "give_up":
                return (make_call("done", success=False, text=given["reason"]),)
            case _:
                return (call,)

    def handle(self, element: str, screen: Screen | None) -> str:
        """See `Dialect`."""
        return str(self._index(element, screen))

    def _index(self, element: str, screen: Screen | None) -> int | str:
        number = None if screen is None else screen.session.number(element)
        return element if number is None else number

    def _items(self, element: PageElement, level: int, screen: Screen) -> Iterator[DialectLine]:
        indent = "\t" * level
        if not element.id:
            said = one_line(f"{element.name} {element.value}")
            inside = level
            if said and element.role not in ("navigation", "row", "search", "form", "table", "list"):
                yield DialectLine(text=indent + said, shows=element.shows)
                inside += bool(element.children)
            for child in element.children:
                yield from self._items(child, inside, screen)
            return
        star = "*" if element.id in screen.fresh else ""
        said = f"{indent}{star}[{self.handle(element.id, screen)}]<{_tag(element)} />"
        text = one_line(f"{element.name} {element.value}") if element.role not in FIELDS else ""
        if not text:
            yield DialectLine(text=said, shows=element.shows, elements=(element.id,))
            return
        yield DialectLine(text=said, elements=(element.id,))
        yield DialectLine(text=f"{indent}\t{text}", shows=element.shows)


def _tag(element: PageElement) -> str:
    """The tag of an element and what its attributes say."""
    said = _SHOWN_TAGS.get(element.role, "div")
    if element.role in FIELDS:
        said += f" name={one_line(element.name)}"
        if element.role == "checkbox":
            said += f" checked={'true' if element.value == 'true' else 'false'}"
        elif element.value:
            said += f" value={one_line(element.value)}"
        said += " required" if element.required else ""
        said += f" options={'|'.join(element.options)}" if element.options else ""
    return said


def _read_keys(keys: str, screen: Screen) -> ToolCall:
    match keys:
        case "PageDown" | "PageUp":
            return make_call("scroll", direction="down" if keys == "PageDown" else "up")
        case "Alt+ArrowRight":
            return make_call("forward")
        case "Control+t":
            return make_call("tab_new")
        case "Enter":
            return press_enter(screen)
        case _:
            raise unknown_key(keys, _KEYS)
