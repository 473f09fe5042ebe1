"""Starts one program in namespaces of its own, and ends with it: `python -P -s -S launch.py SOURCE CONFIG`.

The process that is started here stays outside, as a guard: it ends the program, and with it its whole process
namespace, as soon as its standard input is closed, which the death of its parent does too. It writes one line to
standard output when the program has ended: `end STATUS MICROSECONDS`, or `missing WHAT` where the sandbox could not be
made. It needs nothing of Palaestra's installed; packages above these files are made known by their folders alone.
"""

import marshal
import os
import select
import sys
from types import ModuleType

_PACKAGE = "palaestra.tools.sandbox"


def _make_known(source: str) -> None:
    """Let the files of the sandbox be imported by their full names without running what stands above them."""
    folder, name = source, ""
    for part in (*_PACKAGE.split("."), ""):
        if name and name not in sys.modules:
            package = ModuleType(name)
            package.__path__ = [folder]
            sys.modules[name] = package
        folder, name = f"{folder}/{part}", f"{name}.{part}" if name else part
    for last in ("guest", "namespaces"):
        package = ModuleType(f"{_PACKAGE}.{last}")
        package.__path__ = [f"{source}/{_PACKAGE.replace('.', '/')}/{last}"]
        sys.modules[package.__name__] = package


def main() -> None:
    """Start the program, guard it, and say how it ended."""
    config = marshal.loads(bytes.fromhex(sys.argv[2]))  # noqa: S302  from the process that started this one
    _make_known(sys.argv[1])
    from palaestra.tools.sandbox.namespaces.inside import STATUS, arrange, enter  # noqa: PLC0415
    from palaestra.tools.sandbox.namespaces.libc import SetupError, machine  # noqa: PLC0415
    from palaestra.tools.sandbox.namespaces.users import own_user_namespace  # noqa: PLC0415

    try:
        machine()
        own_user_namespace()
    except (SetupError, OSError) as error:
        _say(f"missing {error}")
        return
    program = os.fork()
    if program == 0:
        arrange(*config["descriptors"])
        try:
            enter(config["limits"])
        except BaseException as error:  # it must not go on as a second guard
            _say(f"missing {error}", STATUS)
        os._exit(1)
    for number in config["descriptors"]:
        os.close(number)
    _guard(program)


def _guard(program: int) -> None:
    ended, poll = os.pidfd_open(program), select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(0, select.POLLIN | select.POLLHUP)
    poll.poll()
    os.kill(program, 9)  # one that has ended stays until it is waited for
    _, status, usage = os.wait4(program, 0)
    _say(f"end {status} {int((usage.ru_utime + usage.ru_stime) * 1e6)}")


def _say(line: str, descriptor: int = 1) -> None:
    os.write(descriptor, f"{line}\n".replace("\n", " ").strip().encode() + b"\n")


if __name__ == "__main__":
    main()
