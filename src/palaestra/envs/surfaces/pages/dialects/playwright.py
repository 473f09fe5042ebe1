"""The dialect of playwright-mcp: a snapshot in YAML with a ref for each element, and its browser tools.

A ref such as `e12` belongs to one element of the site for the whole episode, so it is the same after a change of the
page, in a fork and in a replay. A ref of an element that the page in front lacks is refused as stale.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from palaestra.envs.surfaces.pages.dialects.acting import page_tool
from palaestra.envs.surfaces.pages.dialects.calls import make_call, one_option, press_enter, resolve_handle, unknown_key
from palaestra.envs.surfaces.pages.dialects.dialect import Dialect, DialectLine, Screen, one_line
from palaestra.envs.surfaces.pages.tree import Follow, PageElement
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

    def draw_end(self, screen: Screen) -> Iterator[DialectLine]:
        """See `Dialect`."""
        yield DialectLine(text="```")

    def read(self, call: ToolCall, screen: Screen) -> tuple[ToolCall, ...]:
        """See `Dialect`."""
        given: Any = call.arguments
        match call.tool:
            case "browser_click":
                return (make_call("click", element=resolve_handle(given["ref"], screen, _PREFIX)),)
            case "browser_type":
                element = resolve_handle(given["ref"], screen, _PREFIX)
                typed = make_call("fill", element=element, text=given["text"])
                return (typed, make_call("press", element=element)) if given["submit"] else (typed,)
            case "browser_fill_form":
                return tuple(_read_field(field, screen) for field in given["fields"])
            case "browser_select_option":
                element = resolve_handle(given["ref"], screen, _PREFIX)
                return (make_call("select_option", element=element, option=one_option(given["values"])),)
            case "browser_press_key":
                return (_read_key(given["key"], screen),)
            case "browser_hover":
                element = resolve_handle(given["ref"], screen, _PREFIX)
                return (make_call("noop" if screen.find(element) else "click", element=element),)
            case "browser_tabs":
                return (_tab(given["action"], given["index"]),)
            case "browser_navigate":
                return (make_call("goto", url=given["url"]),)
            case "browser_navigate_back" | "browser_navigate_forward":
                return (make_call(call.tool.rpartition("_")[2]),)
            case "browser_find":
                return (make_call("find", text=given["text"]),)
            case _:
                return (make_call("noop"),)

    def write(self, call: ToolCall, screen: Screen | None) -> tuple[ToolCall, ...]:
        """See `Dialect`."""
        given: Any = call.arguments
        ref = self.handle(str(given["element"]), screen) if "element" in given else ""
        match call.tool:
            case "click":
                return (make_call("browser_click", ref=ref),)
            case "press":
                typed = make_call("browser_type", ref=ref, text=_field_value(given["element"], screen), submit=True)
                return (typed,)
            case "fill":
                return (make_call("browser_type", ref=ref, text=given["text"]),)
            case "clear":
                return (make_call("browser_type", ref=ref, text=""),)
            case "select_option":
                return (make_call("browser_select_option", ref=ref, values=[given["option"]]),)
            case "check":
                checked = "true" if given.get("checked", True) else "false"
                return (make_call("browser_fill_form", fields=[{"ref": ref, "type": "checkbox", "value": checked}]),)
            case "scroll":
                down = given.get("direction", "down") == "down"
                return (make_call("browser_press_key", key="PageDown" if down else "PageUp"),)
            case "goto":
                return (make_call("browser_navigate", url=given["url"]),)
            case "back" | "forward":
                return (make_call(f"browser_navigate_{call.tool}"),)
            case "tab_new" | "tab_close":
                return (make_call("browser_tabs", action=call.tool.removeprefix("tab_")),)
            case "tab_focus":
                return (make_call("browser_tabs", action="select", index=given["number"] - 1),)
            case "noop":
                return (make_call("browser_snapshot"),)
            case _:
                return (call,)

    def handle(self, element: str, screen: Screen | None) -> str:
        """See `Dialect`."""
        number = None if screen is None else screen.session.number(element)
        return element if number is None else f"{_PREFIX}{number}"

    def _items(self, element: PageElement, indent: str, screen: Screen) -> Iterator[DialectLine]:
        ids = (element.id,) if element.id else ()
        inner = [f"  - option {_quote(o)}{' [selected]' if o == element.value else ''}" for o in element.options]
        if isinstance(element.activation, Follow):
            inner.append(f"  - /url: {element.activation.url}")
        if element.role == "link" and element.value:
            inner.append(f"  - text: {one_line(element.value)}")
        said = f"{indent}- {self._item(element, screen)}"
        if element.role not in ("combobox", "checkbox") and element.value and element.role not in ("link", "text"):
            said += f": {one_line(element.value)}"
        elif inner or element.children:
            said += ":"
        yield DialectLine(text=said, shows=element.shows, elements=ids)
        yield from (DialectLine(text=indent + line) for line in inner)
        for child in element.children:
            yield from self._items(child, f"{indent}  ", screen)

    def _item(self, element: PageElement, screen: Screen) -> str:
        """An element in playwright-mcp's words."""
        if element.role == "text":
            return f"text: {one_line(element.value)}"
        said = str(element.role)
        if element.name:
            said += f" {_quote(element.name)}"
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


def _quote(text: str) -> str:
    return '"' + one_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _read_field(field: Mapping[str, str], screen: Screen) -> ToolCall:
    """What filling in a field of a form means."""
    if not {"ref", "value"} <= field.keys() <= {"ref", "value", "name", "type"}:
        raise ToolRefusal(
            "bad_field", f'a field has "ref" and "value", "name" and "type" if wanted; {list(field)!r:.80}'
        )
    ref, value = field["ref"], field["value"]
    name = resolve_handle(ref, screen, _PREFIX)
    element = screen.find(name)
    if element is not None and element.role == "checkbox":
        if value not in ("true", "false"):
            raise ToolRefusal("bad_value", f'{ref!r:.40} is a checkbox; its value is "true" or "false"')
        return make_call("check", element=name, checked=value == "true")
    return make_call("fill", element=name, text=value)


def _read_key(key: str, screen: Screen) -> ToolCall:
    if key in ("PageDown", "PageUp"):
        return make_call("scroll", direction="down" if key == "PageDown" else "up")
    if key != "Enter":
        raise unknown_key(key, _KEYS)
    return press_enter(screen)


def _tab(action: str, index: int) -> ToolCall:
    if action == "select":
        return make_call("tab_focus", number=index + 1)
    return make_call({"new": "tab_new", "close": "tab_close"}.get(action, "noop"))


def _field_value(element: str, screen: Screen | None) -> str:
    """What a field holds."""
    found = None if screen is None else screen.find(element)
    return "" if found is None else found.value
