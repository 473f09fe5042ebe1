"""The style of the tools of a generated world: some options occur in held-out worlds alone."""

from collections.abc import Mapping
from typing import Any

from palaestra.envs.blueprints.tool_style import ToolStyle, style_options
from palaestra.seeding import Stream

HELDOUT_OPTIONS: Mapping[str, frozenset[str]] = {
    "case": frozenset({"pascal"}),
    "verbs": frozenset({"retrieve"}),
    "prefix": frozenset({"svc"}),
    "arguments": frozenset({"ref"}),
    "ids": frozenset({"underscore"}),
    "dates": frozenset({"slashes"}),
    "amounts": frozenset({"currency"}),
    "descriptions": frozenset({"terse"}),
}
"""By part of a style: the options that no training or development world has."""
NEW_OPTIONS = (3, 5)
"""The fewest and the most held-out options of a held-out style."""


def draw_style(stream: Stream, *, heldout: bool) -> ToolStyle:
    """A style.

    Args:
        stream: Decides.
        heldout: Whether some of its options are held out.
    """
    new = set(stream.split("new").sample(sorted(HELDOUT_OPTIONS), stream.split("count").between(*NEW_OPTIONS)))
    # Any: each part has a type of its own, and its options come from that type.
    drawn: dict[str, Any] = {}
    for part, options in style_options().items():
        held = HELDOUT_OPTIONS.get(part, frozenset[str]())
        wanted = held if heldout and part in new else set(options) - held
        drawn[part] = stream.split(part).choice([option for option in options if option in wanted])
    return ToolStyle(**drawn)


def has_heldout_option(style: ToolStyle) -> bool:
    """Whether some option of a style is held out."""
    return any(getattr(style, part) in held for part, held in HELDOUT_OPTIONS.items())
