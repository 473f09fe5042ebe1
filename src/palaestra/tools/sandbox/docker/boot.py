"""The program of a container: it reads the guard's source from Palaestra, so that an image holds only an interpreter.

Its text is the interpreter's `-c`. Palaestra's packages are registered by name; their own code is not run.
"""

import marshal
import os
import sys
from types import ModuleType


def read_exactly(descriptor: int, size: int) -> bytes:
    """Exactly `size` bytes of a pipe; the process ends if the pipe ends first."""
    data = bytearray()
    while len(data) < size:
        part = os.read(descriptor, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return bytes(data)


def make_module(name: str, source: str | None) -> ModuleType:
    """A module with this source, or a package without one."""
    module = ModuleType(name)
    if source is None:
        module.__path__ = []
    sys.modules[name] = module
    if source is not None:
        exec(compile(source, f"<{name}>", "exec"), module.__dict__)  # noqa: S102  our own source
    return module


if __name__ == "__main__":
    life = os.open("/channel/life", os.O_RDONLY)
    job = marshal.loads(read_exactly(life, int.from_bytes(read_exactly(life, 4), "big")))  # noqa: S302  from Palaestra
    last = ModuleType("")
    for name, source in job["sources"]:
        last = make_module(name, source)
    last.__dict__["main"](life, job["limits"])
