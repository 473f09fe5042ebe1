"""A user namespace for the program: an ordinary user maps itself, root maps the program to a user without rights."""

import os

from palaestra.tools.sandbox.namespaces.libc import CLONE_NEWPID, CLONE_NEWUSER, SetupError, unshare
from palaestra.tools.sandbox.namespaces.privileges import INNER_ID

NOBODY = 65_534
"""The system user to whom root maps the program."""


def own_user_namespace() -> None:
    """Enter a new user namespace; the next child becomes the first process of a new process namespace.

    A child outside writes the maps, since only there root may map other users than itself.

    Raises:
        SetupError: user namespaces are not allowed.
    """
    user, group, outside = os.geteuid(), os.getegid(), os.getpid()
    many = user == 0 and all(_is_mapped(NOBODY, kind) for kind in ("uid", "gid"))
    begin, moved = os.pipe()
    mapper = os.fork()
    if mapper == 0:
        os.close(moved)
        code = 1
        try:
            if os.read(begin, 1):
                _write_maps(outside, user, group, many=many)
                code = 0
        except OSError as error:
            code = error.errno or 1
        finally:
            os._exit(code)
    try:
        unshare(CLONE_NEWUSER | CLONE_NEWPID, "user namespaces (unshare)")
        os.write(moved, b"1")
    finally:
        os.close(moved)
        os.close(begin)
        _, status = os.waitpid(mapper, 0)
    if status:
        raise SetupError(f"user namespaces (uid_map): {os.strerror(os.waitstatus_to_exitcode(status))}")


def _is_mapped(number: int, kind: str) -> bool:
    """Whether the current user namespace has this user or group."""
    with open(f"/proc/self/{kind}_map", encoding="ascii") as lines:
        ranges = [[int(field) for field in line.split()] for line in lines]
    return any(first <= number < first + count for first, _, count in ranges)


def _write_maps(process: int, user: int, group: int, *, many: bool) -> None:
    if not many:
        _write(process, "setgroups", "deny")
    for kind, number in (("uid", user), ("gid", group)):
        _write(process, f"{kind}_map", f"0 0 1\n{INNER_ID} {NOBODY} 1" if many else f"{INNER_ID} {number} 1")


def _write(process: int, name: str, text: str) -> None:
    file = os.open(f"/proc/{process}/{name}", os.O_WRONLY)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
