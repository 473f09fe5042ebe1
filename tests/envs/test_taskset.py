import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from palaestra.envs import (
    SPLITS,
    Draft,
    Family,
    Task,
    TaskSet,
    bundled_tasks,
    call,
    family,
    instantiate,
    open_world,
    split_of,
)
from palaestra.envs.check.subject import make
from palaestra.envs.state import Overlay
from palaestra.envs.task import FIRST_INDEX, LAST_INDEX
from palaestra.envs.taskset import load_families, load_folder
from palaestra.errors import CapabilityError, DrawError, TaskError, UnknownNameError
from palaestra.rubrics import MET, Criterion, expect_call
from palaestra.seeding import Stream
from worlds.library import LIBRARY, Book, populate, renew, start
from worlds.registration import LIBRARY_ID


def made(make: Callable[[Draft], Task], **kwargs: Any) -> Family[Any]:
    options: dict[str, Any] = {"level": 1, **kwargs}
    return family("library/made", **options)(make)


def plain(draft: Draft) -> Task:
    del draft
    return Task(prompt="Look.", rubric=[expect_call("get_member")], oracle=[call("finish")])


def draft(ordinal: int = 0) -> Draft:
    stream = Stream.root("draft")
    return Draft(state=Overlay(populate(1)), start=start(1), family_stream=stream, ordinal=ordinal)


# families


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"id": "Library/x", "level": 1}, "write `world/family` in lower case with hyphens"),
        ({"id": "library", "level": 1}, "write `world/family`"),
        ({"id": "library/x", "level": 4}, "level 4; levels are 1, 2 and 3"),
        ({"id": "library/x", "level": 1, "splits": ("test",)}, "there are train, dev, heldout"),
        ({"id": "library/x", "level": 1, "splits": ()}, "there are train, dev, heldout"),
    ],
)
def test_a_family_that_breaks_a_rule_is_refused_with_its_line(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(TaskError) as refused:
        family(**fields)(plain)
    assert says in str(refused.value)
    assert f"{__file__}:" in str(refused.value)


def test_a_family_knows_its_world_and_its_name() -> None:
    assert (renew.world, renew.name) == ("library", "renew-loan")


def test_the_splits_divide_the_indices() -> None:
    assert [split_of(n) for n in (0, 4_999, 5_000, 6_999, 7_000, 8_499, 8_500, 9_299, 9_300, LAST_INDEX)] == [
        "train", "train", "dev", "dev", "heldout", "heldout", "heldout-policy", "heldout-policy",
        "heldout-records", "heldout-records",
    ]  # fmt: skip
    assert list(FIRST_INDEX) == list(SPLITS)


# drafts


def test_first_picks_deal_out_every_row_before_one_returns() -> None:
    books = len(populate(1).listings["books"])
    dealt = [draft(ordinal).pick(Book).id for ordinal in range(2 * books)]
    assert len(set(dealt[:books])) == books
    assert dealt[books:] == dealt[:books]


def test_later_picks_are_draws_of_the_instance() -> None:
    def second(ordinal: int) -> str:
        fresh = draft(ordinal)
        fresh.pick(Book)
        return fresh.pick(Book).id

    assert [second(n) for n in range(20)] == [second(n) for n in range(20)]
    assert len({second(n) for n in range(20)}) > 5


def test_a_pick_of_nothing_says_what_was_looked_for() -> None:
    with pytest.raises(DrawError, match="the world has no golden book; ask for less, or plant it"):
        draft().pick(Book, lambda _: False, what="golden book")
    with pytest.raises(DrawError, match="no row of books that fits"):
        draft().pick(Book, lambda _: False)
    assert draft().today == start(1).date()


# instances


def nothing_fits(draft: Draft) -> Task:
    draft.pick(Book, lambda _: False)
    raise AssertionError


def out_of_range(draft: Draft) -> Task:
    return max([], default=[plain(draft)]).pop(7)


def twice(draft: Draft) -> Task:
    del draft
    return Task(prompt="", rubric=[expect_call("reply"), expect_call("reply")], oracle=[])


@pytest.mark.parametrize(
    ("make", "kind", "says"),
    [
        (nothing_fits, DrawError, "library/made/0003: the world has no row of books that fits"),
        (out_of_range, TaskError, "library/made/0003: IndexError: pop index out of range"),
        (twice, TaskError, "library/made/0003: RubricError: criterion id 'called-reply' occurs twice"),
    ],
)
def test_a_family_that_fails_is_named_with_the_line_of_its_own_file(
    make: Callable[[Draft], Task], kind: type[TaskError], says: str
) -> None:
    with pytest.raises(kind) as raised:
        instantiate(LIBRARY, made(make), 3)
    assert says in str(raised.value)
    assert f"{__file__}:" in str(raised.value)


def test_a_family_that_takes_no_draft_is_told_at_the_family() -> None:
    def takes_nothing() -> Task:
        raise AssertionError

    with pytest.raises(TaskError, match=r"test_taskset\.py:\d+: library/made: takes_nothing takes 0 arguments"):
        made(takes_nothing)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_instances_of_a_seed_share_their_base_and_not_their_rows() -> None:
    one, two = (instantiate(LIBRARY, renew, index) for index in (0, 2))
    assert one.initial_state.base is two.initial_state.base
    assert one.spec.world_seed == two.spec.world_seed != instantiate(LIBRARY, renew, 1).spec.world_seed
    assert one.messages != two.messages


def test_an_instance_is_a_pure_function_of_family_and_index() -> None:
    one, two = instantiate(LIBRARY, renew, 5), instantiate(replace(LIBRARY), renew, 5)
    assert (one.spec, one.messages, one.oracle) == (two.spec, two.messages, two.oracle)
    assert one.initial_state.state_hash() == two.initial_state.state_hash()


# sets


@pytest.fixture
def library() -> TaskSet:
    return bundled_tasks(LIBRARY)


def test_a_split_lists_the_instances_of_each_family_in_order(library: TaskSet) -> None:
    assert list(library.ids("train"))[3:5] == ["library/lend-book/0003", "library/renew-loan/0000"]
    assert list(library.ids("dev")) == ["library/renew-loan/5000", "library/renew-loan/5001"]
    assert all(split_of(int(i[-4:])) == split for split in library.splits for i in library.ids(split))
    with pytest.raises(UnknownNameError, match="unknown split 'trian'"):
        library.ids("trian")


def test_a_family_of_heldout_alone_has_a_number_of_its_own() -> None:
    world = replace(LIBRARY, unseen_instances=3)
    assert len(TaskSet(world, [made(plain, splits=("heldout",))]).ids("heldout")) == 3


@pytest.mark.parametrize(
    ("families", "has"),
    [
        ((made(plain),), ["heldout-world", "heldout-surface"]),
        ((made(plain, splits=("heldout",)),), ["heldout-family"]),
        (
            (made(plain), family("library/new", level=1, splits=("heldout",))(plain)),
            ["heldout-world", "heldout-family", "heldout-surface"],
        ),
        ((made(plain, splits=("train",)),), []),
    ],
)
def test_the_axes_of_held_out_tasks_are_those_that_there_are_families_for(
    families: tuple[Family[Any], ...], has: list[str]
) -> None:
    tasks = TaskSet(LIBRARY, families)
    for axis in ("heldout-world", "heldout-family", "heldout-surface"):
        if axis in has:
            assert tasks.ids(axis)
        else:
            declared = re.escape(", ".join([*tasks.splits, *has]))
            with pytest.raises(CapabilityError, match=rf"split '{axis}': .*its splits: {declared}$"):
                tasks.ids(axis)


def test_an_index_of_a_split_without_a_world_seed_is_refused(library: TaskSet) -> None:
    with pytest.raises(
        TaskError, match="index 9300 belongs to split 'heldout-records', for which library has no world"
    ):
        library.instance("library/renew-loan/9300")


def test_an_instance_is_made_once(library: TaskSet) -> None:
    assert library.instance("library/renew-loan/0009") is library.instance("library/renew-loan/0009")


@pytest.mark.parametrize(
    ("task_id", "kind", "says"),
    [
        ("library/renew-loan/12", TaskError, "an index has four digits"),
        ("library/renew-loan/10000", TaskError, "an index has four digits"),
        ("library/renew-loan/\u0660\u0660\u0660\u0660", TaskError, "an index has four digits"),
        ("library/renew-loan/²²²²", UnknownNameError, "unknown task"),
        ("library/renew-loan", UnknownNameError, "has no index; add one, such as library/renew-loan/0000"),
        ("library/renew-loan/", UnknownNameError, "did you mean 'library/renew-loan/0000'[?]"),
        ("library/renew-loam", UnknownNameError, "did you mean 'library/renew-loan/0000'"),
        ("library/renew-loam/0000", UnknownNameError, "did you mean 'library/renew-loan/0000'"),
        ("library/renew-loam/0012", UnknownNameError, "did you mean 'library/renew-loan/0012'"),
        ("library/lend-bok/5000", UnknownNameError, "did you mean 'library/lend-book/0000'"),
        ("zzz", UnknownNameError, r"there are \d+ families"),
        ("library/lend-book/5000", TaskError, "belongs to split 'dev'"),
    ],
)
def test_an_id_that_is_none_is_refused(library: TaskSet, task_id: str, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        library.instance(task_id)


def test_families_of_another_world_and_of_one_id_are_refused() -> None:
    with pytest.raises(TaskError, match="begin its id with library/"):
        TaskSet(LIBRARY, [family("shop/x", level=1)(plain)])
    with pytest.raises(TaskError, match="library/made is taken by"):
        TaskSet(LIBRARY, [made(plain), made(plain)])


def test_a_world_is_found_by_its_id() -> None:
    assert open_world("storefront") is open_world("palaestra/Storefront-v0")
    with pytest.raises(UnknownNameError, match="unknown world 'storefornt'; did you mean 'storefront'"):
        open_world("storefornt")
    assert open_world(LIBRARY_ID) is LIBRARY


# folders

SOUND = """
from palaestra.envs import Task, call, family
from palaestra.rubrics import expect_call
@family("library/{name}", level=1)
def one(draft):
    return Task(prompt="Look.", rubric=[expect_call("get_member")], oracle=[call("finish")])
"""


def test_a_folder_or_one_file_is_loaded_and_private_files_are_not(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOUND.format(name="a"))
    (tmp_path / "b.py").write_text(SOUND.format(name="b"))
    (tmp_path / "_c.py").write_text("raise RuntimeError")
    assert list(load_folder(LIBRARY, tmp_path).families) == ["library/a", "library/b"]
    assert [f.id for f in load_families(tmp_path / "b.py")] == ["library/b"]


def test_files_of_one_name_in_two_folders_are_two_modules(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.py").write_text(SOUND.format(name=name))
    assert [f.id for name in ("x", "y") for f in load_families(tmp_path / name)] == ["library/x", "library/y"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\ny = (\n", "bad.py:2: "),
        ("x = 1\nx / 0\n", "bad.py:2: ZeroDivisionError: division by zero; mend the task file"),
        ("def f():\n    import nowhere_at_all\nf()\n", "bad.py:"),
        ("from palaestra.envs import family\nfamily('X', level=1)(lambda d: d)\n", "write `world/family`"),
        ("x = 1\n", "no task family in 1 Python file(s); decorate a function with @family"),
    ],
)
def test_a_task_file_that_fails_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(TaskError) as raised:
        load_families(tmp_path)
    assert says in str(raised.value)


def test_what_is_no_folder_and_no_python_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="there is no such file or folder"):
        load_families(tmp_path / "none")
    (tmp_path / "tasks.txt").write_text("")
    with pytest.raises(TaskError, match=r"not a Python file; a task file ends in \.py"):
        load_families(tmp_path / "tasks.txt")


def test_an_empty_split_cannot_be_drawn_from() -> None:
    env = make(LIBRARY_ID)
    env._ids = ()
    with pytest.raises(TaskError, match="the split lists no instance; choose another split, or name a task"):
        env.reset(seed=0)


def test_a_rubric_that_holds_from_the_beginning_is_refused() -> None:
    def fact(draft: Draft) -> Task:
        del draft
        always = Criterion(id="always", text="It is so.", check=lambda _: MET)
        return Task(prompt="", rubric=[always], oracle=[])

    with pytest.raises(TaskError, match="holds before anything is done"):
        instantiate(LIBRARY, made(fact), 0)
