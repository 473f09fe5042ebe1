"""An archive of project notes: the test world with a state beside its rows, a tree of files.

State
    4 projects (rows) and 13 notes (files under /projects, /shared and /archive).
Actions
    Look projects and files up; write, move and delete files; close a project, which moves its notes; talk, finish.
Tasks
    `archive/correct-note` and `archive/close-project`; `archive/new-note` has a rubric derived from its oracle.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal

from palaestra.envs.state import Base, FileEntry, FileLimits, FileTree, Schema
from palaestra.envs.task import Draft, Task, call, family
from palaestra.envs.world import World
from palaestra.errors import ToolRefusal
from palaestra.records import References, Row, Verdict
from palaestra.rubrics import MET, UNMET, Allowance, Criterion, Evidence, expect_change, expect_read, expect_row
from palaestra.seeding import Stream
from palaestra.tools import CONTROL, Toolbox, ToolContext, tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(Row):
    table: ClassVar[str] = "projects"
    prefix: ClassVar[str] = "PRJ-"
    name: str
    status: Literal["open", "closed"]
    frozen: bool


SCHEMA = Schema(Project, FileEntry)
LIMITS = FileLimits(files=20, file_bytes=400, total_bytes=4_000)
_NAMES = ("bridge", "canal", "tower", "tunnel")


def start(seed: int) -> datetime:
    """When episodes begin."""
    return datetime(2031, 6, 2, 8, 0) + timedelta(days=seed)


def populate(seed: int, rules: object = None) -> Base:
    """The archive of a world seed."""
    del rules
    stream = Stream.root("archive", seed)
    files = {"/shared/rules.txt": "Notes of closed projects go to /archive/NAME."}
    for name in _NAMES:
        for note in ("plan", "costs", "people"):
            files[f"/projects/{name}/{note}.txt"] = f"{note} of the {name}: {stream.between(100, 999)} units"
    projects = [Project(id=f"PRJ-{n}", name=name, status="open", frozen=n == 4) for n, name in enumerate(_NAMES, 1)]
    return Base(SCHEMA, projects, states={"files": FileTree(files, limits=LIMITS)})


ProjectId = Annotated[str, References("projects")]
Path = Annotated[str, References("files")]


@tool()
def get_project(context: ToolContext, project_id: ProjectId) -> object:
    """Read a project's card.

    Args:
        project_id: The project, such as PRJ-3.
    """
    project = context.state.get(Project, project_id)
    context.show(project)
    return project


@tool()
def list_files(context: ToolContext, folder: str = "/") -> object:
    """List the files in a folder and the folders below it.

    Args:
        folder: The folder.
    """
    paths = context.beside(FileTree, "files").paths(folder)
    context.mention(*paths)
    return paths


@tool()
def read_file(context: ToolContext, path: Path) -> object:
    """Read a file.

    Args:
        path: The file.
    """
    context.beside(FileTree, "files").read(path)
    entry = context.state.get(FileEntry, path)
    context.show(entry)
    return entry


@tool(writes=True)
def write_file(context: ToolContext, path: str, content: str) -> object:
    """Make a file or replace its content.

    Args:
        path: The file.
        content: All of its text.
    """
    files = context.beside(FileTree, "files")
    if files.exists(path):
        context.name(path)
    return {"written": files.write(path, content)}


@tool(writes=True)
def move_file(context: ToolContext, path: Path, to: str) -> object:
    """Move a file to a path where no file is.

    Args:
        path: The file.
        to: Its new path.
    """
    return {"moved": context.beside(FileTree, "files").move(path, to)}


@tool(writes=True)
def delete_file(context: ToolContext, path: Path) -> object:
    """Delete a file.

    Args:
        path: The file.
    """
    context.beside(FileTree, "files").delete(path)
    return {"deleted": path}


@tool(writes=True)
def close_project(context: ToolContext, project_id: ProjectId) -> object:
    """Close a project and move its notes to the archive.

    Args:
        project_id: The project.
    """
    project = context.state.get(Project, project_id)
    files = context.beside(FileTree, "files")
    moved = [files.move(path, f"/archive{path.removeprefix('/projects')}") for path in files.paths(_folder(project))]
    context.state.update(project, status="closed")
    if project.frozen:
        raise ToolRefusal("not_allowed", f"{project.id} is frozen")  # after every write: they must be taken back
    context.mention(*moved)
    return {"closed": project.id, "moved": moved}


def _folder(project: Project) -> str:
    return f"/projects/{project.name}"


def gone(entry: FileEntry, *, after: Sequence[str]) -> Criterion:
    """Expect that a file is gone."""

    def check(evidence: Evidence) -> Verdict:
        return MET if evidence.state.peek(FileEntry, entry.id) is None else UNMET

    return Criterion(
        id=f"gone-{entry.id}",
        text=f"There is no {entry.id} any more.",
        check=check,
        after=tuple(after),
        tables=frozenset({"files"}),
        allows=(Allowance(table="files", key=entry.id, deletes=True),),
    )


def _note(draft: Draft, name: str) -> FileEntry:
    return draft.state.get(FileEntry, f"/projects/{name}/costs.txt")


@family("archive/correct-note", level=1)
def correct_note(draft: Draft) -> Task:
    """A planted mistake in a note is to be mended."""
    project = draft.pick(Project)
    note = _note(draft, project.name)
    draft.beside(FileTree, "files").write(note.id, note.content.replace("units", "unts"))
    planted = draft.state.get(FileEntry, note.id)
    return Task(
        prompt=f"In the costs of {project.name} it says “unts”; it should say “units”. Mend that and nothing else.",
        rubric=[expect_read(planted), expect_change(planted, {"content": note.content}, after=[f"saw-{note.id}"])],
        oracle=[
            call("list_files", folder=f"/projects/{project.name}"),
            call("read_file", path=note.id),
            call("write_file", path=note.id, content=note.content),
            call("finish"),
        ],
        max_turns=10,
    )


@family("archive/close-project", level=2)
def close(draft: Draft) -> Task:
    """A project is closed: a row changes and three files move."""
    project = draft.pick(Project, lambda p: not p.frozen)
    files = draft.beside(FileTree, "files")
    notes = [draft.state.get(FileEntry, path) for path in files.paths(_folder(project))]
    read = [f"saw-{project.id}"]
    moved = [
        expect_row(
            FileEntry,
            {"id": n.id.replace("/projects", "/archive"), "content": n.content},
            id=f"archived-{i}",
            after=read,
        )
        for i, n in enumerate(notes, 1)
    ]
    return Task(
        prompt=f"Close {project.id}.",
        rubric=[
            expect_read(project),
            expect_change(project, {"status": "closed"}, after=read),
            *moved,
            *(gone(note, after=read) for note in notes),
        ],
        oracle=[
            call("get_project", project_id=project.id), call("close_project", project_id=project.id), call("finish"),
        ],
        max_turns=10,
    )  # fmt: skip


@family("archive/new-note", level=1)
def new_note(draft: Draft) -> Task:
    """The rubric is derived: a new file with the words of another."""
    project = draft.pick(Project)
    note = _note(draft, project.name)
    return Task(
        prompt=f"Copy the costs of {project.name} into /shared/costs.txt.",
        oracle=[
            call("list_files", folder=f"/projects/{project.name}"),
            call("read_file", path=note.id),
            call("write_file", path="/shared/costs.txt", content=note.content),
            call("finish"),
        ],
        max_turns=10,
    )


ARCHIVE = World(
    name="archive",
    schema=SCHEMA,
    populate=populate,
    start=start,
    toolbox=Toolbox(
        (get_project, list_files, read_file, write_file, move_file, delete_file, close_project, *CONTROL),
        prose_tool="reply",
    ),
    role="archivist",
    actor="EMP-1",
    briefing=lambda now: f"You are the archivist EMP-1. It is {now:%Y-%m-%d}.",
    draft=Draft,
    families="worlds.archive",
    seeds={"train": (1, 2), "dev": (3,), "heldout": (4,), "heldout-policy": (5,)},
    instances={"train": 3, "dev": 1, "heldout": 1, "heldout-policy": 1},
    unseen_instances=1,
)
