"""The sandbox of a process, named by the environment variable `PALAESTRA_SANDBOX`."""

import os

SANDBOX_VARIABLE = "PALAESTRA_SANDBOX"


def sandbox_name(default: str = "namespaces") -> str:
    """The name in the environment variable, such as "docker".

    An unregistered name is an error where it is used.

    Args:
        default: The name if the variable is not set, or empty.
    """
    return os.environ.get(SANDBOX_VARIABLE) or default
