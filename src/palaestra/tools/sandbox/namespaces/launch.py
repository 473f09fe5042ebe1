"""Starts one program in new namespaces, and ends with it: `python -P -s -S launch.py SOURCE CONFIG`.

The started process stays outside as a guard: it ends the program, and with it its whole process namespace, as soon as
its standard input closes, also by the death of its parent. When the program has ended, it writes one line to standard
output: `end STATUS MICROSECONDS`, or `missing WHAT` if the sandbox could not be made. It needs no installation of
Palaestra; packages above these files are registered by their folders only.
"""

import marshal
import os
import select
import sys
from types import ModuleType

_PACKAGE = "palaestra.tools.sandbox"


def _make_known(source: str) -> None:
    """Make the files of the sandbox importable by their full names without running the packages above them."""
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
    """Start the program, guard it, and report how it ended."""
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
        except BaseException as error:  # it must not continue as a second guard
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
    os.kill(program, 9)  # an ended process remains until it is waited for
    _, status, usage = os.wait4(program, 0)
    _say(f"end {status} {int((usage.ru_utime + usage.ru_stime) * 1e6)}")


def _say(line: str, descriptor: int = 1) -> None:
    os.write(descriptor, f"{line}\n".replace("\n", " ").strip().encode() + b"\n")


if __name__ == "__main__":
    main()
