"""The location of Chromium."""

import os
from shutil import which

VARIABLE = "PALAESTRA_CHROMIUM"
"""The environment variable with its path."""
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
"""Its names on the search path."""


def find_program() -> str | None:
    """The path of Chromium; `None` if it is not installed."""
    return os.environ.get(VARIABLE) or next(filter(None, map(which, PROGRAMS)), None)
