"""What the core does without: a verb that needs more says what to install."""

from collections.abc import Generator
from contextlib import contextmanager

from palaestra.errors import UnknownNameError

_MODULES = frozenset({"matplotlib", "safetensors", "tokenizers", "torch", "transformers"})


@contextmanager
def train_extra() -> Generator[None]:
    """Wraps the imports of a verb that trains; they are made when it is called, since they take seconds.

    Raises:
        UnknownNameError: a package of the extra `train` is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _MODULES:
            raise
        raise UnknownNameError(
            f"{error.name} is not installed, and learning needs it; `pip install 'palaestra[train]'`, "
            "after `pip install torch` of the build for your machine"
        ) from error


@contextmanager
def suites_extra() -> Generator[None]:
    """Wraps the imports of a verb that plays benchmarks from outside.

    Raises:
        UnknownNameError: a package of the extra `suites` is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "jsonschema":
            raise
        raise UnknownNameError(
            "jsonschema is not installed, and benchmarks from outside need it; `pip install 'palaestra[suites]'`"
        ) from error
