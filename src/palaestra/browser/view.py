"""A page as text: numbered elements, or the browser's accessibility tree with the same numbers."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from palaestra.browser.driver import Window

KINDS = ("elements", "accessibility")
_LONG = 400
"""Maximum characters shown of one text."""
_SILENT = ("none", "generic", "InlineTextBox", "LineBreak", "RootWebArea", "presentation", "ListMarker")
_STATES = ("checked", "selected", "expanded", "disabled", "focused", "pressed", "valuetext")


class Element(TypedDict):
    """One element, as returned by `page.js`."""

    ref: int
    tag: str
    kind: str
    """The type of an input."""
    text: str
    name: str
    value: str | None
    options: list[tuple[str, bool]] | None
    """The options of a list: the text of each, and whether it is chosen."""
    look: Mapping[str, str]
    """Colour and geometry of an element without text."""
    state: list[str]
    place: tuple[int, int, int, int]
    """Its centre, width and height."""


def elements(window: Window, most: int = 500) -> list[Element]:
    """The visible elements, in the order of the document."""
    found: list[Element] = window.run("most => __palaestra.look(most).entries", most)
    return found


def describe_page(window: Window, kind: str, most: int = 500) -> str:
    """The page as text.

    Args:
        window: The page.
        kind: One of `KINDS`.
        most: Maximum elements.
    """
    if kind == "accessibility":
        return _tree(window, most)
    seen = window.run("most => __palaestra.look(most)", most)
    lines = [_line(element) for element in seen["entries"]]
    if seen["more"]:
        lines.append(f"({seen['more']} more)")
    return "\n".join(lines) or "(an empty page)"


def _line(element: Element) -> str:
    tag = f"{element['tag']} {element['kind']}" if element["kind"] else element["tag"]
    words = [f"[{element['ref']}] {tag}"]
    if element["text"]:
        words.append(_quote(element["text"]))
    if element["name"]:
        words.append(f"({element['name'][:_LONG]})")
    if element["value"] is not None:
        words.append(f"value={_quote(element['value'])}")
    if element["options"] is not None:
        words.append("options: " + ", ".join(("*" if chosen else "") + _quote(o) for o, chosen in element["options"]))
    words += [f"{name}={value[:_LONG]}" for name, value in element["look"].items()]
    words += element["state"]
    x, y, width, height = element["place"]
    return " ".join(words) + f" at {x},{y} size {width}x{height}"


def _quote(text: str) -> str:
    shown = text if len(text) <= _LONG else text[:_LONG] + "..."
    return '"' + shown.replace("\n", "\\n") + '"'


def _tree(window: Window, most: int) -> str:
    nodes = {node["nodeId"]: node for node in window.accessibility_nodes()}
    roots = [node for node in nodes.values() if node.get("parentId") not in nodes]
    lines: list[str] = []
    # Deep pages exceed Python's stack, so the stack is kept here: node, depth, name above.
    ahead = [(root, 0, "") for root in reversed(roots)]
    while ahead and len(lines) < most:
        node, depth, above = ahead.pop()
        line = None if node.get("ignored") else _node(window, node, above)
        if line:
            lines.append("  " * depth + line)
        name = _value(node, "name") if line else above
        below = [nodes[child] for child in node.get("childIds", ()) if child in nodes]
        ahead += [(child, depth + bool(line), name) for child in reversed(below)]
    return "\n".join(lines) or "(an empty page)"


def _node(window: Window, node: Mapping[str, Any], above: str) -> str | None:
    role, name = _value(node, "role"), _value(node, "name").strip()
    if role in _SILENT or "backendDOMNodeId" not in node or (role == "StaticText" and (not name or name in above)):
        return None
    states: Sequence[str] = [
        f"{item['name']}={item['value'].get('value')}"
        for item in node.get("properties", ())
        if item["name"] in _STATES and item["value"].get("value") not in (False, "false", "")
    ]
    value = _value(node, "value")
    shown = [f"[{window.ref(node['backendDOMNodeId'])}] {'text' if role == 'StaticText' else role}"]
    shown += [_quote(name)] if name else []
    shown += [f"value={_quote(value)}"] if value else []
    return " ".join([*shown, *states])


def _value(node: Mapping[str, Any], field: str) -> str:
    return str(node.get(field, {}).get("value", ""))
