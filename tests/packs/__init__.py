"""World packs for tests, written to a folder: a clinic with the lending library's rows and one family of its own."""

from pathlib import Path

_WORLD = """
from dataclasses import replace

from worlds.library import LIBRARY

WORLD = replace(LIBRARY, name="{id}", families="{module}.tasks", instances={{"train": 3, "heldout": 2}}, surfaces={{}})
"""
_TASKS = """
from palaestra.envs import Task, call, family
from palaestra.rubrics import expect_change
from worlds.library import RENEWAL, Loan


@family("{id}/renew", level=1, traits=("write",))
def renew(draft):
    loan = draft.pick(Loan, lambda x: not x.returned and x.member_id != "MEM-4")
    return Task(
        prompt=f"Renew {{loan.id}}.",
        rubric=[expect_change(loan, {{"due": loan.due + RENEWAL}})],
        oracle=[call("renew_loan", loan_id=loan.id), call("finish")],
    )
"""
MANIFEST = """
id = "{id}"
version = {version}
title = "A clinic"
world = "world:WORLD"

[splits]
train = 3
heldout = 2
"""


def write_pack(folder: Path, *, id: str = "clinic", version: int = 0, manifest: str = MANIFEST) -> Path:
    """Write a pack to `folder`, whose name is the package's; returns the folder."""
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "world.py").write_text(_WORLD.format(id=id, module=folder.name))
    (folder / "tasks.py").write_text(_TASKS.format(id=id))
    (folder / "world.toml").write_text(manifest.format(id=id, version=version))
    return folder


def install_packs(site: Path, points: dict[str, str], *, owner: str = "clinic") -> Path:
    """Make `site` look as if a distribution were installed there whose entry points offer world packs."""
    info = site / f"{owner}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {owner}\nVersion: 1.0\n")
    lines = "\n".join(f"{name} = {value}" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[palaestra.worlds]\n{lines}\n")
    return site
