"""In every state that a crash can leave the disk in, a save is whole, and one that was acknowledged is not lost."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from crash.disk import Disk, Tree, become
from crash.killer import Killed, failing_at, files_of_at_most, killed_after
from crash.verdict import tally
from palaestra.durable import find_whole_save, saving, sweep, write_file
from palaestra.errors import RecordError, StorageError

Save: TypeAlias = Callable[[Path, str], None]
FOUR = ("config.json", "model.bin", "optimiser.pt", "progress.json")
TWO = ("config.json", "weights/shards/1.bin")


def text(name: str, save: str) -> str:
    return f"{name} of save {save}"


def saver(files: tuple[str, ...]) -> Save:
    """Saves with our protocol."""

    def save(target: Path, what: str) -> None:
        with saving(target) as folder:
            fill(folder, files, what)

    return save


def fill(folder: Path, files: tuple[str, ...], what: str) -> None:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text(name, what))


def held(folder: Path, files: tuple[str, ...]) -> str:
    """Which save a folder holds, "mixed" where it holds none of them whole."""
    found = {name: (folder / name).read_text() if (folder / name).is_file() else "" for name in files}
    saves = (save for save in "1239" if found == {name: text(name, save) for name in files})
    return next(saves, "mixed" if any(found.values()) else "nothing")


def loader(files: tuple[str, ...]) -> Callable[[Path], str]:
    """Loads what our protocol saved below a disk's root."""

    def load(root: Path) -> str:
        try:
            return held(find_whole_save(root / "run" / "save"), files)
        except RecordError:
            return "nothing"

    return load


def either(marks: tuple[str, ...]) -> set[str]:
    """The last save that was acknowledged, or the one that has begun since."""
    begun = [mark.removeprefix("begun ") for mark in marks if mark.startswith("begun")]
    done = [mark.removeprefix("done ") for mark in marks if mark.startswith("done")]
    return {done[-1] if done else "nothing", *begun[len(done) :]}


def saved(disk: Disk, root: Path, save: Save, texts: str) -> None:
    for what in texts:
        disk.mark(f"begun {what}")
        save(root / "run" / "save", what)
        disk.mark(f"done {what}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Of a disk."""
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of the model a crash is not to be feared, and an fsync costs milliseconds."""

    def fsync(descriptor: int) -> None:
        del descriptor

    monkeypatch.setattr(os, "fsync", fsync)


def test_three_saves_of_four_files_survive_every_crash(root: Path, tmp_path: Path) -> None:
    disk = Disk(root)
    with disk.recorded():
        saved(disk, root, saver(FOUR), "123")
    killed = tally(disk.moments, "killed", judge=loader(FOUR), allowed=either, scratch=tmp_path)
    cut = tally(disk.moments, "cut", judge=loader(FOUR), allowed=either, scratch=tmp_path)
    assert (killed.survived, killed.states) == (63, 63)
    assert (cut.survived, cut.states) == (9428, 9428)


def in_place(target: Path, what: str) -> None:
    """A protocol that overwrites the files of the save before."""
    target.mkdir(parents=True, exist_ok=True)
    fill(target, FOUR, what)


def test_files_that_are_overwritten_in_place_are_found_mixed(root: Path, tmp_path: Path) -> None:
    disk = Disk(root)
    with disk.recorded():
        saved(disk, root, in_place, "1")
        disk.settle()
        saved(disk, root, in_place, "2")

    def load(at: Path) -> str:
        return held(at / "run" / "save", FOUR)

    killed = tally(disk.moments, "killed", judge=load, allowed=either, scratch=tmp_path)
    cut = tally(disk.moments, "cut", judge=load, allowed=either, scratch=tmp_path)
    assert (killed.survived, killed.states) == (6, 23)
    assert (cut.survived, cut.states) == (1, 707)
    assert killed.wrong["mixed"] == 17
    assert cut.wrong["mixed"] > 600


def test_saves_without_an_fsync_are_found_lost(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def trusting(path: Path) -> None:
        del path

    monkeypatch.setattr("palaestra.durable.sync", trusting)
    disk = Disk(root)
    with disk.recorded():
        saved(disk, root, saver(TWO), "1")
        disk.settle()
        saved(disk, root, saver(TWO), "2")
    killed = tally(disk.moments, "killed", judge=loader(TWO), allowed=either, scratch=tmp_path)
    cut = tally(disk.moments, "cut", judge=loader(TWO), allowed=either, scratch=tmp_path)
    assert killed.survived == killed.states
    assert set(cut.wrong) == {"1", "nothing"}, "acknowledged, and lost; the manifest keeps it from being mixed"


def test_no_fsync_of_a_save_can_be_left_out(root: Path, tmp_path: Path) -> None:
    number, needed, idle = 0, 1, list[int]()
    while number < needed:
        here = root / str(number)
        here.mkdir()
        disk = Disk(here)
        with disk.recorded(forgets=number):
            saved(disk, here, saver(TWO), "12")
        if not tally(disk.moments, "cut", judge=loader(TWO), allowed=either, scratch=tmp_path).wrong:
            idle.append(number)
        number, needed = number + 1, disk.synced
    assert number == 16
    assert idle == [8], "that of the folder above, for a process that was killed as it made the folder"


@pytest.mark.usefixtures("quick")
def test_after_every_crash_one_can_save_again_and_sweep(root: Path, tmp_path: Path) -> None:
    disk, save, load = Disk(root), saver(TWO), loader(TWO)
    with disk.recorded():
        saved(disk, root, save, "123")
    states = set[Tree]().union(*(moment.cut | moment.killed for moment in disk.moments))
    for tree in states:
        here = tmp_path / "crashed"
        become(here, tree)
        save(here / "run" / "save", "9")
        sweep(here / "run" / "save")
        assert {path.name for path in (here / "run").iterdir()} <= {"save", "save.previous"}
        assert load(here) == "9"
        shutil.rmtree(here)
    assert len(states) == 562


def test_what_is_read_after_a_kill_and_a_sweep_no_power_cut_takes_back(root: Path, tmp_path: Path) -> None:
    load, died, found, operations = loader(TWO), True, set[str](), 0
    while died:
        here = root / str(operations)
        here.mkdir()
        disk = Disk(here)
        try:
            with disk.recorded(dies_after=operations):
                saved(disk, here, saver(TWO), "12")
            died = False
        except Killed:
            with disk.recorded():
                sweep(here / "run" / "save")
        seen = load(here)
        for tree in disk.moments[-1].cut:
            become(tmp_path / "cut", tree)
            assert load(tmp_path / "cut") == seen, operations
            shutil.rmtree(tmp_path / "cut")
        found.add(seen)
        operations += 1
    assert found == {"nothing", "1", "2"}


@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.usefixtures("quick")
def test_a_fault_at_any_operation_is_told_and_leaves_a_whole_save(tmp_path: Path, number: int, for_good: bool) -> None:
    load, save = loader(TWO), saver(TWO)
    reached, operation, found = True, 0, set[str]()
    while reached:
        here = tmp_path / str(operation)
        target = here / "run" / "save"
        save(target, "1")
        save(target, "2")
        told = False
        with failing_at(operation, number, for_good=for_good) as came:
            try:
                save(target, "3")
            except StorageError as error:
                told = error.errno == number
            reached = came()
        answer = load(here)
        assert answer == "3" if not told else answer in {"2", "3"}
        save(target, "9")
        sweep(target)
        assert {path.name for path in (here / "run").iterdir()} <= {"save", "save.previous"}
        assert load(here) == "9"
        found.add(answer)
        operation += 1
    assert operation > 20
    assert found == {"2", "3"}


def test_a_save_after_a_kill_no_power_cut_takes_back(root: Path, tmp_path: Path) -> None:
    load, died, operations = loader(TWO), True, 0
    while died:
        here = root / str(operations)
        here.mkdir()
        disk = Disk(here)
        try:
            with disk.recorded(dies_after=operations):
                saved(disk, here, saver(TWO), "1")
            died = False
        except Killed:
            with disk.recorded():
                sweep(here / "run" / "save")
                saver(TWO)(here / "run" / "save", "2")
            for tree in disk.moments[-1].cut:
                become(tmp_path / "cut", tree)
                assert load(tmp_path / "cut") == "2", operations
                shutil.rmtree(tmp_path / "cut")
        operations += 1
    assert operations > 15


@pytest.mark.usefixtures("quick")
def test_a_disk_that_is_full_after_any_byte_is_told_and_leaves_what_stood_there(tmp_path: Path) -> None:
    target, size, full = tmp_path / "run" / "save", 0, True
    saver(TWO)(target, "1")
    while full:
        full = False
        with files_of_at_most(size):
            try:
                saver(TWO)(target, "2")
            except StorageError as error:
                full = error.errno == errno.EFBIG
        assert loader(TWO)(tmp_path) == ("1" if full else "2")
        assert len(list(target.parent.iterdir())) == (1 if full else 2)
        size += 1
    assert size > 100


def test_one_file_is_the_old_one_or_the_new_one_after_every_crash(root: Path, tmp_path: Path) -> None:
    def save(target: Path, what: str) -> None:
        write_file(target, f"save {what}".encode())

    def load(at: Path) -> str:
        file = at / "run" / "save"
        return file.read_text().removeprefix("save ") if file.exists() else "nothing"

    disk = Disk(root)
    with disk.recorded():
        saved(disk, root, save, "123")
    killed = tally(disk.moments, "killed", judge=load, allowed=either, scratch=tmp_path)
    cut = tally(disk.moments, "cut", judge=load, allowed=either, scratch=tmp_path)
    assert (killed.survived, killed.states) == (14, 14)
    assert (cut.survived, cut.states) == (17, 17)


@pytest.mark.usefixtures("quick")
def test_what_a_killed_write_of_one_file_left_is_swept(tmp_path: Path) -> None:
    target, died, left, operations = tmp_path / "file.json", True, 0, 0
    while died:
        try:
            with killed_after(operations):
                write_file(target, b"{}")
            died = False
        except Killed:
            left += len(list(tmp_path.glob(".*.tmp")))
        sweep(target)
        assert {path.name for path in tmp_path.iterdir()} <= {"file.json"}
        operations += 1
    assert left
