"""Scripts that solve some of the pages from what is shown: the goal and the elements, as an agent has them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from palaestra.benchmarks.external.protocol import WireCall
from palaestra.browser.view import Element

Look: TypeAlias = Callable[[], Sequence[Element]]
"""Asks for the elements as they are now."""
Solver: TypeAlias = Callable[[str, Look], Iterator[list[WireCall]]]
"""Turns, one after the other; each is played before the next is asked for."""


def words_of(goal: str) -> list[str]:
    """What the goal quotes, and its other words where it quotes nothing."""
    return _quote(goal) or re.findall(r"\w+", goal)


def _quote(goal: str) -> list[str]:
    return re.findall(r'"([^"]*)"', goal)


def _call(name: str, **arguments: Any) -> WireCall:
    return {"tool": name, "arguments": arguments}


def _click(element: Element) -> list[WireCall]:
    return [_call("click", ref=element["ref"])]


def _one(seen: Sequence[Element], wanted: Callable[[Element], bool]) -> Element:
    return next(filter(wanted, seen))


def _says(text: str) -> Callable[[Element], bool]:
    return lambda element: element["text"].lower() == text.lower()


def _is_button(element: Element) -> bool:
    return element["tag"] == "button" or element["kind"] in ("button", "submit")


def _fields(seen: Sequence[Element]) -> list[Element]:
    return [element for element in seen if element["value"] is not None]


def _submit(seen: Sequence[Element]) -> list[WireCall]:
    buttons = [element for element in seen if _is_button(element)]
    return _click(buttons[-1])


def _only_button(goal: str, look: Look) -> Iterator[list[WireCall]]:
    del goal
    yield _submit(look())


def _click_named(goal: str, look: Look) -> Iterator[list[WireCall]]:
    """The one thing that the goal quotes."""
    yield _click(_one(look(), _says(_quote(goal)[0])))


def _named_button(goal: str, look: Look) -> Iterator[list[WireCall]]:
    wanted = _quote(goal)[0]
    yield _click(_one(look(), lambda e: _is_button(e) and _says(wanted)(e)))


def _in_turn(goal: str, look: Look) -> Iterator[list[WireCall]]:
    """Buttons that may lie over one another: each is clicked where no other is."""
    for wanted in re.findall(r"button ([A-Z]+)", goal):
        seen = look()
        x, y = _free(_one(seen, _says(wanted)), seen)
        yield [_call("click_at", x=x, y=y)]


def _free(element: Element, seen: Sequence[Element]) -> tuple[int, int]:
    """A corner of an element, a little inside, that no other element reaches."""
    others = [other["place"] for other in seen if other["ref"] != element["ref"]]
    x, y, width, height = element["place"]
    corners = [(x + i * (width // 2 - 4), y + j * (height // 2 - 4)) for i in (-1, 1) for j in (-1, 1)]
    return next((a, b) for a, b in corners if not any(_within(a, b, place) for place in others))


def _within(x: int, y: int, place: Sequence[int]) -> bool:
    return abs(x - place[0]) <= place[2] / 2 and abs(y - place[1]) <= place[3] / 2


def _field_and_submit(goal: str, look: Look) -> Iterator[list[WireCall]]:
    field = _fields(look())[0]
    yield [_call("type", ref=field["ref"], text=_quote(goal)[0])]
    yield _submit(look())


def _change_case(goal: str, look: Look) -> Iterator[list[WireCall]]:
    text = _quote(goal)[0]
    cased = text.upper() if "upper case" in goal else text.lower()
    yield [_call("type", ref=_fields(look())[0]["ref"], text=cased)]
    yield _submit(look())


def _every_field(goal: str, look: Look) -> Iterator[list[WireCall]]:
    """As many quoted texts as fields, in order; one that is asked for twice is quoted once."""
    fields, texts = _fields(look()), _quote(goal)
    for index, field in enumerate(fields):
        yield [_call("type", ref=field["ref"], text=texts[min(index, len(texts) - 1)])]
    yield _submit(look())


def _list(goal: str, look: Look) -> Iterator[list[WireCall]]:
    wanted = re.sub(r"^Select (.*) from the list.*$", r"\1", goal)
    listed = _one(look(), lambda e: e["options"] is not None)
    yield [_call("select", ref=listed["ref"], options=[wanted])]
    yield _submit(look())


def _list_wanted(goal: str) -> list[str]:
    named = re.sub(r"^Select (.*?)( and click Submit.*)?$", r"\1", goal)
    return [] if named.startswith("nothing") else [part.strip() for part in named.split(",")]


def _boxes(goal: str, look: Look) -> Iterator[list[WireCall]]:
    seen = look()
    for wanted in _list_wanted(goal):
        label = next(index for index, element in enumerate(seen) if element["text"] == wanted)
        yield _click(seen[label + 1])  # a label holds its box
    yield _submit(look())


def _focus(goal: str, look: Look) -> Iterator[list[WireCall]]:
    place = re.search(r"(\d)(?:st|nd|rd|th)", goal)
    yield _click(_fields(look())[int(place.group(1)) - 1 if place else 0])


def _close(goal: str, look: Look) -> Iterator[list[WireCall]]:
    wanted = (_quote(goal) or ["x"])[0]
    closing = ["close", ""] if wanted == "x" else [wanted.lower()]
    yield _click(_one(look(), lambda e: _is_button(e) and e["text"].lower() in closing))


def _date(goal: str, look: Look) -> Iterator[list[WireCall]]:
    month, day, year = re.findall(r"(\d+)/(\d+)/(\d+)", goal)[0]
    yield [_call("type", ref=_fields(look())[0]["ref"], text=f"{year}-{month}-{day}")]
    yield _submit(look())


def _time(goal: str, look: Look) -> Iterator[list[WireCall]]:
    hour, minute, half = re.findall(r"(\d+):(\d+) ?([AP])M", goal)[0]
    hours = int(hour) % 12 + (12 if half == "P" else 0)
    yield [_call("type", ref=_fields(look())[0]["ref"], text=f"{hours:02}:{minute}")]
    yield _submit(look())


def _copy_text(goal: str, look: Look) -> Iterator[list[WireCall]]:
    del goal
    fields = _fields(look())
    source, target = _one(fields, lambda e: e["tag"] == "textarea"), _one(fields, lambda e: e["tag"] == "input")
    yield [_call("click", ref=source["ref"]), _call("press", key="Control+a"), _call("press", key="Control+c")]
    yield [_call("click", ref=target["ref"]), _call("press", key="Control+v")]
    yield _submit(look())


def _sum(goal: str, look: Look) -> Iterator[list[WireCall]]:
    del goal
    shown = " ".join(element["text"] for element in look())
    left, sign, right = re.findall(r"(\d+) ?([-+x*]) ?(\d+)", shown)[0]
    values = {"+": int(left) + int(right), "-": int(left) - int(right)}
    yield [_call("type", ref=_fields(look())[0]["ref"], text=str(values.get(sign, int(left) * int(right))))]
    yield _submit(look())


SOLVERS: Mapping[str, Solver] = {
    "click-button": _named_button,
    "click-button-sequence": _in_turn,
    "click-checkboxes": _boxes,
    "click-checkboxes-large": _boxes,
    "click-checkboxes-transfer": _boxes,
    "click-dialog": _close,
    "click-dialog-2": _close,
    "click-link": _click_named,
    "click-option": _boxes,
    "click-test": _only_button,
    "click-test-2": _in_turn,
    "choose-list": _list,
    "copy-paste": _copy_text,
    "enter-date": _date,
    "enter-password": _every_field,
    "enter-text": _field_and_submit,
    "enter-text-2": _change_case,
    "enter-text-dynamic": _field_and_submit,
    "enter-time": _time,
    "focus-text": _focus,
    "focus-text-2": _focus,
    "login-user": _every_field,
    "simple-arithmetic": _sum,
}
