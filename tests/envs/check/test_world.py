"""`check_world`: sound worlds pass, and each of its messages fires on a small world that breaks the rule."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import pytest

import palaestra
import worlds.library
from palaestra.cli import main
from palaestra.envs import Draft, PopulatedWorld, Task, ToolEnv, World, check_world, family, open_world
from palaestra.envs.check import WORLD_CHECKS, WorldFinding, WorldReport
from palaestra.envs.kit import HandbookVariants
from palaestra.envs.state import Base
from palaestra.errors import EnvironmentCheckError
from palaestra.tools import Toolbox, ToolContext, tool
from worlds.library import LIBRARY, TOOLBOX, Book, Member, populate

HUMAN_RESOURCES = Path(__file__).parents[3] / "examples" / "worlds" / "human_resources"
Patch: TypeAlias = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    aisles: int = 1
    copies: int = 1


def repopulated(change: Callable[[list[Any], Any], None]) -> Callable[[int, Any], Base]:
    """The population of the library, its rows changed by `change`, which also gets the rules."""

    def changed(seed: int, rules: Any = None) -> Base:
        base = populate(seed)
        rows = [row for table in base.rows.values() for row in table.values()]
        change(rows, rules)
        return Base(base.schema, rows)

    return changed


def set_first(kind: type, rows: list[Any], **columns: Any) -> None:
    place = next(place for place, row in enumerate(rows) if isinstance(row, kind))
    rows[place] = replace(rows[place], **columns)


def empty(_: Patch) -> World:
    def raising(seed: int, _: Any) -> Base:
        raise ValueError(f"no shelf for {seed}")

    return replace(LIBRARY, populate=raising)


def forgetful(_: Patch) -> World:
    numbers = count(1)
    return replace(LIBRARY, populate=repopulated(lambda rows, _: set_first(Book, rows, copies=100 + next(numbers))))


def dangling(_: Patch) -> World:
    return replace(LIBRARY, populate=repopulated(lambda rows, _: set_first(Member, rows, sponsor_id="MEM-99")))


def shelves_hold_five(populated: PopulatedWorld) -> Iterator[str]:
    for book in populated.state.find(Book):
        if book.copies > 5:
            yield f"{book.id}: has {book.copies} copies on {populated.today}"


def crowded(_: Patch) -> World:
    changed = repopulated(lambda rows, _: set_first(Book, rows, copies=9))
    return replace(LIBRARY, populate=changed, invariants=(shelves_hold_five,))


def with_families(patch: Patch, **functions: Callable[[Draft], Task]) -> World:
    """The library with families of a module made for it."""
    module = ModuleType("families_under_check")
    for name, function in functions.items():
        function.__module__ = module.__name__
        setattr(module, name, family(f"library/{name}", level=1)(function))
    patch.setitem(sys.modules, module.__name__, module)
    return replace(LIBRARY, families=module.__name__)


def without_families(patch: Patch) -> World:
    return with_families(patch)


def failing(patch: Patch) -> World:
    def lend(draft: Draft) -> Task:
        draft.pick(Book, lambda book: book.copies > 50)
        raise AssertionError("nothing fits")

    return with_families(patch, lend=lend)


def idle(_: Patch) -> World:
    return replace(LIBRARY, optional_tools=("get_member", "search_members"))


def busy(_: Patch) -> World:
    return replace(LIBRARY, optional_tools=(*LIBRARY.optional_tools, "lend_book"))


def misspelt(_: Patch) -> World:
    return replace(LIBRARY, optional_tools=(*LIBRARY.optional_tools, "lend_bok"))


def shadowed(patch: Patch) -> World:
    def get_member(draft: Draft) -> Task:
        raise AssertionError(draft)

    patch.setattr(worlds.library, "get_member", family("library/get-member", level=1)(get_member))
    return LIBRARY


def replaced(patch: Patch) -> World:
    patch.setattr(worlds.library, "get_member", worlds.library.search_members)
    return LIBRARY


def nested(_: Patch) -> World:
    @tool()
    def count_books(context: ToolContext) -> object:
        """Count the books."""
        return len(context.state.find(Book))

    toolbox = Toolbox((*TOOLBOX, count_books), prose_tool="reply")
    return replace(LIBRARY, toolbox=toolbox, optional_tools=(*LIBRARY.optional_tools, "count_books"))


VARIANTS = HandbookVariants(stream="library", own=Rules(), changes={"copies": (2, 3)}, most=1)


def unheeded(_: Patch) -> World:
    return replace(LIBRARY, rules=VARIANTS)


def by_rules(rows: list[Any], rules: Rules) -> None:
    set_first(Book, rows, copies=rules.copies)


def brittle(_: Patch) -> World:
    variants = replace(VARIANTS, changes={"aisles": (2,), "copies": (2, 3)})
    broken = variants.one_changed("copies")
    # None of the handbooks that the other checks look at changes this rule alone to this value.
    assert broken not in [variants(1_000, number) for number in (0, 1, 1_000_000, 2_000_000)]

    def broken_alone(rows: list[Any], rules: Rules) -> None:
        if rules == broken:
            raise ValueError("two copies")
        set_first(Book, rows, copies=rules.copies * 10 + rules.aisles)

    return replace(LIBRARY, rules=variants, populate=repopulated(broken_alone))


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    check: str
    """The check that it must trip, alone."""
    world: Callable[[Patch], World]
    says: str


BROKEN = (
    Broken(check="populations", world=empty, says="world seed 1: populate raised ValueError: no shelf for 1"),
    Broken(check="populations", world=forgetful, says="world seed 1: populate made other rows the second time"),
    Broken(check="populations", world=dangling, says="MEM-1: sponsor_id is 'MEM-99', but members has no such row"),
    Broken(check="invariants", world=crowded, says="world seed 1: BK-1: has 9 copies on 2031-03-04"),
    Broken(check="tasks", world=without_families, says="no task is listed in a declared split"),
    Broken(check="tasks", world=failing, says="library/lend/0000 cannot be made: "),
    Broken(check="tools", world=idle, says="no first task of any family uses the tool cancel_loan"),
    Broken(check="tools", world=busy, says="a task uses the tool lend_book, which World.optional_tools declares"),
    Broken(check="tools", world=misspelt, says="'lend_bok', a tool that the role 'librarian' has not"),
    Broken(check="pickling", world=shadowed, says="has taken the place of the tool get_member"),
    Broken(check="pickling", world=replaced, says="get_member cannot be sent to another process: it comes back"),
    Broken(check="pickling", world=nested, says="the tool count_books cannot be sent to another process: "),
    Broken(check="rules", world=unheeded, says="changing the rule 'copies' alone changes no first task"),
    Broken(check="rules", world=brittle, says="changing the rule 'copies' alone raised ValueError: two copies"),
)
WITHOUT_TASKS = (without_families, failing)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.world.__name__)
def test_a_broken_world_is_reported_with_the_rule_and_the_way_out(case: Broken, monkeypatch: Patch) -> None:
    report = check_world(case.world(monkeypatch))
    found = [finding for finding in report.findings if case.says in finding.what]
    assert found, [finding.what for finding in report.findings]
    with pytest.raises(EnvironmentCheckError) as raised:
        report.raise_for_findings()
    assert f"world library: {found[0].what}; {found[0].rule}. {found[0].way_out}" in str(raised.value)


@pytest.mark.parametrize(
    "case", [case for case in BROKEN if case.world not in WITHOUT_TASKS], ids=lambda case: case.world.__name__
)
def test_a_broken_world_trips_its_own_check_only(case: Broken, monkeypatch: Patch) -> None:
    says = {finding.rule for finding in check_world(case.world(monkeypatch)).findings}
    assert len(says) == 1


def test_every_check_has_a_broken_world() -> None:
    assert {case.check for case in BROKEN} == WORLD_CHECKS.keys()


def test_the_library_is_sound_and_the_report_says_what_was_looked_at() -> None:
    report = check_world(LIBRARY)
    report.raise_for_findings()
    assert report.summary() == (
        "4 seeds, 1 handbook, 2 families, 6 first tasks, 11 tools, rules not changed one by one"
    )


def test_more_seeds_of_each_split_can_be_populated() -> None:
    assert check_world(LIBRARY, seeds_per_split=2).seeds == (1, 2, 3, 4, 5)


def test_every_handbook_is_looked_at_and_a_rule_that_rows_follow_has_an_effect() -> None:
    report = check_world(replace(LIBRARY, rules=VARIANTS, populate=repopulated(by_rules)))
    report.raise_for_findings()
    assert (report.handbooks, report.rules) == ((0, 1, 1_000_000, 2_000_000), 1)


def test_the_human_resources_example_is_sound() -> None:
    report = check_world(open_world(palaestra.register_world(HUMAN_RESOURCES)))
    report.raise_for_findings()
    assert (report.families, report.rules) == (8, 4)


@pytest.mark.unmeasured
def test_the_storefront_is_sound() -> None:
    """Takes about 12 s: 27 rules."""
    report = check_world(open_world("storefront"))
    report.raise_for_findings()
    assert (report.families, report.tools, report.rules) == (105, 51, 27)


def test_a_long_list_of_findings_is_cut_in_the_message_alone() -> None:
    findings = tuple(WorldFinding(what=f"fault {n}", rule="no faults", way_out="Mend it") for n in range(23))
    report = WorldReport(
        world="w", seeds=(1,), handbooks=(0,), families=1, tasks=1, tools=1, rules=None, findings=findings
    )
    with pytest.raises(EnvironmentCheckError, match=r"fault 19(.|\n)*and 3 more$"):
        report.raise_for_findings()


def _accept(_: ToolEnv) -> None:
    """In place of `check_env`, which other tests hold."""


def test_the_command_checks_the_world_after_the_environment(
    monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("palaestra.cli.check.check_env", _accept)
    monkeypatch.setattr(sys, "argv", ["palaestra", "check", "--world", str(HUMAN_RESOURCES)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "palaestra/HumanResources-v0: holds its contract"
    assert out[1].startswith("world human-resources: sound (5 seeds, 4 handbooks, 8 families, 40 first tasks, ")
