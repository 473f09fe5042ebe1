"""Copies files, and the shared libraries that they need, to the root of a new image: `collect.py TARGET PATH...`.

A folder is copied whole, a link with what it leads to. Only names of Debian's own loader are followed, so a module that
brings its libraries along keeps them where they are.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

LEFT_OUT = frozenset({"ensurepip", "idlelib", "lib2to3", "tests", "tkinter", "turtledemo"})
"""Folders that no program of the images reads."""
ELF = b"\x7fELF"
_AT_ONCE = 200
"""Files whose libraries one call of the loader lists."""


def find_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Files, links and empty folders at these paths and below them."""
    for path in paths:
        if path.is_symlink() or not path.is_dir():
            yield path
            continue
        inner = [one for one in sorted(path.iterdir()) if one.name not in LEFT_OUT]
        yield from find_files(inner)
        if not inner:
            yield path


def is_program(path: Path) -> bool:
    """Whether the loader reads it."""
    with path.open("rb") as file:
        return file.read(len(ELF)) == ELF


def find_libraries(programs: list[Path]) -> set[Path]:
    """The files that the loader reads for programs and modules."""
    found: set[Path] = set()
    for begin in range(0, len(programs), _AT_ONCE):
        command = ["ldd", *map(str, programs[begin : begin + _AT_ONCE])]  # a program of the base image
        listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603
        found.update(map(Path, re.findall(r"(/\S+) \(0x", listed)))
    return found


def copy(path: Path, target: Path) -> list[Path]:
    """Copy a file, a link or an empty folder; gives what has to be copied as well."""
    place = path.parent.resolve() / path.name
    new = target / place.relative_to("/")
    if new.is_symlink() or new.exists():
        return []
    new.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        new.symlink_to(path.readlink())
        return list(find_files([place.parent / path.readlink()]))
    if path.is_dir():
        new.mkdir()
    else:
        shutil.copy2(path, new)
    return []


def main(target: Path, paths: list[Path]) -> None:
    """Fill the folder."""
    target.mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):  # where these are links, the loader's own name is below one
        if (link := Path("/") / name).is_symlink():
            (target / name).symlink_to(link.readlink())
            (target / link.readlink()).mkdir(parents=True, exist_ok=True)
    waiting = list(find_files(paths))
    while waiting:
        regular = [path for path in waiting if path.is_file() and not path.is_symlink()]
        waiting += find_libraries([path for path in regular if is_program(path)])
        waiting = [more for path in waiting for more in copy(path, target)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), list(map(Path, sys.argv[2:])))
