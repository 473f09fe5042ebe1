"""Which sandbox a process uses: the environment variable `PALAESTRA_SANDBOX` names it."""

import os

SANDBOX_VARIABLE = "PALAESTRA_SANDBOX"


def sandbox_name(default: str = "namespaces") -> str:
    """The name that the environment variable gives, such as "docker".

    A name that nobody registered is an error where it is used.

    Args:
        default: The name where the variable is not set, or empty.
    """
    return os.environ.get(SANDBOX_VARIABLE) or default
