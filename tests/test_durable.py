"""A save is killed at every operation that changes the disk; what is read afterwards is the old save or the new one."""

import errno
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from crash.killer import Killed, killed_after
from palaestra.durable import MANIFEST, file_state, find_whole_save, saving, sweep, write_file
from palaestra.errors import RecordError, StorageError


def save(target: Path, text: str) -> None:
    with saving(target) as folder:
        (folder / "deep").mkdir()
        (folder / "a.txt").write_text(text)
        (folder / "deep" / "b.txt").write_text(text * 10)


def read(target: Path) -> str:
    whole = find_whole_save(target)
    text = (whole / "a.txt").read_text()
    assert (whole / "deep" / "b.txt").read_text() == text * 10, "a save is one, not a mixture"
    return text


def nothing(target: Path) -> None:
    del target


def one(target: Path) -> None:
    save(target, "old")


def two(target: Path) -> None:
    save(target, "older")
    save(target, "old")


def broken(target: Path) -> None:
    two(target)
    (target / "a.txt").write_text("rotten")


@pytest.mark.parametrize(("prepare", "before"), [(nothing, None), (one, "old"), (two, "old"), (broken, "older")])
def test_a_save_killed_at_any_operation_leaves_the_old_one_or_the_new_one(
    tmp_path: Path, prepare: Callable[[Path], None], before: str | None
) -> None:
    completed, operations, found = False, 0, set[str | None]()
    while not completed:
        target = tmp_path / str(operations) / "save"
        prepare(target)
        try:
            with killed_after(operations):
                save(target, "new")
            completed = True
        except Killed:
            pass
        try:
            found.add(read(target))
        except RecordError:
            found.add(None)
        save(target, "next")
        assert read(target) == "next", "after the crash one can save again"
        operations += 1
    assert operations > 6
    assert found == {before, "new"}


def test_a_file_may_be_read_by_whom_the_umask_allows_and_a_private_one_by_its_owner(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "report.md", b"x")
        write_file(tmp_path / "keys.json", b"x", private=True)
    finally:
        os.umask(before)
    assert (tmp_path / "report.md").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600


def test_a_save_that_fails_leaves_what_stood_there_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "save"
    save(target, "old")
    with pytest.raises(ZeroDivisionError), saving(target) as folder:
        (folder / "a.txt").write_text(str(1 // 0))
    assert read(target) == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["save"]


def test_the_save_before_is_kept_and_the_one_before_that_is_not(tmp_path: Path) -> None:
    target = tmp_path / "save"
    for text in ("1", "2", "3"):
        save(target, text)
    assert read(target) == "3"
    shutil.rmtree(target)
    assert read(target) == "2"
    assert len(list(tmp_path.iterdir())) == 1


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    target = tmp_path / "save"
    save(target, "older")
    save(target, "old")
    for file in (target / "a.txt", target / "deep" / "b.txt", target / MANIFEST):
        whole = file.read_bytes()
        for position in range(len(whole)):
            flipped = bytearray(whole)
            flipped[position] ^= 1 << (position % 8)
            file.write_bytes(flipped)
            assert read(target) == "older"
        file.write_bytes(whole[:-1])
        assert read(target) == "older"
        file.write_bytes(whole)
        assert read(target) == "old"


def test_a_lost_file_is_noticed(tmp_path: Path) -> None:
    target = tmp_path / "save"
    one(target)
    (target / "a.txt").unlink()
    with pytest.raises(RecordError, match=r"a\.txt is missing; .*save\.previous: not there; run the command"):
        find_whole_save(target)


@pytest.mark.parametrize("manifest", ["[]", "3", '"text"', "null", ""])
def test_a_manifest_that_is_none_is_noticed(tmp_path: Path, manifest: str) -> None:
    target = tmp_path / "save"
    two(target)
    (target / MANIFEST).write_text(manifest)
    assert read(target) == "older"


def test_a_broken_save_does_not_push_the_last_whole_one_out(tmp_path: Path) -> None:
    target = tmp_path / "save"
    broken(target)
    with killed_after(0), pytest.raises(Killed):
        save(target, "new")
    assert read(target) == "older"
    save(target, "new")
    shutil.rmtree(target)
    assert read(target) == "older"


FULL = """
import resource, sys
from pathlib import Path
from palaestra.durable import saving, write_file
from palaestra.errors import StorageError
target = Path(sys.argv[1])
limit = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
try:
    if sys.argv[2] == "folder":
        with saving(target) as folder:
            (folder / "a.txt").write_bytes(b"x" * 5000)
    else:
        write_file(target, b"x" * 5000)
except StorageError as error:
    print(error.errno, error)
finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
"""


@pytest.mark.parametrize("form", ["folder", "file"])
def test_a_full_disk_is_told_and_leaves_what_stood_there(tmp_path: Path, form: str) -> None:
    target = tmp_path / "save"
    if form == "folder":
        save(target, "old")
    else:
        write_file(target, b"old")
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(target), form],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(f"{errno.EFBIG} ")
    assert f"could not save {target}" in done.stdout
    assert "what stood there is untouched; free some space and run it again" in done.stdout
    assert (read(target) if form == "folder" else target.read_text()) == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["save"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000


def test_a_path_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="check the path and its rights"):
        save(tmp_path / "file" / "save", "new")
    with pytest.raises(StorageError, match="check the path and its rights"):
        write_file(tmp_path / "file" / "save", b"new")


def test_a_file_killed_at_any_operation_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    target, found, operations = tmp_path / "file.json", set[bytes](), 0
    completed = False
    while not completed:
        write_file(target, b"old")
        try:
            with killed_after(operations):
                write_file(target, b"new")
            completed = True
        except Killed:
            pass
        found.add(target.read_bytes())
        operations += 1
    assert found == {b"old", b"new"}


def test_a_storage_error_of_the_block_is_told_once(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as raised, saving(tmp_path / "outer"):
        write_file(tmp_path / ("n" * 300), b"")
    assert str(raised.value).count("could not save") == 1


def test_a_directory_that_no_save_made_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(StorageError, match=r"mine holds something else .* choose a new directory"):
        save(tmp_path / "mine", "new")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_a_directory_that_one_stands_in_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "below")
    for target in (Path(), Path(".."), tmp_path):
        with pytest.raises(StorageError, match="is not replaced"):
            save(target, "new")


def test_two_saves_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    with saving(tmp_path / "save") as first:
        (first / "deep").mkdir()
        save(tmp_path / "save", "inner")
        (first / "a.txt").write_text("outer")
        (first / "deep" / "b.txt").write_text("outer" * 10)
    assert read(tmp_path / "save") == "outer"


def test_an_error_about_another_file_is_the_caller_s_own(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"input\.csv"), saving(tmp_path / "save"):
        Path("/no/such/input.csv").read_text()


@pytest.mark.parametrize("prepare", [one, two, broken])
def test_a_sweep_removes_all_that_killed_saves_left(tmp_path: Path, prepare: Callable[[Path], None]) -> None:
    target, left = tmp_path / "save", set[Path]()
    prepare(target)
    before, died, operations = read(target), True, 3
    while died:
        try:
            with killed_after(operations):
                save(target, "new")
            died = False
        except Killed:
            left |= {path for path in tmp_path.iterdir() if path.name.startswith(".")}
        operations += 1
    sweep(target)
    assert len(left) >= 4
    assert {path.name for path in tmp_path.iterdir()} <= {"save", "save.previous"}
    assert read(target) in {before, "new"}


def test_a_sweep_leaves_what_is_another_save_s(tmp_path: Path) -> None:
    target = tmp_path / "demo"
    save(target, "old")
    with saving(tmp_path / "demo-2") as theirs:  # somebody else's, still being written
        (theirs / "deep").mkdir()
        sweep(target)
        (theirs / "a.txt").write_text("theirs")
        (theirs / "deep" / "b.txt").write_text("theirs" * 10)
    assert (read(target), read(tmp_path / "demo-2")) == ("old", "theirs")


def test_a_sweep_where_nothing_is_does_nothing(tmp_path: Path) -> None:
    sweep(tmp_path / "no" / "save")
    assert list(tmp_path.iterdir()) == []


def test_folders_above_a_save_are_made(tmp_path: Path) -> None:
    save(tmp_path / "runs" / "today" / "save", "new")
    write_file(tmp_path / "other" / "deep" / "file", b"new")
    assert read(tmp_path / "runs" / "today" / "save") == "new"


def test_the_state_of_a_file_changes_with_its_content_and_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a"
    assert file_state(path) is None
    assert file_state(None) is None
    path.write_bytes(b"1")
    first = file_state(path)
    write_file(path, b"1")
    second = file_state(path)
    path.write_bytes(b"12")
    assert len({first, second, file_state(path), None}) == 4
