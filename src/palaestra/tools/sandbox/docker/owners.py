"""Whose a container is: the process that started it, named so that no later process is taken for it.

A container ends with its owner, because its pipes do. What a kill in the wrong moment leaves all the same - a container
that had not opened its pipes, a folder of pipes - is found by its owner's name, and removed.
"""

import os
import shutil
import tempfile
from pathlib import Path

from palaestra.tools.sandbox.docker.pipes import PREFIX

OWNER = "palaestra.sandbox.owner"
"""The label of every container that Palaestra starts."""


def own_name() -> str:
    """This process: its system, its namespace of processes, its number and when it began."""
    return f"{_place()}.{os.getpid()}.{_began(os.getpid())}"


def is_orphaned(owner: str) -> bool:
    """Whether a process can no longer be there. One that cannot be seen from here counts as there."""
    place, _, rest = owner.partition(".")
    number, _, began = rest.partition(".")
    return place == _place() and number.isdigit() and _began(int(number)) != began


def remove_orphaned_folders() -> None:
    """Remove what processes left in the folder for temporary files that were killed while a container started."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).rpartition("-")[0]
        if is_orphaned(owner):
            shutil.rmtree(folder, ignore_errors=True)


def _place() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    return f"{boot}_{Path('/proc/self/ns/pid').stat().st_ino}"


def _began(number: int) -> str:
    """When a process began, in ticks since the system did; empty where there is none."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return fields.rpartition(")")[2].split()[19]
