"""Parts of what calls mean that several dialects share: handles of elements, the Enter key, one option of a list."""

from palaestra.envs.surfaces.pages.dialects.dialect import Screen
from palaestra.envs.surfaces.pages.tree import FIELDS
from palaestra.errors import ToolRefusal, UnknownNameError
from palaestra.records import Json, ToolCall


def make_call(tool: str, **arguments: Json) -> ToolCall:
    """A call of a tool with these arguments."""
    return ToolCall(tool=tool, arguments=arguments)


def resolve_handle(given: str, screen: Screen, prefix: str) -> str:
    """The id of the element that a handle such as "e12" names; the site's own id of an element names it too.

    Raises:
        ToolRefusal: no element had that number, or the page in front does not have the element any more.
    """
    number = given.removeprefix(prefix)
    if not number.isdecimal() or (prefix and not given.startswith(prefix)):
        return given
    handles = screen.session.handles
    if not 1 <= int(number) <= len(handles):
        last = f"{prefix}{len(handles)}"
        raise ToolRefusal("unknown_ref", f"{given!r:.40} names no element; numbers go from {prefix}1 to {last}")
    element = handles[int(number) - 1]
    if screen.find(element) is None:
        here = [f"{prefix}{n}" for e in screen.page.walk() if e.id and (n := screen.session.number(e.id)) is not None]
        near = ", ".join(here[:5]) or "none"
        raise ToolRefusal(
            "stale_ref", f"{given!r:.40} is {element!r}, which this page does not have; it has {near} and others"
        )
    return element


def press_enter(screen: Screen) -> ToolCall:
    """What the Enter key means: it sends the form of the field with the focus.

    Raises:
        ToolRefusal: no field has the focus.
    """
    focus = screen.session.focus
    element = screen.find(focus) if focus else None
    if element is None or element.role not in FIELDS:
        raise ToolRefusal("no_focus", "Enter goes to the field that has the focus, and none has; type in a field first")
    return make_call("press", element=focus, key="Enter")


def one_option(options: str | list[str]) -> str:
    """The one option that is chosen.

    Raises:
        ToolRefusal: there are more, or none.
    """
    if isinstance(options, str):
        return options
    if len(options) != 1:
        raise ToolRefusal("one_option", f"these comboboxes take one option, not {len(options)}; give one")
    return options[0]


def unknown_key(key: str, known: tuple[str, ...]) -> ToolRefusal:
    """The refusal of a key that means nothing here."""
    return ToolRefusal("unknown_key", str(UnknownNameError.of("key", key[:40], known)))
