"""The dialect of computer use: a screen of a declared layout, and a mouse and a keyboard that know coordinates alone.

The names and arguments of actions are those of UI-TARS; `action_format="ui-tars"` reads them as its action strings.
Pointing and selecting are calls of their own and take time on the virtual clock, so equal work ends later than in
other dialects.
The layout is declared, not measured: a letter is 8 pixels wide and a line 20 high, so that boxes need no browser. With
`renderer="chromium"` it is that of the picture.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from palaestra.envs.surfaces.pages.dialects.acting import page_tool
from palaestra.envs.surfaces.pages.dialects.calls import make_call, press_enter, unknown_key
from palaestra.envs.surfaces.pages.dialects.dialect import Dialect, DialectLine, Screen, one_line, picture_of
from palaestra.envs.surfaces.pages.text import INLINE
from palaestra.envs.surfaces.pages.tree import FIELDS, Box, PageElement
from palaestra.errors import ToolRefusal
from palaestra.record import record
from palaestra.records import Prose, ToolCall
from palaestra.tools import ToolContext

LETTER, LINE = 8, 20
"""Pixels of a letter and of a line."""
WIDE = 1280
"""Pixels of the screen's width; it is as high as what it shows."""
ADDRESS = "@address"
"""What has the focus while an address is typed."""
_MARGIN = 2 * LETTER
_KEYS = (
    "enter", "ctrl a", "backspace", "pagedown", "pageup", "alt left", "alt right", "ctrl t", "ctrl w", "ctrl l",
    *(f"ctrl {number}" for number in range(1, 9)),
)  # fmt: skip
Pixel = Annotated[int, Field(ge=0, le=100_000)]
Place = Annotated[str, Field(min_length=3, max_length=60)]


@record
class PlacedElement:
    """An element and its box."""

    element: PageElement
    box: Box


@page_tool
def click(context: ToolContext, start_box: Place) -> None:
    """Click a place on the screen.

    Args:
        start_box: The place, as "(x,y)" in pixels.
    """


@page_tool
def left_double(context: ToolContext, start_box: Place) -> None:
    """Click a place on the screen twice, which does what one click does.

    Args:
        start_box: The place, as "(x,y)" in pixels.
    """


@page_tool
def type(context: ToolContext, content: str) -> None:  # noqa: A001  as UI-TARS names it
    """Type in the field that has the focus, after what it holds or in place of what is selected.

    Args:
        content: The text; a line break at its end presses Enter.
    """


@page_tool
def hotkey(context: ToolContext, key: str) -> None:
    """Press keys: "enter", "ctrl a", "backspace", "pagedown", "alt left", "ctrl t", "ctrl 2", "ctrl l" and the like.

    Args:
        key: The keys, with a space between them.
    """


@page_tool
def scroll(context: ToolContext, direction: Literal["down", "up"], start_box: Place = "(0,0)") -> None:
    """Scroll the page.

    Args:
        direction: Which way.
        start_box: The place over which the wheel is turned, which has no effect.
    """


@page_tool
def find(context: ToolContext, text: Annotated[str, Field(min_length=1, max_length=200)]) -> None:
    """Scroll to the first line of the page that holds a text; again, to the next one.

    Args:
        text: What is looked for; small and capital letters are the same.
    """


@page_tool
def wait(context: ToolContext) -> None:
    """Do nothing, and look at the screen again."""


@page_tool
def finished(context: ToolContext, content: Annotated[str, Prose()] = "") -> None:
    """End the task as done.

    Args:
        content: Has no effect; a message to the user is a `reply`.
    """


@page_tool
def call_user(context: ToolContext) -> None:
    """End the task as not done."""


class ComputerDialect(Dialect):
    """`role "name" (left, top, right, bottom)`, in pixels of the declared layout."""

    name = "computer"
    tools = (click, left_double, type, hotkey, scroll, find, wait, finished, call_user)
    more = 'scroll(direction="down")'
    needs_screen = True

    def draw(self, screen: Screen) -> Iterator[DialectLine]:
        """See `Dialect`."""
        placed = place(screen)
        high = height(screen, placed)
        focused = " focused" if screen.session.focus == ADDRESS else ""
        yield DialectLine(text=f"screen {WIDE}x{high} {screen.page.title!r}")
        bar = "" if _is_pictured(screen) else f" (0, 0, {WIDE}, {LINE})"
        yield DialectLine(text=f"address bar {screen.page.url!r}{bar}{focused}")
        for one in placed:
            element = one.element
            edges = one.box
            box = f" ({edges.left}, {edges.top}, {edges.right}, {edges.bottom})" if element.id else ""
            focused = " focused" if element.id and element.id == screen.session.focus else ""
            ids = (element.id,) if element.id else ()
            yield DialectLine(text=f"{_words(element)}{box}{focused}", shows=element.shows, elements=ids)

    def read(self, call: ToolCall, screen: Screen) -> tuple[ToolCall, ...]:
        """See `Dialect`."""
        given: Any = call.arguments
        match call.tool:
            case "click" | "left_double":
                return _read_click(*read_point(given["start_box"]), screen)
            case "type":
                return _read_typing(given["content"], screen)
            case "hotkey":
                return _read_keys(given["key"], screen)
            case "scroll":
                read_point(given["start_box"])
                return (make_call("scroll", direction=given["direction"]),)
            case "find":
                return (make_call("find", text=given["text"]),)
            case "finished":
                return (make_call("finish"),)
            case "call_user":
                return (make_call("give_up", reason="The user is called."),)
            case _:
                return (make_call("noop"),)

    def write(self, call: ToolCall, screen: Screen | None) -> tuple[ToolCall, ...]:
        """See `Dialect`. Without a screen there are no coordinates, and the call stays as it is.

        Raises:
            ToolRefusal: the element is out of sight, or its text cannot be typed.
        """
        given: Any = call.arguments
        if "element" in given:
            return (call,) if screen is None else self._write_pointing(call, given, screen)
        match call.tool:
            case "scroll":
                return (make_call("scroll", direction=given.get("direction", "down")),)
            case "goto":
                return (make_call("hotkey", key="ctrl l"), make_call("type", content=f"{given['url']}\n"))
            case "back" | "forward":
                return (make_call("hotkey", key="alt left" if call.tool == "back" else "alt right"),)
            case "tab_new" | "tab_close":
                return (make_call("hotkey", key="ctrl t" if call.tool == "tab_new" else "ctrl w"),)
            case "tab_focus":
                return (make_call("hotkey", key=f"ctrl {given['number']}"),)
            case "noop":
                return (make_call("wait"),)
            case "finish" if not given.get("answer"):
                return (make_call("finished"),)
            case _:
                return (call,)

    def _write_pointing(self, call: ToolCall, given: Any, screen: Screen) -> tuple[ToolCall, ...]:
        """An action on an element, as what mouse and keyboard do."""
        at = next((one for one in place(screen) if one.element.id == given["element"]), None)
        if at is None:
            raise ToolRefusal("out_of_sight", f"{given['element']!r} is not on the screen; scroll to it")
        clicked = click_at(*at.box.centre)
        match call.tool:
            case "click":
                return (clicked,)
            case "check":
                holds = at.element.value == "true"
                return (make_call("wait"),) if holds == given.get("checked", True) else (clicked,)
            case "press":
                return (clicked, make_call("hotkey", key="enter"))
            case _:
                text = str(given.get("text", given.get("option", "")))
                emptied = (clicked, make_call("hotkey", key="ctrl a"))
                if not text:
                    return (*emptied, make_call("hotkey", key="backspace"))
                if text.endswith("\n"):
                    raise ToolRefusal("cannot_type", "a line break at the end of a text presses Enter; type it without")
                return (*emptied, make_call("type", content=text))


def click_at(x: int, y: int) -> ToolCall:
    """A click on a place."""
    return make_call("click", start_box=f"({x},{y})")


def read_point(text: str) -> tuple[int, int]:
    """The place that a box names: "(x,y)", or the centre of "[x1, y1, x2, y2]".

    Raises:
        ToolRefusal: it is no place.
    """
    stripped = text.replace("<|box_start|>", "").replace("<|box_end|>", "").strip().strip("()[]")
    parts = [part for part in stripped.replace(",", " ").split() if part]
    if len(parts) not in (2, 4) or not all(part.isdecimal() and len(part) <= 6 for part in parts):
        raise ToolRefusal("bad_point", f"{text!r:.60} is no place on the screen; write it as '(x,y)' in whole pixels")
    numbers = list(map(int, parts))
    if len(numbers) == 4:
        return (numbers[0] + numbers[2]) // 2, (numbers[1] + numbers[3]) // 2
    return numbers[0], numbers[1]


def place(screen: Screen) -> list[PlacedElement]:
    """Every part of the screen that says something, with its box.

    In the declared layout, what stands in a line, such as the cells of a row, flows from left to right and breaks at
    the screen's width; any other element has lines of its own.
    """
    found: list[PlacedElement] = []
    _place_block(screen.elements, 0, LINE, found)
    if not _is_pictured(screen):
        return found
    boxes = picture_of(screen).boxes
    return [
        replace(one, box=boxes.get(one.element.id, one.box))
        for one in found
        if not one.element.id or one.element.id in boxes
    ]


def height(screen: Screen, placed: Sequence[PlacedElement]) -> int:
    """Pixels of the screen's height."""
    if _is_pictured(screen):
        return picture_of(screen).height
    return max([LINE, *(one.box.bottom for one in placed)])


def _is_pictured(screen: Screen) -> bool:
    """Whether places are those of a picture that Chromium draws."""
    return screen.session.settings.renderer == "chromium"


def _place_block(elements: Sequence[PageElement], left: int, top: int, found: list[PlacedElement]) -> int:
    """Place elements one below the other; the first free line."""
    for element in elements:
        if element.role in INLINE:
            x, last = left, top
            for child in element.children:
                wide = min(WIDE - left, _width(child))
                if x > left and x + wide > WIDE:
                    x, last = left, last + LINE
                found.append(
                    PlacedElement(element=child, box=Box(left=x, top=last, right=x + wide, bottom=last + LINE))
                )
                x += wide + _MARGIN
            top = last + LINE
            continue
        if _says(element):
            wide = _width(element)
            lines = -(-wide // (WIDE - left))
            box = Box(left=left, top=top, right=left + min(wide, WIDE - left), bottom=top + lines * LINE)
            found.append(PlacedElement(element=element, box=box))
            top = box.bottom
        top = _place_block(element.children, left + _MARGIN, top, found)
    return top


def _says(element: PageElement) -> bool:
    return bool(element.id or element.name or element.value or element.shows)


def _width(element: PageElement) -> int:
    return max(2, len(_words(element))) * LETTER


def _words(element: PageElement) -> str:
    """An element in words."""
    if element.role == "text":
        return one_line(element.value)
    if element.role in ("cell", "definition"):
        return f"{element.name} {one_line(element.value)}".rstrip()
    said = f'{element.role} "{one_line(element.name)}"'
    if element.role in FIELDS:
        said += f' holds "{one_line(element.value)}"' if element.value else " is empty"
        said += " required" if element.required else ""
        said += f" of {', '.join(element.options)}" if element.options else ""
    elif element.value:
        said += f" {one_line(element.value)}"
    return said


def _read_click(x: int, y: int, screen: Screen) -> tuple[ToolCall, ...]:
    """What a click on a place means."""
    placed = place(screen)
    high = height(screen, placed)
    if x >= WIDE or y >= high:
        raise ToolRefusal("outside", f"({x},{y}) is outside the screen of {WIDE}x{high} pixels")
    if y < LINE and not _is_pictured(screen):
        return make_call("focus", element=ADDRESS), make_call("select_all")
    hit = next((one.element for one in placed if one.element.id and one.box.holds(x, y)), None)
    if hit is None:
        return (make_call("focus", element=""),)
    if hit.role == "checkbox":
        return (make_call("check", element=hit.id, checked=hit.value != "true"),)
    return (make_call("focus" if hit.role in FIELDS else "click", element=hit.id),)


def _read_typing(content: str, screen: Screen) -> tuple[ToolCall, ...]:
    """What typing means where the focus is."""
    session = screen.session
    sends, text = content.endswith("\n"), content.removesuffix("\n")
    if session.focus == ADDRESS:
        if not sends:
            raise ToolRefusal("no_enter", 'end an address with "\\n", which opens it')
        return (make_call("goto", url=text),)
    element = screen.find(session.focus) if session.focus else None
    if element is None:
        raise ToolRefusal("no_focus", "no field has the focus; click one first")
    chooses = element.role in ("combobox", "checkbox") or session.selected
    entry = make_call("fill", element=element.id, text=text if chooses else element.value + text)
    return (entry, make_call("press", element=element.id, key="Enter")) if sends else (entry,)


def _read_keys(key: str, screen: Screen) -> tuple[ToolCall, ...]:
    """What a combination of keys means."""
    keys = " ".join(key.lower().replace("+", " ").split())
    if keys not in _KEYS:
        raise unknown_key(key, _KEYS)
    moves = {"alt left": "back", "alt right": "forward", "ctrl t": "tab_new", "ctrl w": "tab_close"}
    if keys in moves:
        return (make_call(moves[keys]),)
    if keys in ("pagedown", "pageup"):
        return (make_call("scroll", direction="down" if keys == "pagedown" else "up"),)
    if keys == "ctrl l":
        return make_call("focus", element=ADDRESS), make_call("select_all")
    if keys == "ctrl a":
        return (make_call("select_all"),)
    if keys == "enter":
        return (press_enter(screen),)
    if keys == "backspace":
        return _read_backspace(screen)
    return (make_call("tab_focus", number=int(keys.removeprefix("ctrl "))),)


def _read_backspace(screen: Screen) -> tuple[ToolCall, ...]:
    """What the backspace key takes away: what is selected, or the last letter."""
    element = screen.find(screen.session.focus) if screen.session.focus else None
    if element is None:
        raise ToolRefusal("no_focus", "no field has the focus; click one first")
    return (make_call("fill", element=element.id, text="" if screen.session.selected else element.value[:-1]),)
