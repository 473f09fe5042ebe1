"""System calls that Python 3.11 has no functions for."""

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38

_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_libc = ctypes.CDLL(None, use_errno=True)


class SetupError(Exception):
    """A feature that the sandbox needs is missing; the message names it."""


def load_library(name: str) -> None:
    """Load a shared library, if it exists, so that modules that need it can be imported without its file."""
    try:
        ctypes.CDLL(name)
    except OSError:  # the modules contain it themselves, or do not exist
        return


def machine() -> str:
    """The processor's architecture.

    Raises:
        SetupError: the sandbox does not support it.
    """
    name = os.uname().machine
    if name not in _PIVOT_ROOT:
        raise SetupError(f"the architecture {name} has no list of system calls here; x86_64 and aarch64 have one")
    return name


def require(result: int, what: str) -> int:
    """Check the result of a system call and return it.

    Raises:
        SetupError: the call failed.
    """
    if result < 0:
        raise SetupError(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def unshare(flags: int, what: str) -> None:
    """Enter new namespaces."""
    require(_libc.unshare(flags), what)


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system, or change a mount."""
    found = _libc.mount(
        source.encode(),
        target.encode(),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        options.encode(),
    )
    require(found, f"mount of {kind or source} at {target}")


def detach(target: str) -> None:
    """Detach a mount, and all below it."""
    require(_libc.umount2(target.encode(), 2), f"umount of {target}")


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root of the file system, and move the former root to `old`."""
    require(_libc.syscall(ctypes.c_long(_PIVOT_ROOT[machine()]), new.encode(), old.encode()), "pivot_root")


def set_host_name(name: str) -> None:
    """Set the host name of the new namespace."""
    require(_libc.sethostname(name.encode(), ctypes.c_size_t(len(name))), "sethostname")


def prctl(option: int, first: int, what: str, second: int = 0) -> None:
    """Change an attribute of this process."""
    zero = ctypes.c_ulong(0)
    found = _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(first), ctypes.c_ulong(second), zero, zero)
    require(found, what)


def capset_none() -> None:
    """Drop every capability."""

    class Header(ctypes.Structure):
        _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))

    header, none = Header(0x20080522, 0), (ctypes.c_uint32 * 6)()
    require(_libc.capset(ctypes.byref(header), none), "capset")
