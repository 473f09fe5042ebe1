"""The filter of system calls: calls that an interpreter needs are allowed, all others fail with EPERM.

The list is short because the program needs little of the system: no processes, sockets, mounts or devices, no tracing,
and no writing except to open descriptors. A call of another architecture kills the process.
"""

import ctypes
import struct

from palaestra.tools.sandbox.namespaces.libc import PR_SET_SECCOMP, SetupError, machine, prctl

_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _ARCHITECTURE, _SECOND_ARGUMENT = 0, 4, 24
ALLOW = 0x7FFF0000
KILL = 0x80000000
REFUSE = 0x00050001
"""Fail with EPERM."""
_FILTER_MODE = 2

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The kernel's numbers of architectures."""
ALLOWED: dict[str, dict[str, int]] = {
    "x86_64": {
        "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8,
        "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14,
        "rt_sigreturn": 15, "pread64": 17, "readv": 19, "writev": 20, "access": 21, "select": 23, "sched_yield": 24,
        "mremap": 25, "madvise": 28, "dup": 32, "pause": 34, "nanosleep": 35, "getitimer": 36, "alarm": 37,
        "setitimer": 38, "getpid": 39, "exit": 60, "uname": 63, "getcwd": 79, "readlink": 89, "gettimeofday": 96,
        "getrusage": 98, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110,
        "getresuid": 118, "getresgid": 120, "rt_sigpending": 127, "rt_sigtimedwait": 128, "rt_sigsuspend": 130,
        "sigaltstack": 131, "gettid": 186, "time": 201, "futex": 202, "sched_getaffinity": 204, "getdents64": 217,
        "set_tid_address": 218, "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229,
        "clock_nanosleep": 230, "exit_group": 231, "tgkill": 234, "openat": 257, "newfstatat": 262,
        "readlinkat": 267, "faccessat": 269, "pselect6": 270, "ppoll": 271, "set_robust_list": 273,
        "getrandom": 318, "statx": 332, "rseq": 334, "faccessat2": 439,
    },
    "aarch64": {
        "getcwd": 17, "dup": 23, "faccessat": 48, "openat": 56, "close": 57, "getdents64": 61, "lseek": 62,
        "read": 63, "write": 64, "readv": 65, "writev": 66, "pread64": 67, "pselect6": 72, "ppoll": 73,
        "readlinkat": 78, "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94, "set_tid_address": 96,
        "futex": 98, "set_robust_list": 99, "nanosleep": 101, "getitimer": 102, "setitimer": 103,
        "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115, "sched_getaffinity": 123,
        "sched_yield": 124, "restart_syscall": 128, "tgkill": 131, "sigaltstack": 132, "rt_sigsuspend": 133,
        "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigpending": 136, "rt_sigtimedwait": 137,
        "rt_sigreturn": 139, "getresuid": 148, "getresgid": 150, "uname": 160, "getrusage": 165,
        "gettimeofday": 169, "getpid": 172, "getppid": 173, "getuid": 174, "geteuid": 175, "getgid": 176,
        "getegid": 177, "gettid": 178, "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226,
        "madvise": 233, "getrandom": 278, "statx": 291, "rseq": 293, "faccessat2": 439,
    },
}  # fmt: skip
FCNTL = {"x86_64": 72, "aarch64": 25}
FCNTL_COMMANDS = (0, 1, 2, 3, 1030)
"""Copy a descriptor, read and write its flags, read the flags of its file; no command that changes a file or a pipe."""


def build_filter(architecture: str, *, refused: tuple[str, ...] = ()) -> bytes:
    """The filter in the kernel's form: eight bytes per instruction (classic BPF).

    Args:
        architecture: The architecture of the call numbers.
        refused: Calls of `ALLOWED` that are refused.
    """
    allowed = sorted(number for name, number in ALLOWED[architecture].items() if name not in refused)
    commands = [(_EQUAL, 0, 0, command) for command in FCNTL_COMMANDS]
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, AUDIT[architecture]),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_EQUAL, 0, len(commands) + 1, FCNTL[architecture]),
        (_LOAD, 0, 0, _SECOND_ARGUMENT),
        *commands,
        *((_EQUAL, 0, 0, number) for number in allowed),
        (_RETURN, 0, 0, REFUSE),
        (_RETURN, 0, 0, ALLOW),
    ]
    # A match jumps to the last instruction. The commands of fcntl leave the command in place of the number: refuse.
    last, first_command, first_number = len(program) - 1, 6, 6 + len(commands)
    for place in range(first_command, last - 1):
        code, _, _, value = program[place]
        program[place] = (code, last - place - 1, 0, value)
    place = first_number - 1
    code, matches, _, value = program[place]
    program[place] = (code, matches, last - 1 - place - 1, value)
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def install_filter(*, refused: tuple[str, ...] = ()) -> None:
    """Install the filter for this process, permanently. The process must be unable to gain privileges.

    Args:
        refused: Calls of `ALLOWED` that are refused.

    Raises:
        SetupError: the kernel does not support filters.
    """
    code = build_filter(machine(), refused=refused)

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    program = Program(len(code) // 8, code)
    try:
        prctl(PR_SET_SECCOMP, _FILTER_MODE, "a seccomp filter", ctypes.addressof(program))
    except SetupError as error:
        raise SetupError(f"{error}; the kernel needs CONFIG_SECCOMP_FILTER") from error
