"""Optional packages: a command that needs one says in one line what to install."""

import re
from importlib.metadata import PackageNotFoundError, requires

from palaestra.errors import UnknownNameError

_REQUIREMENT = re.compile(r"""(?P<name>[\w.-]+).*extra\s*==\s*["'](?P<extra>\w+)["']""")
_NOT_FOR_USERS = "test"


def extras() -> dict[str, str]:
    """By optional package: the first extra that installs it."""
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
    """The error that says what to install for a missing module; `None` if no extra installs it."""
    package = (error.name or "").partition(".")[0]
    extra = extras().get(package.lower())
    if extra is None:
        return None
    first = ", after `pip install torch` of the build for your machine" if extra == "train" else ""
    return UnknownNameError(f"{package} is not installed; this needs `pip install 'palaestra[{extra}]'`{first}")
