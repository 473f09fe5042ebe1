"""The console that commands print to."""

import sys

from rich.console import Console

PIPED_WIDTH = 160
"""Columns of output to a file or a pipe, which have no window width."""


def output() -> Console:
    """Standard output: as wide as the terminal, or wide enough for every table if there is no terminal."""
    return Console(width=None if sys.stdout.isatty() else PIPED_WIDTH)
