"""Dialects of pages: one tree of elements, drawn and acted on in the ways that agents of other projects know.

A dialect changes what an agent reads and writes, and nothing else: rows, forms, events of actions and evidence are
those of the plain one.
"""

from palaestra.envs.surfaces.pages.dialects.browser import DialectBrowser
from palaestra.envs.surfaces.pages.dialects.browser_use import BrowserUseDialect
from palaestra.envs.surfaces.pages.dialects.browsergym import BrowserGymDialect
from palaestra.envs.surfaces.pages.dialects.compact import CompactDialect
from palaestra.envs.surfaces.pages.dialects.computer import ComputerDialect
from palaestra.envs.surfaces.pages.dialects.dialect import Dialect
from palaestra.envs.surfaces.pages.dialects.html import HtmlDialect
from palaestra.envs.surfaces.pages.dialects.plain import PlainDialect
from palaestra.envs.surfaces.pages.dialects.playwright import PlaywrightDialect
from palaestra.envs.surfaces.pages.dialects.tokens import count_tokens

_ALL: tuple[Dialect, ...] = (
    PlainDialect(), CompactDialect(), BrowserGymDialect(), PlaywrightDialect(), BrowserUseDialect(), HtmlDialect(),
    ComputerDialect(),
)  # fmt: skip
DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in _ALL}
"""By name."""

__all__ = ["DIALECTS", "Dialect", "DialectBrowser", "count_tokens"]
