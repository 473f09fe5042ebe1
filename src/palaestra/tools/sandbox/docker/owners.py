"""The owners of containers: a container is labelled with the process that started it, by a name that is never reused.

A container ends with its owner, because its pipes do. If a process is killed at the wrong moment, remains are possible:
a container that had not opened its pipes, or a folder of pipes. They are found by their owner's name and removed.
"""

import os
import shutil
import tempfile
from pathlib import Path

from palaestra.tools.sandbox.docker.pipes import PREFIX

OWNER = "palaestra.sandbox.owner"
"""The label of every container that Palaestra starts."""


def own_name() -> str:
    """The name of this process: its system, its process namespace, its id and its start time."""
    return f"{_place()}.{os.getpid()}.{_began(os.getpid())}"


def is_orphaned(owner: str) -> bool:
    """Whether a process has ended. A process that is not visible from here counts as running."""
    place, _, rest = owner.partition(".")
    number, _, began = rest.partition(".")
    return place == _place() and number.isdigit() and _began(int(number)) != began


def remove_orphaned_folders() -> None:
    """Remove folders of pipes whose processes were killed while a container started."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).rpartition("-")[0]
        if is_orphaned(owner):
            shutil.rmtree(folder, ignore_errors=True)


def _place() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    return f"{boot}_{Path('/proc/self/ns/pid').stat().st_ino}"


def _began(number: int) -> str:
    """The start time of a process, in ticks since the system's start; empty if there is no such process."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return fields.rpartition(")")[2].split()[19]
