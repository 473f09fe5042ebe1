"""The world: its rows, its tools and its families in one record."""

from datetime import datetime
from functools import partial
from typing import Literal

from palaestra.envs import World, kit
from palaestra.envs.state import Base
from palaestra.envs.worlds.coderepair.library import repositories
from palaestra.envs.worlds.coderepair.schema import SCHEMA, Repository, RepositoryFile
from palaestra.envs.worlds.coderepair.tasks import RepairDraft, families
from palaestra.envs.worlds.coderepair.tools import TOOLBOX
from palaestra.records import Row

NAME = "code-repair"


def populate(seed: int, rules: object) -> Base:
    """The repositories as they are right; the same for every seed."""
    del seed, rules
    rows: list[Row] = []
    for repository in repositories().values():
        rows.append(Repository(id=repository.name, about=repository.about))
        rows += [_file(repository.name, path, "source", text) for path, text in repository.sources.items()]
        rows += [_file(repository.name, path, "test", text) for path, text in repository.tests.items()]
    return Base(SCHEMA, rows)


def _file(repository: str, path: str, kind: Literal["source", "test"], text: str) -> RepositoryFile:
    return RepositoryFile(id=path, repository_id=repository, kind=kind, text=text)


def briefing(now: datetime) -> str:
    """The system message."""
    return (
        f"You repair faults in small Python repositories. It is {kit.format_moment(now)}. Find the fault that the "
        "issue reports: run the tests and read the source first. Repair it with `edit_file` in the one source file "
        "that holds it, leave other files as they are, and keep what callers use. Run the tests again. Tests that you "
        "do not see decide. Then tell the reporter with `reply` which file it was, by its path, and call `finish`."
    )


CODE_REPAIR = World(
    name=NAME,
    schema=SCHEMA,
    populate=populate,
    start=partial(kit.draw_start, NAME),
    toolbox=TOOLBOX,
    role="agent",
    actor="EMP-1",
    briefing=briefing,
    draft=RepairDraft,
    families=families(),
    instances={"train": 4, "dev": 1, "heldout": 1, "heldout-policy": 1, "heldout-records": 1},
    optional_tools=("search_files", "give_up"),  # a real desk has them; no task turns on them
    guards={"work": frozenset({"files", "repositories"})},
)
