"""The first process of a container: it starts the program, ends it with Palaestra, and reports how it ended.

It writes one line to the pipe `status` when the program is isolated, `ready`, and one when it has ended: `end STATUS
MICROSECONDS`; or `missing WHAT` if the program could not be isolated. The program is its only child.
"""

import fcntl
import os
import select

from palaestra.tools.sandbox.guest import runner
from palaestra.tools.sandbox.namespaces import libc, privileges, seccomp, view

_FOLDER = "/channel"
_REQUESTS, _ANSWERS, STATUS = 3, 4, 5
_FREE = 32
"""The first unused descriptor."""
REFUSED = ("tgkill",)
"""Refused in addition: the program is not process 1 here, so its own signals could end it."""


def main(life: int, limits: dict[str, int]) -> None:
    """Start the program, guard it, and report how it ended.

    Args:
        life: The pipe that ends when Palaestra ends the program, or has ended itself.
        limits: The arguments of `limit_resources`.
    """
    status = os.open(f"{_FOLDER}/status", os.O_WRONLY)
    requests, output = (os.open(f"{_FOLDER}/{name}", os.O_WRONLY) for name in ("requests", "output"))
    answers = os.open(f"{_FOLDER}/answers", os.O_RDONLY)
    libc.prctl(libc.PR_SET_DUMPABLE, 0, "dumpable")
    program = os.fork()
    if program == 0:
        _arrange(requests, answers, output, status)
        try:
            _enter(limits)
        except BaseException as error:  # it must not continue as a second guard
            _say(f"missing {error}", STATUS)
        os._exit(1)
    for descriptor in (requests, answers, output):
        os.close(descriptor)
    ended, poll = os.pidfd_open(program), select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(life, select.POLLHUP)
    poll.poll()
    os.kill(program, 9)  # an ended process remains until it is waited for
    _, state, usage = os.wait4(program, 0)
    _say(f"end {state} {int((usage.ru_utime + usage.ru_stime) * 1e6)}", status)
    os._exit(0)


def _arrange(requests: int, answers: int, output: int, status: int) -> None:
    """Put the descriptors in the places that the program expects, and close all others."""
    nothing, unused = os.pipe()
    sources = (nothing, output, output, requests, answers, status)
    spare = [fcntl.fcntl(source, fcntl.F_DUPFD, _FREE) for source in sources]
    for target, source in enumerate(spare):
        os.dup2(source, target)
    os.closerange(STATUS + 1, max(unused, *spare) + _FREE)


def _enter(limits: dict[str, int]) -> None:
    """Isolate this process and run the program from the channel. It does not return."""
    libc.prctl(libc.PR_SET_PDEATHSIG, 9, "the signal at the guard's death")
    if os.geteuid() == 0 or os.getegid() == 0:
        raise libc.SetupError("a user without rights: the container runs as root")
    with open("/proc/self/status", encoding="ascii") as lines:
        rights = {line.split()[0]: line.split()[1] for line in lines if line.startswith(("Cap", "NoNewPrivs"))}
    if rights.pop("NoNewPrivs:") != "1" or any(int(value, 16) for value in rights.values()):
        raise libc.SetupError(f"a container without capabilities ({rights})")
    view.point_to(["/lib/python"])
    os.environ.clear()
    privileges.limit_resources(**limits)
    libc.prctl(libc.PR_SET_DUMPABLE, 0, "dumpable")
    seccomp.install_filter(refused=REFUSED)
    _say("ready", STATUS)
    os.close(STATUS)
    runner.run(_REQUESTS, _ANSWERS)


def _say(line: str, descriptor: int) -> None:
    os.write(descriptor, line.replace("\n", " ").strip().encode() + b"\n")
