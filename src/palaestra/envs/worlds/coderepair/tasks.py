"""The families: one for each repository, whose tasks plant one of its faults each."""

from collections.abc import Mapping
from typing import Any

from palaestra.envs.task import Draft, Family, Split, Task, call, family
from palaestra.envs.worlds.coderepair.library import PlantedBug, RepairRepository, repositories
from palaestra.envs.worlds.coderepair.rubric import repair_criteria
from palaestra.envs.worlds.coderepair.schema import RepositoryFile
from palaestra.rubrics import Allowance

SPLITS: tuple[Split, ...] = ("train", "dev", "heldout-records")
FIRST_BUG: Mapping[Split, int] = {"train": 0, "dev": 4, "heldout-records": 5}
"""Which of a repository's faults a split begins with; no fault is in two."""
NO_TWIN = "a fault is to be repaired under any rules; there is no request to refuse"


class RepairDraft(Draft):
    """A draft of this world."""


def draft_repair(desk: RepairDraft, *, name: str) -> Task:
    """A fault is planted; the report says what goes wrong, not where."""
    repository = repositories()[name]
    bug = repository.bugs[FIRST_BUG[desk.split] + desk.place % (4 if desk.split == "train" else 1)]
    file = desk.state.get(RepositoryFile, bug.path)
    file = desk.state.update(file, text=bug.plant(file.text))
    right = repository.sources[bug.path]
    number = desk.stream.between(100, 999)
    return Task(
        prompt=f"Issue {number} of the repository {name}: {bug.title}\n\n{bug.report}",
        rubric=repair_criteria(repository, file, desk.state),
        oracle=_solution(repository, bug, bug.edit(right)),
        alternatives=[_solution(repository, bug, bug.other_edit(right))],
        # Criteria of their own forbid changes of other files of the repository.
        allow=[
            Allowance(table=RepositoryFile.table, key=path, columns=frozenset({"text"}))
            for path in (*repository.sources, *repository.tests)
        ],
    )


def _solution(repository: RepairRepository, bug: PlantedBug, edit: tuple[str, str]) -> list[Any]:
    run = call("run_visible_tests", repository_id=repository.name)
    old, new = edit
    return [
        call("list_files", repository_id=repository.name),
        run,
        call("read_file", file_id=bug.path),
        call("edit_file", file_id=bug.path, old=old, new=new),
        run,
        call("reply", message=f"The fault was in {bug.path}. It is repaired, and the tests of the repository pass."),
        call("finish"),
    ]


def families() -> tuple[Family[RepairDraft], ...]:
    """One family for each repository."""
    return tuple(map(_family, repositories()))


def _family(name: str) -> Family[RepairDraft]:
    def repair(desk: RepairDraft) -> Task:
        return draft_repair(desk, name=name)

    return family(f"code-repair/{name}", level=2, traits=("write",), splits=SPLITS, no_twin=NO_TWIN)(repair)
