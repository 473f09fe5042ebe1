"""The file system of a program: the standard library on an empty root, read-only.

An empty folder covers the packages installed beside the standard library.
"""

import os
import sys

from palaestra.tools.sandbox.namespaces.libc import detach, load_library, mount, pivot_root

_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_PROGRAMS = 1, 2, 4, 8
_REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 32, 4096, 16384, 1 << 18
# A mount with fewer rights must keep the restrictions of its origin: bits of statvfs, and the corresponding flags.
_KEPT = ((8, _NO_PROGRAMS), (1024, 1024), (2048, 2048), (4096, 1 << 21))
_STAGE = "/proc"
"""The folder in which the new root is built: every system has it, and the program must not see it."""
_ZLIB = "libz.so.1"
"""A library outside the standard library's folder that `base64`, `secrets` and other modules need."""
_PACKAGES = ("site-packages", "dist-packages")


def library_folders() -> list[str]:
    """The folders of the standard library, as a fresh interpreter searches them; none is inside another."""
    found = [os.path.realpath(path) for path in sys.path if os.path.isdir(path)]
    return [path for path in found if not any(path.startswith(f"{other}/") for other in found)]


def make_view() -> None:
    """Build a new root, enter it, and detach the former one."""
    folders = library_folders()
    load_library(_ZLIB)
    mount("none", "/", None, _RECURSIVE | _PRIVATE)
    tight = _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS
    mount("tmpfs", _STAGE, "tmpfs", tight, "size=64k,nr_inodes=64,mode=0755")
    os.mkdir(f"{_STAGE}/lib")
    places = [f"{_STAGE}/lib/python{number or ''}" for number in range(len(folders))]
    for folder, place in zip(folders, places, strict=True):
        os.mkdir(place)
        _bind(folder, place)
    mount("tmpfs", _STAGE, None, _REMOUNT | _READ_ONLY | tight)
    os.chdir(_STAGE)
    pivot_root(".", ".")
    detach(".")
    os.chdir("/")
    point_to([place.removeprefix(_STAGE) for place in places])


def _bind(folder: str, place: str) -> None:
    mount(folder, place, None, _BIND)
    held = os.statvfs(place).f_flag
    kept = sum(flag for bit, flag in _KEPT if held & bit)
    mount("none", place, None, _BIND | _REMOUNT | _READ_ONLY | _NO_SETUID | _NO_DEVICES | kept)
    for name in _PACKAGES:
        if os.path.isdir(f"{place}/{name}"):
            mount("tmpfs", f"{place}/{name}", "tmpfs", 15, "size=4k,nr_inodes=1,mode=0555")


def point_to(places: list[str]) -> None:
    """Make the interpreter find its library in the new root, and clear its former paths."""
    inner = [f"{place}/lib-dynload" for place in places if os.path.isdir(f"{place}/lib-dynload")]
    sys.path[:] = [*places, *inner]
    sys.path_importer_cache.clear()
    sys.prefix = sys.base_prefix = sys.exec_prefix = sys.base_exec_prefix = "/"
    sys.executable = ""
    sys.argv[:], sys.orig_argv[:] = [""], []
