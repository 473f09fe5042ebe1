"""The sandbox of namespaces: what the kernel says of its process, who may run it, and what it refuses to do without."""

import ctypes
import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from palaestra.errors import CapabilityError, InfrastructureError
from palaestra.tools.sandbox import Guest, NamespaceSandbox, Program, run_program
from palaestra.tools.sandbox.namespaces import libc
from palaestra.tools.sandbox.namespaces.libc import SetupError
from palaestra.tools.sandbox.namespaces.seccomp import (
    ALLOW,
    ALLOWED,
    AUDIT,
    FCNTL,
    FCNTL_COMMANDS,
    KILL,
    REFUSE,
    build_filter,
)
from sandboxes.filters import judge

NOBODY = 65_534
PATIENCE_MS = 20_000


def guard_of(guest: Guest) -> int:
    process: object = vars(guest)["_process"]
    assert isinstance(process, subprocess.Popen)
    return int(process.pid)


def program_of(guard: int) -> int:
    """The process of the program, as the host numbers it."""
    (child,) = Path(f"/proc/{guard}/task/{guard}/children").read_text().split()
    return int(child)


def wait_for_end(process: int) -> None:
    poll = select.poll()
    try:
        poll.register(os.pidfd_open(process), select.POLLIN)
    except ProcessLookupError:  # it has ended already
        return
    assert poll.poll(PATIENCE_MS), f"process {process} is still there"


@pytest.fixture
def guest() -> Iterator[Guest]:
    """A program that has not been sent yet: its process waits, shut in."""
    made = NamespaceSandbox().start()
    yield made
    made.close()


def test_the_kernel_says_that_the_program_has_no_rights(guest: Guest) -> None:
    lines = Path(f"/proc/{program_of(guard_of(guest))}/status").read_text().splitlines()
    status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    user = str(NOBODY if os.geteuid() == 0 else os.geteuid())
    assert status["Uid"] == [user] * 4
    assert {status[f"Cap{kind}"][0] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"], status["Threads"]) == (["1"], ["2"], ["1"])
    assert status["NSpid"][-1] == "1"
    guest.stop()


def test_the_program_ends_with_its_guard(guest: Guest) -> None:
    program = program_of(guard_of(guest))
    os.kill(guard_of(guest), signal.SIGKILL)
    wait_for_end(program)
    with pytest.raises(InfrastructureError, match="the guard of the code was killed"):
        guest.stop()


def test_the_program_ends_with_whoever_started_it() -> None:
    code = """
        import sys
        from palaestra.tools.sandbox import NamespaceSandbox
        guest = NamespaceSandbox().start()
        print(guest._process.pid, flush=True)
        sys.stdin.read()
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        program = program_of(int(parent.stdout.readline()))
        parent.kill()
        wait_for_end(program)


def test_a_kill_from_outside_is_no_answer() -> None:
    sandbox = NamespaceSandbox()
    guests: list[Guest] = []

    class Watched(NamespaceSandbox):
        def start(self) -> Guest:
            guests.append(sandbox.start())
            os.kill(program_of(guard_of(guests[0])), signal.SIGKILL)
            return guests[0]

    with pytest.raises(InfrastructureError, match="killed the code"):
        run_program(Watched(), Program(code="pass"), lambda _: pytest.fail("it calls nothing"))


def test_no_interpreter_is_an_error_that_names_it() -> None:
    sandbox = NamespaceSandbox(interpreter="/no/python")
    with pytest.raises(CapabilityError, match="misses /no/python does not start: No such file"):
        sandbox.check()
    with pytest.raises(InfrastructureError, match="/no/python does not start"):
        sandbox.start()


# Who may run it

IN_A_USER_NAMESPACE = """
    import ctypes, os, sys
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    assert libc.unshare(0x10000000) == 0, os.strerror(ctypes.get_errno())
    for name, text in (("setgroups", "deny"), ("uid_map", f"{inner} {user} 1"), ("gid_map", f"{inner} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    {more}
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""
CHECK = """
import os, sys
from palaestra.errors import CapabilityError
from palaestra.tools.sandbox import NamespaceSandbox, Program, run_program
caps = [line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")]
print(os.geteuid(), caps[0])
try:
    NamespaceSandbox().check()
except CapabilityError as error:
    print(error)
else:
    print(run_program(NamespaceSandbox(), Program(code="import os; print(os.getresuid())"), None).output)
"""


def in_a_user_namespace(inner: int, more: str = "pass") -> list[str]:
    outer = textwrap.dedent(IN_A_USER_NAMESPACE).replace("{inner}", str(inner)).replace("{more}", more)
    done = subprocess.run([sys.executable, "-c", outer, CHECK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


def test_a_user_without_rights_may_run_programs() -> None:
    who, output, *_ = in_a_user_namespace(1234)
    assert who == f"1234 {'0' * 16}"
    assert output == "(1000, 1000, 1000)"


def test_a_root_that_can_map_itself_alone_may_run_programs() -> None:
    who, output, *_ = in_a_user_namespace(0)
    assert who.startswith("0 ")
    assert output == "(1000, 1000, 1000)"


def test_where_user_namespaces_are_forbidden_code_is_refused() -> None:
    forbid = "open('/proc/sys/user/max_user_namespaces', 'w').write('0')"
    _, error, *_ = in_a_user_namespace(0, forbid)
    assert "the sandbox 'namespaces' misses user namespaces (unshare): No space left on device" in error
    assert "use another action format" in error


@pytest.mark.parametrize("kind", ["mnt", "net", "ipc", "uts", "pid"])
def test_where_a_kind_of_namespace_is_forbidden_code_is_refused(kind: str) -> None:
    _, error, *_ = in_a_user_namespace(0, f"open('/proc/sys/user/max_{kind}_namespaces', 'w').write('0')")
    assert "misses" in error
    assert "(unshare): No space left on device" in error


def test_an_architecture_without_a_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = os.uname_result(("Linux", "host", "6", "1", "riscv64"))
    monkeypatch.setattr(os, "uname", lambda: other)
    with pytest.raises(SetupError, match="riscv64 has no list of system calls"):
        libc.machine()


# The filter, run by a second implementation of its machine


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_the_filter_allows_its_list_and_nothing_else(name: str) -> None:
    program, allowed = build_filter(name), set(ALLOWED[name].values())
    for number in [*range(700), *(0x40000000 | n for n in range(700)), 0xFFFFFFFF]:
        if number != FCNTL[name]:
            expected = ALLOW if number in allowed else REFUSE
            assert judge(program, architecture=AUDIT[name], number=number) == expected, number


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_the_filter_allows_some_commands_of_fcntl(name: str) -> None:
    program = build_filter(name)
    for command in range(1200):
        # The upper half of the argument is not the kernel's to read.
        for given in (command, command | 1 << 40):
            found = judge(program, architecture=AUDIT[name], number=FCNTL[name], arguments=(0, given))
            assert found == (ALLOW if command in FCNTL_COMMANDS else REFUSE), command


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_a_call_of_another_architecture_is_fatal(name: str) -> None:
    others = [audit for other, audit in AUDIT.items() if other != name] + [0x40000003, 0]
    assert {judge(build_filter(name), architecture=o, number=n) for o in others for n in range(700)} == {KILL}


def test_the_lists_name_what_the_running_kernel_means() -> None:
    numbers = ALLOWED[os.uname().machine]
    library = ctypes.CDLL(None)
    assert library.syscall(numbers["getpid"]) == os.getpid()
    assert library.syscall(numbers["getuid"]) == os.getuid()
    assert library.syscall(numbers["getppid"]) == os.getppid()
