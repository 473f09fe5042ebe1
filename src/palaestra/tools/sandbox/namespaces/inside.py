"""The first process of the new namespaces: it isolates itself, then runs the program."""

import fcntl
import os

from palaestra.tools.sandbox.guest import runner
from palaestra.tools.sandbox.namespaces import libc, privileges, seccomp, view

_INPUT, _OUTPUT, _ERRORS, _REQUESTS, _ANSWERS, STATUS = range(6)
_FREE = 32
"""The first unused descriptor."""


def enter(limits: dict[str, int]) -> None:
    """Isolate this process and run the program from the channel. It does not return.

    Args:
        limits: The arguments of `limit_resources`.

    Raises:
        SetupError: a feature is missing.
        OSError: the system refused a step.
    """
    libc.prctl(libc.PR_SET_PDEATHSIG, 9, "the signal at the parent's death")
    libc.unshare(
        libc.CLONE_NEWNS | libc.CLONE_NEWNET | libc.CLONE_NEWIPC | libc.CLONE_NEWUTS,
        "mount, network, ipc and uts namespaces (unshare)",
    )
    libc.set_host_name("sandbox")
    view.make_view()
    os.environ.clear()
    privileges.limit_resources(**limits)
    privileges.drop_privileges()
    seccomp.install_filter()
    os.write(STATUS, b"ready\n")
    os.close(STATUS)
    runner.run(_REQUESTS, _ANSWERS)


def arrange(requests: int, answers: int, output: int) -> None:
    """Put the descriptors where the program expects them, and close all others. Standard output becomes `STATUS`."""
    empty = os.open("/dev/null", os.O_RDWR)
    sources = (empty, output, output, requests, answers, 1)
    spare = [fcntl.fcntl(source, fcntl.F_DUPFD, _FREE) for source in sources]
    for target, source in enumerate(spare):
        os.dup2(source, target)
    os.closerange(STATUS + 1, os.sysconf("SC_OPEN_MAX"))
