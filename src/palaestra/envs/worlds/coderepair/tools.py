"""What an agent can do: look at files, replace text in one, run the tests that it sees."""

from typing import Annotated

from pydantic import Field

from palaestra.digest import digest
from palaestra.envs.kit import get_tool
from palaestra.envs.worlds.coderepair.edits import draw_edit
from palaestra.envs.worlds.coderepair.running import run_tests
from palaestra.envs.worlds.coderepair.schema import FileId, Repository, RepositoryFile, RepositoryId
from palaestra.errors import ToolRefusal
from palaestra.records import AuthoredText, Json
from palaestra.tools import CONTROL, Toolbox, ToolContext, tool

MOST_MATCHES = 30


@tool()
def list_files(context: ToolContext, repository_id: RepositoryId) -> object:
    """List the files of a repository.

    Args:
        repository_id: The repository's name, such as "ledger".
    """
    repository = context.state.get(Repository, repository_id)
    files = context.state.find(RepositoryFile, repository_id=repository_id)
    context.show(repository)
    context.mention(*(file.id for file in files))
    listed: list[Json] = [{"id": f.id, "kind": f.kind, "lines": len(f.text.splitlines())} for f in files]
    return {"about": repository.about, "files": listed}


@tool()
def search_files(
    context: ToolContext, repository_id: RepositoryId, text: Annotated[str, Field(min_length=2)]
) -> object:
    """Find the lines of a repository that hold a text, at most 30.

    Args:
        repository_id: The repository's name.
        text: What to look for, as it is written.
    """
    context.state.get(Repository, repository_id)
    found: list[Json] = []
    for file in context.state.find(RepositoryFile, repository_id=repository_id):
        for number, line in enumerate(file.text.splitlines(), 1):
            if text in line and len(found) < MOST_MATCHES:
                context.mention(file.id)
                found.append({"id": file.id, "line": number, "text": line.strip()})
    return {"matches": found}


@tool(writes=True, draw=draw_edit)
def edit_file(
    context: ToolContext,
    file_id: FileId,
    old: Annotated[str, Field(min_length=1)],
    new: Annotated[str, AuthoredText()],
) -> object:
    """Replace a text in a file. The text must stand there exactly once, spaces and line ends included.

    Args:
        file_id: The file's path, such as "ledger/book.py".
        old: What is replaced.
        new: What stands there afterwards.
    """
    file = context.state.get(RepositoryFile, file_id)
    count = file.text.count(old)
    if count != 1:
        raise ToolRefusal("no_such_text" if not count else "ambiguous", f"the text stands {count} times in {file_id}")
    if old == new:
        raise ToolRefusal("no_change", "the new text is the old one")
    line = file.text[: file.text.index(old)].count("\n") + 1
    context.state.update(file, text=file.text.replace(old, new))
    return {"edited": file_id, "line": line}


@tool(latency=20)
def run_visible_tests(context: ToolContext, repository_id: RepositoryId) -> object:
    """Run the tests of a repository, as its files stand now. The answer names the version of the files.

    Args:
        repository_id: The repository's name.
    """
    context.state.get(Repository, repository_id)
    files = context.state.find(RepositoryFile, repository_id=repository_id)
    tests = {file.id: file.text for file in files if file.kind == "test"}
    texts = {file.id: file.text for file in files}
    results = run_tests(texts, tests)
    failed: list[Json] = [{"test": name, "message": r.message} for name, r in results.items() if not r.passed]
    # As a report names its commit: the same results after an edit are another observation.
    version = f"v{digest(texts)[:7]}"
    return {"version": version, "passed": [name for name, r in results.items() if r.passed], "failed": failed}


TOOLBOX = Toolbox(
    [
        list_files,
        get_tool(
            RepositoryFile, "Read a file.", name="read_file", argument="file_id", argument_text="The file's path."
        ),
        search_files,
        edit_file,
        run_visible_tests,
        *CONTROL,
    ],
    prose_tool="reply",
)
