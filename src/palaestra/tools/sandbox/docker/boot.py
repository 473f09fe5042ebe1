"""What a container runs: it takes the guard's source from Palaestra, so that an image holds an interpreter alone.

Its text is the interpreter's `-c`. A folder of Palaestra's is made known by its name; what stands above is not run.
"""

import marshal
import os
import sys
from types import ModuleType


def read_exactly(descriptor: int, size: int) -> bytes:
    """So many bytes of a pipe; the process ends where there are none to come."""
    data = bytearray()
    while len(data) < size:
        part = os.read(descriptor, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return bytes(data)


def make_module(name: str, source: str | None) -> ModuleType:
    """A module of a source; a folder where there is none."""
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
