"""The actions of an agent on a page, and their results in words."""

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from palaestra.browser.driver import Window, try_act

_REF = {"type": "integer", "description": "an element's number"}
_POINT = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
_MOST = 2_000
"""Maximum characters of one typing action."""
_KEYED = 200
"""Maximum characters that are typed key by key; longer texts are inserted at once."""

ACTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "click": ("Click an element.", {"ref": _REF}),
    "click_at": (
        "Click a place of the page, in pixels from its upper left corner.",
        {"x": {"type": "number"}, "y": {"type": "number"}},
    ),
    "hover": ("Move the mouse over an element.", {"ref": _REF}),
    "type": (
        "Replace the text of a field. Dates are written YYYY-MM-DD, times HH:MM, colours #rrggbb.",
        {"ref": _REF, "text": {"type": "string"}},
    ),
    "select": (
        "Choose options of a list, by their text; those that are not named are unchosen.",
        {"ref": _REF, "options": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
    ),
    "press": (
        "Press a key where the focus is, such as Enter, Tab, ArrowDown, a, or Control+c.",
        {"key": {"type": "string"}},
    ),
    "drag": ("Drag one element onto another.", {"ref": _REF, "to": _REF}),
    "drag_along": (
        "Press the mouse at the first point, move it through the others, and let go: to draw, mark or move.",
        {"points": {"type": "array", "items": _POINT, "minItems": 2, "maxItems": 50}},
    ),
    "scroll": (
        "Scroll an element by so many pixels; down is positive.",
        {"ref": _REF, "by": {"type": "integer"}},
    ),
    "wait": ("Let time pass.", {"seconds": {"type": "integer", "minimum": 1, "maximum": 10}}),
}
"""By name: the description of an action, and the JSON schemas of its arguments. Any: JSON Schema."""
_WHY = {
    "gone": "there is no such element, or no more",
    "hidden": "it is not visible, or cannot be brought into view",
    "covered": "another element covers it",
    "no select": "it is no list to choose from",
    "no option": "it has no such option",
    "one option": "exactly one option can be chosen",
    "no field": "it is no field that takes text",
    "no value": "the field does not take such a value",
    "disabled": "it is disabled",
}


class ActRefused(Exception):  # noqa: N818  it is what a page or an agent does, not a fault
    """An action cannot be done; the text says why.

    Attributes:
        error: A short stable word: "failed", "invalid_arguments" or "unknown_tool".
    """

    def __init__(self, why: str, error: str = "failed") -> None:
        super().__init__(why)
        self.error = error


class Acts:
    """Performs actions on one window."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._known: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
            "click": self._click,
            "click_at": self._click_at,
            "hover": self._hover,
            "type": self._type,
            "select": self._select,
            "press": self._press,
            "drag": self._drag,
            "drag_along": self._drag_along,
            "scroll": self._scroll,
            "wait": self._wait,
        }

    def act(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Perform an action.

        Returns:
            A description of what was done.

        Raises:
            ActRefused: the action cannot be done.
        """
        if name not in self._known:
            raise ActRefused(f"there is no tool {name!r}; there are {', '.join(self._known)}", "unknown_tool")
        try:
            return self._known[name](arguments)
        except ActRefused as refusal:
            raise ActRefused(f"{name}: {refusal}", refusal.error) from None

    def _click(self, given: Mapping[str, Any]) -> str:
        number = _integer(given, "ref")
        self._window.page.mouse.click(*self._point(number))
        return f"clicked [{number}]"

    def _click_at(self, given: Mapping[str, Any]) -> str:
        x, y = self._inside(_number(given, "x"), _number(given, "y"))
        self._window.page.mouse.click(x, y)
        return f"clicked at {x:g},{y:g}"

    def _hover(self, given: Mapping[str, Any]) -> str:
        number = _integer(given, "ref")
        self._window.page.mouse.move(*self._point(number))
        return f"the mouse is over [{number}]"

    def _type(self, given: Mapping[str, Any]) -> str:
        number, text = _integer(given, "ref"), _text(given, "text", _MOST)
        self._can("writable", number)
        filled = self._window.run("([ref, text]) => __palaestra.fill(ref, text)", [number, text])
        if filled is None:
            return f"set [{number}]"
        if filled != "by keys":
            raise ActRefused(_WHY[filled])
        keyboard = self._window.page.keyboard
        self._window.page.mouse.click(*self._point(number))
        keyboard.press("Control+a")
        keyboard.press("Delete")
        if len(text) <= _KEYED:
            keyboard.type(text)
        else:
            keyboard.insert_text(text)
        return f"typed into [{number}]"

    def _select(self, given: Mapping[str, Any]) -> str:
        number, options = _integer(given, "ref"), _list(given, "options")
        if not options or not all(isinstance(option, str) for option in options):
            raise ActRefused("options is a list of texts, and at least one", "invalid_arguments")
        why = self._window.run("([ref, wanted]) => __palaestra.choose(ref, wanted)", [number, options])
        if why:
            raise ActRefused(_WHY[why])
        return f"chose in [{number}]"

    def _press(self, given: Mapping[str, Any]) -> str:
        key = _text(given, "key", 60)
        window = self._window
        # All windows share the machine's clipboard, so this window's own is stored here.
        command = key.lower().replace(" ", "")
        if command in ("control+c", "control+x"):
            window.clipboard = window.run("() => __palaestra.selection()") or window.clipboard
        if command == "control+v":
            window.page.keyboard.insert_text(window.clipboard)
        elif command == "control+x":
            window.page.keyboard.press("Delete")
        elif command != "control+c" and (why := try_act(lambda: window.page.keyboard.press(key))):
            raise ActRefused(why, "invalid_arguments")
        return f"pressed {key}"

    def _drag(self, given: Mapping[str, Any]) -> str:
        number, to = _integer(given, "ref"), _integer(given, "to")
        start, end = self._point(number), self._point(to)
        self._drag_through([self._point(number) if start != end else start, end])
        return f"dragged [{number}] onto [{to}]"

    def _drag_along(self, given: Mapping[str, Any]) -> str:
        points = _list(given, "points")
        if not 2 <= len(points) <= 50 or not all(map(_is_point, points)):
            raise ActRefused("points is a list of 2 to 50 pairs of numbers", "invalid_arguments")
        self._drag_through([self._inside(float(x), float(y)) for x, y in points])
        return f"dragged through {len(points)} points"

    def _drag_through(self, points: list[tuple[float, float]]) -> None:
        mouse = self._window.page.mouse
        mouse.move(*points[0])
        mouse.down()
        for x, y in points[1:]:
            mouse.move(x, y, steps=8)
        mouse.up()

    def _scroll(self, given: Mapping[str, Any]) -> str:
        number, by = _integer(given, "ref"), _integer(given, "by")
        if why := self._window.run("([ref, by]) => __palaestra.scroll(ref, by)", [number, by]):
            raise ActRefused(_WHY[why])
        return f"scrolled by {by}"

    def _wait(self, given: Mapping[str, Any]) -> str:
        seconds = _integer(given, "seconds")
        if not 1 <= seconds <= 10:
            raise ActRefused("seconds is from 1 to 10", "invalid_arguments")
        self._window.pass_time(1_000 * seconds)
        return f"{seconds} s have passed"

    def _can(self, question: str, number: int) -> None:
        if why := self._window.run(f"ref => __palaestra.{question}(ref)", number):
            raise ActRefused(_WHY[why])

    def _point(self, number: int) -> tuple[float, float]:
        found = self._window.run("ref => __palaestra.point(ref)", number)
        if "why" in found:
            by = f", [{found['by']}]" if "by" in found else ""
            raise ActRefused(f"[{number}]: {_WHY[found['why']]}{by}")
        return found["x"], found["y"]

    def _inside(self, x: float, y: float) -> tuple[float, float]:
        size = self._window.page.viewport_size
        if not (0 <= x < size["width"] and 0 <= y < size["height"]):
            raise ActRefused(
                f"{x:g},{y:g} is outside of the page, {size['width']}x{size['height']}", "invalid_arguments"
            )
        return x, y


def _is_point(point: Any) -> bool:
    pair = _list({"point": point}, "point")
    return len(pair) == 2 and all(map(_is_number, pair))


def _list(given: Mapping[str, Any], name: str) -> list[Any]:
    """A list; anything else gives an empty list."""
    value = given.get(name)
    return value if _is_list(value) else []


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _integer(given: Mapping[str, Any], name: str) -> int:
    value = given.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > 2**31:
        raise ActRefused(f"{name} is an integer", "invalid_arguments")
    return value


def _number(given: Mapping[str, Any], name: str) -> float:
    value = given.get(name)
    if not _is_number(value):
        raise ActRefused(f"{name} is a number", "invalid_arguments")
    return float(value)  # type: ignore[arg-type]


def _text(given: Mapping[str, Any], name: str, most: int) -> str:
    value = given.get(name)
    if not isinstance(value, str) or len(value) > most or "\0" in value:
        raise ActRefused(f"{name} is a text of at most {most} characters", "invalid_arguments")
    return value
