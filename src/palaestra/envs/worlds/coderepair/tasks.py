"""The families: one for each repository, whose tasks plant one of its faults each."""

from collections.abc import Mapping
from typing import Any

from palaestra.envs.task import Draft, Family, Split, Task, call, family
from palaestra.envs.worlds.coderepair.library import PlantedBug, RepairRepository, repositories
from palaestra.envs.worlds.coderepair.running import CaseResult, run_tests
from palaestra.envs.worlds.coderepair.schema import RepositoryFile
from palaestra.protocols import StateView
from palaestra.records import Verdict
from palaestra.rubrics import Allowance, Criterion, Evidence, expect_call, expect_read

SPLITS: tuple[Split, ...] = ("train", "dev", "heldout-records")
FIRST_BUG: Mapping[Split, int] = {"train": 0, "dev": 4, "heldout-records": 5}
"""Which of a repository's faults a split begins with; no fault is in two."""
NO_TWIN = "a fault is to be repaired under any rules; there is no request to refuse"


class RepairDraft(Draft):
    """A draft of this world."""


def sources_of(state: StateView, repository: str) -> dict[str, str]:
    """The source files as they stand."""
    return {f.id: f.text for f in state.find(RepositoryFile, repository_id=repository, kind="source")}


def judge_sources(repository: RepairRepository, state: StateView) -> Mapping[str, CaseResult]:
    """The results of the repository's own tests, visible and hidden, whatever stands in the rows of its tests."""
    return run_tests(sources_of(state, repository.name), {**repository.tests, **repository.hidden})


def draft_repair(desk: RepairDraft, *, name: str) -> Task:
    """A fault is planted; the report says what goes wrong, not where."""
    repository = repositories()[name]
    bug = repository.bugs[FIRST_BUG[desk.split] + desk.place % (4 if desk.split == "train" else 1)]
    file = desk.state.get(RepositoryFile, bug.path)
    file = desk.state.update(file, text=bug.plant(file.text))
    number = desk.stream.between(100, 999)
    return Task(
        prompt=f"Issue {number} of the repository {name}: {bug.title}\n\n{bug.report}",
        rubric=_rubric(repository, file, desk.state),
        oracle=_solution(repository, bug),
        allow=[Allowance(table=RepositoryFile.table, key=p, columns=frozenset({"text"})) for p in repository.sources],
    )


def _rubric(repository: RepairRepository, file: RepositoryFile, state: StateView) -> list[Criterion]:
    before = judge_sources(repository, state)
    broken = [
        test for test, result in before.items() if not result.passed and test.startswith(tuple(repository.hidden))
    ]
    sound = [test for test, result in before.items() if result.passed]
    assert broken, f"{file.id}: a hidden test fails"

    def is_repaired(evidence: Evidence) -> Verdict:
        now = judge_sources(repository, evidence.state)
        failing = [test for test in broken if not now[test].passed]
        return Verdict(met=not failing, reason=f"{len(failing)} of {len(broken)} hidden tests fail")

    def is_worse(evidence: Evidence) -> Verdict:
        now = judge_sources(repository, evidence.state)
        failing = [test for test in sound if not now[test].passed]
        return Verdict(met=bool(failing), reason=", ".join(failing) or "everything that passed still passes")

    tables = frozenset({RepositoryFile.table})
    run = {"repository_id": repository.name}
    return [
        expect_read(file, fields=["text"], id="read-source"),
        expect_call("run_visible_tests", arguments=run, id="ran-tests", text="Ran the tests first."),
        Criterion(
            id="repaired",
            text="The hidden tests that failed pass.",
            check=is_repaired,
            after=("read-source", "ran-tests"),
            tables=tables,
        ),
        Criterion(id="broke-tests", text="A test that passed fails.", kind="forbid", check=is_worse, tables=tables),
    ]


def _solution(repository: RepairRepository, bug: PlantedBug) -> list[Any]:
    run = call("run_visible_tests", repository_id=repository.name)
    old, new = bug.edit(repository.sources[bug.path])
    return [
        call("list_files", repository_id=repository.name),
        run,
        call("read_file", file_id=bug.path),
        call("edit_file", file_id=bug.path, old=old, new=new),
        run,
        call("finish"),
    ]


def families() -> tuple[Family[RepairDraft], ...]:
    """One family for each repository."""
    return tuple(map(_family, repositories()))


def _family(name: str) -> Family[RepairDraft]:
    def repair(desk: RepairDraft) -> Task:
        return draft_repair(desk, name=name)

    return family(f"code-repair/{name}", level=2, traits=("write",), splits=SPLITS, no_twin=NO_TWIN)(repair)
