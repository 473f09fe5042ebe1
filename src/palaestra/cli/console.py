"""The console that commands print to."""

import sys

from rich.console import Console

PIPED_WIDTH = 160
"""Columns of output that goes to a file or a pipe, where nobody's window says."""


def output() -> Console:
    """Standard output: as wide as the terminal, or wide enough for every table where there is none."""
    return Console(width=None if sys.stdout.isatty() else PIPED_WIDTH)
