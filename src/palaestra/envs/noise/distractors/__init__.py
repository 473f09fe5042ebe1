"""Tools of other departments: real, pure functions over no row of any world, which cannot help or harm."""

from functools import cache
from importlib import import_module

from palaestra.tools import Tool

DEPARTMENTS = ("events", "facilities", "fleet", "itdesk", "marketing", "people", "training", "travel")
"""The modules of this folder that hold tools."""


@cache
def departments() -> tuple[Tool, ...]:
    """The tools of all departments. Their schemas are built when they are first asked for: few worlds need them."""
    modules = (import_module(f"{__name__}.{name}") for name in DEPARTMENTS)
    return tuple(tool for module in modules for tool in module.TOOLS)
