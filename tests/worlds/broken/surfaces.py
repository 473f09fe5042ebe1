"""Worlds of which a tool says that it reads what it does not."""

from dataclasses import replace

from palaestra.envs.surfaces import generic_surface
from palaestra.envs.world import World
from palaestra.tools import Reads, Toolbox
from worlds.library import LIBRARY, SCHEMA


def _reading(name: str, reads: Reads) -> World:
    """The library, of which one tool reads what `reads` says."""
    tools = [replace(tool, reads=reads) if tool.name == name else tool for tool in LIBRARY.toolbox]
    surface = generic_surface(SCHEMA, Toolbox(tools, prose_tool="reply"), role=LIBRARY.role)
    return replace(LIBRARY, surfaces={"generic": surface})


SHOWS_LESS = _reading("get_loan", Reads(table="loans", by={"loan_id": "member_id"}))
SHOWS_MORE = _reading("get_member", Reads(table="members", by={"member_id": "id >="}))
