"""What the core does without: a verb that needs more says in one line what to install."""

import re
from importlib.metadata import PackageNotFoundError, requires

from palaestra.errors import UnknownNameError

_REQUIREMENT = re.compile(r"""(?P<name>[\w.-]+).*extra\s*==\s*["'](?P<extra>\w+)["']""")
_NOT_FOR_USERS = "test"


def extras() -> dict[str, str]:
    """By package that the core does without: the first extra that brings it."""
    try:
        lines = requires("palaestra") or []
    except PackageNotFoundError:  # run from a checkout that is not installed
        lines = []
    found: dict[str, str] = {}
    for match in filter(None, map(_REQUIREMENT.match, lines)):
        if match["extra"] != _NOT_FOR_USERS:
            found.setdefault(match["name"].lower(), match["extra"])
    return found


def missing_extra(error: ModuleNotFoundError) -> UnknownNameError | None:
    """What to install for a module that is missing; `None` where no extra brings it."""
    package = (error.name or "").partition(".")[0]
    extra = extras().get(package.lower())
    if extra is None:
        return None
    first = ", after `pip install torch` of the build for your machine" if extra == "train" else ""
    return UnknownNameError(f"{package} is not installed; this needs `pip install 'palaestra[{extra}]'`{first}")
