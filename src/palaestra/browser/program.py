"""Where Chromium is."""

import os
from shutil import which

VARIABLE = "PALAESTRA_CHROMIUM"
"""The environment variable that names its program."""
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
"""What it is called on the search path."""


def find_program() -> str | None:
    """The path of Chromium; `None` where there is none."""
    return os.environ.get(VARIABLE) or next(filter(None, map(which, PROGRAMS)), None)
