"""In every state that a crash can leave the disk in, a log holds what was acknowledged and nothing that is torn."""

import errno
from pathlib import Path

import pytest

from crash.disk import Disk, Tree, become
from crash.killer import Killed, failing_at, files_of_at_most
from crash.verdict import tally
from palaestra.errors import StorageError
from palaestra.log import Log, read_log

OLD = [b'{"step":1,"loss":2.25}', b'{"step":2,"loss":1.5}', b'{"step":3,"loss":1.25}']
NEW = [b'{"step":2,"loss":9.5}', b'{"step":3,"loss":8.25}']


def story(disk: Disk, path: Path) -> None:
    """Three records, the last two acknowledged together; back to the first; two others, each acknowledged."""
    log = Log(path)
    disk.mark("")
    log.append(OLD[0])
    log.sync()
    disk.mark("1")
    log.append(OLD[1])
    disk.mark("1, 2 to come")
    log.append(OLD[2])
    log.sync()
    disk.mark("123")
    log.truncate(1)
    disk.mark("1 again")
    log.append(NEW[0])
    log.sync()
    disk.mark("1b")
    log.append(NEW[1])
    log.sync()
    disk.mark("1bc")
    log.close()


MAY = {
    "": {"", "1"},
    "1": {"1", "12"},
    "1, 2 to come": {"1", "12", "123"},
    "123": {"123", "1"},
    "1 again": {"1", "1b"},
    "1b": {"1b", "1bc"},
    "1bc": {"1bc"},
}
"""What may be read after each mark: all that was acknowledged, and records appended since, from the first one on."""


def may(marks: tuple[str, ...]) -> set[str]:
    return MAY[marks[-1]] if marks else {"nothing", ""}


def held(root: Path) -> str:
    path = root / "run" / "log.jsonl"
    names = dict(zip([*OLD, *NEW], "123bc", strict=True))
    return "".join(names.get(record, "torn") for record in read_log(path)) if path.exists() else "nothing"


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    (tmp_path / "disk").mkdir()
    disk = Disk(tmp_path / "disk")
    with disk.recorded():
        story(disk, tmp_path / "disk" / "run" / "log.jsonl")
    return disk


def test_an_acknowledged_record_is_never_lost_and_a_torn_one_never_read(disk: Disk, tmp_path: Path) -> None:
    killed = tally(disk.moments, "killed", judge=held, allowed=may, scratch=tmp_path)
    cut = tally(disk.moments, "cut", judge=held, allowed=may, scratch=tmp_path)
    assert (killed.survived, killed.states) == (12, 12)
    assert (cut.survived, cut.states) == (17, 17)


def test_after_every_crash_the_log_goes_on(disk: Disk, tmp_path: Path) -> None:
    states = set[Tree]().union(*(moment.cut | moment.killed for moment in disk.moments))
    for number, tree in enumerate(states):
        here = tmp_path / str(number)
        become(here, tree)
        before = held(here)
        with Log(here / "run" / "log.jsonl") as log:
            log.append(OLD[2])
            log.sync()
        assert held(here) == before.removeprefix("nothing") + "3"


def test_no_fsync_of_a_log_can_be_left_out(tmp_path: Path) -> None:
    number, needed, idle = 0, 1, list[int]()
    while number < needed:
        root = tmp_path / str(number)
        root.mkdir()
        disk = Disk(root)
        with disk.recorded(forgets=number):
            story(disk, root / "run" / "log.jsonl")
        if not tally(disk.moments, "cut", judge=held, allowed=may, scratch=tmp_path).wrong:
            idle.append(number)
        number, needed = number + 1, disk.synced
    assert number == 8
    assert idle == [1], "that of an old log's bytes on opening; a new one has none"


def test_what_a_log_holds_once_it_is_open_no_power_cut_takes_back(tmp_path: Path) -> None:
    died, operations, found = True, 0, set[str]()
    while died:
        root = tmp_path / str(operations)
        root.mkdir()
        disk = Disk(root)
        try:
            with disk.recorded(dies_after=operations):
                story(disk, root / "run" / "log.jsonl")
            died = False
        except Killed:
            with disk.recorded():
                Log(root / "run" / "log.jsonl").close()
        seen = held(root)
        for number, tree in enumerate(disk.moments[-1].cut):
            become(root / f"cut {number}", tree)
            assert held(root / f"cut {number}") == seen
        found.add(seen)
        operations += 1
    assert found == {"", "1", "123", "1b", "1bc"}


@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
def test_a_fault_at_any_operation_is_told_and_takes_nothing_that_was_acknowledged(
    tmp_path: Path, number: int, for_good: bool
) -> None:
    reached, operation = True, 0
    while reached:
        root = tmp_path / str(operation)
        root.mkdir()
        disk = Disk(root)
        told: int | None = None
        with failing_at(operation, number, for_good=for_good) as came:
            try:
                story(disk, root / "run" / "log.jsonl")
            except StorageError as error:
                told = error.errno
            reached = came()
        assert told == (number if reached else None)
        assert held(root) in may(disk.moments[-1].marks)
        operation += 1
    assert operation == 14


def test_a_disk_that_is_full_after_any_byte_takes_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    size, full = 0, True
    while full:
        root = tmp_path / str(size)
        root.mkdir()
        acknowledged, full = 0, False
        with files_of_at_most(size), Log(root / "run" / "log.jsonl") as log:
            try:
                for record in OLD:
                    log.append(record)
                    log.sync()
                    acknowledged += 1
            except StorageError as error:
                full = error.errno == errno.EFBIG
        assert len(read_log(root / "run" / "log.jsonl")) == acknowledged
        with Log(root / "run" / "log.jsonl", count=acknowledged) as log:
            log.append(NEW[0])
        assert held(root) == "123"[:acknowledged] + "b"
        size += 1
    assert size == sum(len(record) + 1 for record in OLD) + 1
