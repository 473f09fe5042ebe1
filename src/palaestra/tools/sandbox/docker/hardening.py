"""The restrictions of a container in the form of the Docker Engine's API: a pure function of the limits.

The container has no network, no capabilities and no way to gain any, a read-only root, an ordinary user, and a limited
share of the machine. Its filter of system calls allows what the guard needs; the program's own filter, installed by the
guard's child, allows less. Information of the kernel about the machine in `/proc` and `/sys` is masked.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from palaestra.tools.sandbox.contract import SandboxLimits
from palaestra.tools.sandbox.docker.pipes import INNER_FOLDER
from palaestra.tools.sandbox.namespaces.seccomp import ALLOWED
from palaestra.tools.sandbox.namespaces.users import NOBODY

ContainerConfig: TypeAlias = dict[str, Any]
"""The body of `POST /containers/create`. Any: JSON, sent unchanged."""

INTERPRETER = "/lib/interpreter"
_MIB = 2**20
_OVERHEAD_MIB = 128
"""Memory of the guard and of the kernel's own bookkeeping, in addition to the program's address space."""
_PROCESSES = 16
"""The container starts with threads of its runtime; the program's filter then allows no further process."""
GUARD_CALLS = (
    "arch_prctl", "capget", "capset", "clone", "clone3", "close_range", "dup2", "dup3", "execve", "fcntl", "fork",
    "getpgrp", "getrlimit", "ioctl", "kill", "newfstatat", "pidfd_open", "pipe", "pipe2", "prctl", "prlimit64",
    "readlink", "sched_setaffinity", "setrlimit", "statfs", "fstatfs", "sysinfo", "wait4", "waitid", "epoll_create1",
    "epoll_ctl", "epoll_pwait", "eventfd2", "nanosleep", "getgroups", "setgid", "setgroups", "setuid", "umask",
    "chdir", "fchdir", "getdents", "vfork", "set_robust_list", "clock_nanosleep",
)  # fmt: skip
"""System calls of the runtime and the guard in addition to those of a program."""
VISIBLE = frozenset({"self", "thread-self", "mounts", "net"})
"""Unmasked entries of `/proc`: links to a process's own entries, which the runtime needs."""
_DEVICES = ("full", "mqueue", "pts", "random", "shm", "tty", "urandom", "zero")
"""All devices except `/dev/null`, which the runtime needs."""


def container_config(
    image: str, command: Sequence[str], *, folder: str, limits: SandboxLimits, labels: Mapping[str, str]
) -> ContainerConfig:
    """The configuration of one program's container.

    Args:
        image: The image.
        command: The interpreter's arguments.
        folder: The folder of its pipes on this machine.
        limits: The limits of the program.
        labels: The labels by which it is found.
    """
    return {
        "Image": image,
        "Entrypoint": [INTERPRETER],
        "Cmd": list(command),
        "Env": ["PYTHONHASHSEED=0", "PYTHONUTF8=1", "PYTHONHOME=/", "TZ=UTC"],
        "User": f"{NOBODY}:{NOBODY}",
        "WorkingDir": "/",
        "Hostname": "sandbox",
        "Labels": dict(labels),
        "NetworkDisabled": True,
        "HostConfig": _host_config(folder, limits),
    }


def _host_config(folder: str, limits: SandboxLimits) -> ContainerConfig:
    memory = (limits.memory_mib + _OVERHEAD_MIB) * _MIB
    return {
        "AutoRemove": True,
        "CapDrop": ["ALL"],
        "CgroupnsMode": "private",
        "IpcMode": "none",
        "LogConfig": {"Type": "none"},
        "MaskedPaths": masked_paths([entry.name for entry in Path("/proc").iterdir()]),
        "Memory": memory,
        "MemorySwap": memory,
        "Mounts": [
            {
                "Type": "bind",
                "Source": folder,
                "Target": INNER_FOLDER,
                "ReadOnly": True,
                "BindOptions": {"Propagation": "private"},
            }
        ],
        "NanoCpus": 10**9,
        "NetworkMode": "none",
        "PidsLimit": _PROCESSES,
        "Privileged": False,
        "ReadonlyRootfs": True,
        "RestartPolicy": {"Name": "no"},
        "SecurityOpt": ["no-new-privileges", f"seccomp={orjson.dumps(filter_profile()).decode()}"],
        "Ulimits": [{"Name": name, "Soft": 0, "Hard": 0} for name in ("core", "fsize", "memlock", "msgqueue")],
    }


def masked_paths(entries: Collection[str]) -> list[str]:
    """The masked paths of a container.

    Args:
        entries: The entries of this machine's `/proc`, which depend on its kernel.
    """
    kernel = (name for name in entries if not name.isdigit() and name not in VISIBLE)
    return sorted({"/sys", "/etc", *(f"/dev/{name}" for name in _DEVICES), *(f"/proc/{name}" for name in kernel)})


def filter_profile() -> dict[str, object]:
    """The container's filter of system calls: calls that are not listed fail with EPERM."""
    names = sorted({*GUARD_CALLS, *(name for calls in ALLOWED.values() for name in calls)})
    return {"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": names, "action": "SCMP_ACT_ALLOW"}]}
