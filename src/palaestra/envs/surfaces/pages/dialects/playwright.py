"""The dialect of playwright-mcp: a snapshot in YAML with a ref for each element, and its browser tools.

A ref such as `e12` belongs to one element of the site for the whole episode, so it is the same after a change of the
page, in a fork and in a replay. A ref of an element that the page in front lacks is refused as stale.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from palaestra.envs.surfaces.pages.dialects.acting import page_tool
from palaestra.envs.surfaces.pages.dialects.browsergym import one_option
from palaestra.envs.surfaces.pages.dialects.dialect import (
    Dialect,
    DialectLine,
    Screen,
    flat,
    numbered,
    plain,
    unknown_key,
)
from palaestra.envs.surfaces.pages.tree import FIELDS, Follow, PageElement
from palaestra.errors import ToolRefusal
from palaestra.records import ToolCall
from palaestra.tools import ToolContext

Ref = Annotated[str, Field(min_length=1, max_length=200)]
_KEYS = ("Enter", "PageDown", "PageUp")
_PREFIX = "e"


@page_tool
def browser_navigate(context: ToolContext, url: str) -> None:
    """Open an address of this site, such as "/orders".

    Args:
        url: The address.
    """


@page_tool
def browser_navigate_back(context: ToolContext) -> None:
    """Go back to the page before this one."""


@page_tool
def browser_navigate_forward(context: ToolContext) -> None:
    """Go forward to the page from which you went back."""


@page_tool
def browser_snapshot(context: ToolContext) -> None:
    """Look at the page again."""


@page_tool
def browser_click(context: ToolContext, ref: Ref, element: str = "", *, doubleClick: bool = False) -> None:  # noqa: N803  as playwright-mcp names it
    """Click an element.

    Args:
        ref: Its ref in the snapshot.
        element: The element in words, for people.
        doubleClick: Whether twice, which does what one click does.
    """


@page_tool
def browser_type(context: ToolContext, ref: Ref, text: str, element: str = "", *, submit: bool = False) -> None:
    """Replace what a field holds. A list is written with commas, or as JSON.

    Args:
        ref: The field's ref in the snapshot.
        text: What it holds then.
        element: The field in words, for people.
        submit: Whether to press Enter afterwards, which sends the form.
    """


@page_tool
def browser_fill_form(
    context: ToolContext, fields: Annotated[list[dict[str, str]], Field(min_length=1, max_length=50)]
) -> None:
    """Fill in several fields; none where one of them cannot be.

    Args:
        fields: For each field its "ref" and "value", and its "name" and "type" for people. The value of a checkbox is
            "true" or "false".
    """


@page_tool
def browser_select_option(context: ToolContext, ref: Ref, values: list[str], element: str = "") -> None:
    """Choose an option of a combobox.

    Args:
        ref: The combobox's ref in the snapshot.
        values: A list of the one option.
        element: The combobox in words, for people.
    """


@page_tool
def browser_press_key(context: ToolContext, key: str) -> None:
    """Press a key. Enter sends the form of the field that was typed in last; PageDown and PageUp scroll.

    Args:
        key: The key.
    """


@page_tool
def browser_hover(context: ToolContext, ref: Ref, element: str = "") -> None:
    """Move the mouse over an element, which changes nothing on these pages.

    Args:
        ref: Its ref in the snapshot.
        element: The element in words, for people.
    """


@page_tool
def browser_tabs(context: ToolContext, action: Literal["list", "new", "close", "select"], index: int = 0) -> None:
    """List tabs, open one, close the one in front, or bring one to the front.

    Args:
        action: What to do.
        index: The tab to bring to the front, from 0.
    """


@page_tool
def browser_find(context: ToolContext, text: Annotated[str, Field(min_length=1, max_length=200)]) -> None:
    """Scroll to the first line of the page that holds a text; again, to the next one.

    Args:
        text: What is looked for; small and capital letters are the same.
    """


class PlaywrightDialect(Dialect):
    """A list in YAML: `- role "name" [ref=e12]`."""

    name = "playwright-mcp"
    tools = (
        browser_navigate, browser_navigate_back, browser_navigate_forward, browser_snapshot, browser_click,
        browser_type, browser_fill_form, browser_select_option, browser_press_key, browser_hover, browser_tabs,
        browser_find,
    )  # fmt: skip
    more = 'browser_press_key(key="PageDown")'

    def draw(self, screen: Screen) -> Iterator[DialectLine]:
        """See `Dialect`."""
        yield DialectLine(text=f"- Page URL: {screen.page.url}")
        yield DialectLine(text=f"- Page Title: {screen.page.title}")
        yield DialectLine(text="- Page Snapshot:")
        yield DialectLine(text="```yaml")
        for element in screen.elements:
            yield from self._items(element, "", screen)

    def rest(self, screen: Screen) -> Iterator[DialectLine]:
        """See `Dialect`."""
        yield DialectLine(text="```")

    def read(self, call: ToolCall, screen: Screen) -> tuple[ToolCall, ...]:
        """See `Dialect`."""
        given: Any = call.arguments
        match call.tool:
            case "browser_click":
                return (plain("click", element=numbered(given["ref"], screen, _PREFIX)),)
            case "browser_type":
                element = numbered(given["ref"], screen, _PREFIX)
                typed = plain("fill", element=element, text=given["text"])
                return (typed, plain("press", element=element)) if given["submit"] else (typed,)
            case "browser_fill_form":
                return tuple(_filled(field, screen) for field in given["fields"])
            case "browser_select_option":
                element = numbered(given["ref"], screen, _PREFIX)
                return (plain("select_option", element=element, option=one_option(given["values"])),)
            case "browser_press_key":
                return (_pressed(given["key"], screen),)
            case "browser_hover":
                element = numbered(given["ref"], screen, _PREFIX)
                return (plain("noop" if screen.find(element) else "click", element=element),)
            case "browser_tabs":
                return (_tab(given["action"], given["index"]),)
            case "browser_navigate":
                return (plain("goto", url=given["url"]),)
            case "browser_navigate_back" | "browser_navigate_forward":
                return (plain(call.tool.rpartition("_")[2]),)
            case "browser_find":
                return (plain("find", text=given["text"]),)
            case _:
                return (plain("noop"),)

    def write(self, call: ToolCall, screen: Screen | None) -> tuple[ToolCall, ...]:
        """See `Dialect`."""
        given: Any = call.arguments
        ref = self.handle(str(given["element"]), screen) if "element" in given else ""
        match call.tool:
            case "click":
                return (plain("browser_click", ref=ref),)
            case "press":
                typed = plain("browser_type", ref=ref, text=_held(given["element"], screen), submit=True)
                return (typed,)
            case "fill":
                return (plain("browser_type", ref=ref, text=given["text"]),)
            case "clear":
                return (plain("browser_type", ref=ref, text=""),)
            case "select_option":
                return (plain("browser_select_option", ref=ref, values=[given["option"]]),)
            case "check":
                checked = "true" if given.get("checked", True) else "false"
                return (plain("browser_fill_form", fields=[{"ref": ref, "type": "checkbox", "value": checked}]),)
            case "scroll":
                down = given.get("direction", "down") == "down"
                return (plain("browser_press_key", key="PageDown" if down else "PageUp"),)
            case "goto":
                return (plain("browser_navigate", url=given["url"]),)
            case "back" | "forward":
                return (plain(f"browser_navigate_{call.tool}"),)
            case "tab_new" | "tab_close":
                return (plain("browser_tabs", action=call.tool.removeprefix("tab_")),)
            case "tab_focus":
                return (plain("browser_tabs", action="select", index=given["number"] - 1),)
            case "noop":
                return (plain("browser_snapshot"),)
            case _:
                return (call,)

    def handle(self, element: str, screen: Screen | None) -> str:
        """See `Dialect`."""
        number = None if screen is None else screen.session.number(element)
        return element if number is None else f"{_PREFIX}{number}"

    def _items(self, element: PageElement, indent: str, screen: Screen) -> Iterator[DialectLine]:
        ids = (element.id,) if element.id else ()
        inner = [f"  - option {_quoted(o)}{' [selected]' if o == element.value else ''}" for o in element.options]
        if isinstance(element.activation, Follow):
            inner.append(f"  - /url: {element.activation.url}")
        if element.role == "link" and element.value:
            inner.append(f"  - text: {flat(element.value)}")
        said = f"{indent}- {self._item(element, screen)}"
        if element.role not in ("combobox", "checkbox") and element.value and element.role not in ("link", "text"):
            said += f": {flat(element.value)}"
        elif inner or element.children:
            said += ":"
        yield DialectLine(text=said, shows=element.shows, elements=ids)
        yield from (DialectLine(text=indent + line) for line in inner)
        for child in element.children:
            yield from self._items(child, f"{indent}  ", screen)

    def _item(self, element: PageElement, screen: Screen) -> str:
        """An element in playwright-mcp's words."""
        if element.role == "text":
            return f"text: {flat(element.value)}"
        said = str(element.role)
        if element.name:
            said += f" {_quoted(element.name)}"
        if element.role == "heading":
            said += " [level=1]"
        if element.role == "checkbox" and element.value == "true":
            said += " [checked]"
        if element.id and element.id == screen.session.focus:
            said += " [active]"
        if element.required:
            said += " [required]"
        if element.id:
            said += f" [ref={self.handle(element.id, screen)}]"
        return said


def _quoted(text: str) -> str:
    return '"' + flat(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _filled(field: Mapping[str, str], screen: Screen) -> ToolCall:
    """What filling in a field of a form means."""
    if not {"ref", "value"} <= field.keys() <= {"ref", "value", "name", "type"}:
        raise ToolRefusal(
            "bad_field", f'a field has "ref" and "value", "name" and "type" if wanted; {list(field)!r:.80}'
        )
    ref, value = field["ref"], field["value"]
    name = numbered(ref, screen, _PREFIX)
    element = screen.find(name)
    if element is not None and element.role == "checkbox":
        if value not in ("true", "false"):
            raise ToolRefusal("bad_value", f'{ref!r:.40} is a checkbox; its value is "true" or "false"')
        return plain("check", element=name, checked=value == "true")
    return plain("fill", element=name, text=value)


def _pressed(key: str, screen: Screen) -> ToolCall:
    if key in ("PageDown", "PageUp"):
        return plain("scroll", direction="down" if key == "PageDown" else "up")
    if key != "Enter":
        raise unknown_key(key, _KEYS)
    return entered(screen)


def entered(screen: Screen) -> ToolCall:
    """What the Enter key means: it sends the form of the field with the focus.

    Raises:
        ToolRefusal: no field has the focus.
    """
    focus = screen.session.focus
    element = screen.find(focus) if focus else None
    if element is None or element.role not in FIELDS:
        raise ToolRefusal("no_focus", "Enter goes to the field that has the focus, and none has; type in a field first")
    return plain("press", element=focus, key="Enter")


def _tab(action: str, index: int) -> ToolCall:
    if action == "select":
        return plain("tab_focus", number=index + 1)
    return plain({"new": "tab_new", "close": "tab_close"}.get(action, "noop"))


def _held(element: str, screen: Screen | None) -> str:
    """What a field holds."""
    found = None if screen is None else screen.find(element)
    return "" if found is None else found.value
