"""Collects an interpreter, its standard library and the shared libraries of both in a folder: `collect.py TARGET`.

Modules that need more of the system than C's library, zlib, libffi, expat, bzip2 and lzma are left out (`ssl`,
`sqlite3`, `curses`, ...), and so are the parts of the library that no program of an agent has a use for.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

INTERPRETER = "lib/interpreter"
EXECUTE_ONLY = 0o111
"""A program can run under it, and read nothing of it."""
WANTED = re.compile(r"lib(c|m|z|ffi|expat|bz2|lzma|dl|pthread|util|rt)\.so|ld-linux")
LEFT_OUT = ("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "site-packages", "dist-packages")


def shared_libraries(path: Path) -> list[str]:
    """The files that the loader reads for a program or a module."""
    command = ["ldd", str(path)]  # a program of the base image
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603
    return re.findall(r"(/\S+) \(0x", listed)


def main(target: Path) -> None:
    """Fill the folder."""
    interpreter = Path(sys.executable).resolve()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = target / "lib" / version
    shutil.copytree(sysconfig.get_path("stdlib"), library, ignore=shutil.ignore_patterns(*LEFT_OUT, "config-*"))
    (target / "lib/python").symlink_to(version)
    needed = set(shared_libraries(interpreter))
    for module in sorted((library / "lib-dynload").iterdir()):
        libraries = shared_libraries(module)
        if all(WANTED.search(Path(path).name) for path in libraries):
            needed.update(libraries)
        else:
            module.unlink()
    for path in sorted(needed):
        copy = target / path.removeprefix("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(path).resolve(), copy)
    shutil.copy(interpreter, target / INTERPRETER)
    (target / INTERPRETER).chmod(EXECUTE_ONLY)
    (target / "channel").mkdir()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
