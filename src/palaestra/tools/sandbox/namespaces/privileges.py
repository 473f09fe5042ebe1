"""The rights that a process drops before it runs a program: capabilities, its user, and resources beyond its limits."""

import os
import resource

from palaestra.tools.sandbox.namespaces.libc import (
    PR_CAPBSET_DROP,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    SetupError,
    capset_none,
    prctl,
)

INNER_ID = 1000
"""The user and the group of the program, as seen from inside."""
_MIB = 2**20
_STACK = 8 * _MIB
_KILL_SIGNAL = 9


def limit_resources(*, cpu_s: int, memory_mib: int, open_files: int) -> None:
    """Set the limits that the kernel enforces on this process."""
    hard = {
        resource.RLIMIT_CPU: cpu_s,
        resource.RLIMIT_AS: memory_mib * _MIB,
        resource.RLIMIT_STACK: _STACK,
        resource.RLIMIT_NOFILE: open_files,
        resource.RLIMIT_NPROC: 1,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for kind, value in hard.items():
        ceiling = resource.getrlimit(kind)[1]
        allowed = value if ceiling == resource.RLIM_INFINITY else min(value, ceiling)
        resource.setrlimit(kind, (allowed, allowed))


def drop_privileges() -> None:
    """Become a user without capabilities, permanently.

    Raises:
        SetupError: a right remains.
    """
    number = 0
    try:
        while True:
            prctl(PR_CAPBSET_DROP, number, "capability bounding set")
            number += 1
    except SetupError:
        if number == 0:
            raise
    if os.geteuid() != INNER_ID:
        os.setgroups([])
        os.setresgid(INNER_ID, INNER_ID, INNER_ID)
        os.setresuid(INNER_ID, INNER_ID, INNER_ID)
    capset_none()
    prctl(PR_SET_NO_NEW_PRIVS, 1, "no_new_privs")
    prctl(PR_SET_DUMPABLE, 0, "dumpable")
    prctl(PR_SET_PDEATHSIG, _KILL_SIGNAL, "the signal at the parent's death")  # a change of user clears it
    if (os.getresuid(), os.getresgid()) != ((INNER_ID,) * 3, (INNER_ID,) * 3):
        raise SetupError(f"the program would run as user {os.getresuid()}, group {os.getresgid()}")
