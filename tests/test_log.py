"""What a log keeps, what it drops, and what it refuses."""

import errno
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from palaestra.errors import RecordError, StorageError
from palaestra.log import Log, read_log

VALUES = st.recursive(st.none() | st.integers(-5, 5) | st.text(max_size=4), lambda some: st.lists(some, max_size=2))
RECORDS = VALUES.map(orjson.dumps)


def begun(path: Path, *records: bytes) -> None:
    with Log(path) as log:
        for record in records:
            log.append(record)
        log.sync()


def test_what_is_appended_is_read_back_in_order(tmp_path: Path) -> None:
    begun(tmp_path / "new" / "folder" / "log.jsonl", b'{"step":1}', b"2", b'"three"')
    begun(tmp_path / "new" / "folder" / "log.jsonl", b"[4]")
    assert read_log(tmp_path / "new" / "folder" / "log.jsonl") == [b'{"step":1}', b"2", b'"three"', b"[4]"]


def test_a_new_log_holds_nothing(tmp_path: Path) -> None:
    with Log(tmp_path / "log.jsonl") as log:
        assert len(log) == 0
    assert read_log(tmp_path / "log.jsonl") == []


@pytest.mark.parametrize("record", [b"", b"{", b'{"a":\n1}', b"1\n", b"NaN", b"\0"])
def test_what_is_no_line_of_json_is_refused_and_not_written(tmp_path: Path, record: bytes) -> None:
    with Log(tmp_path / "log.jsonl") as log:
        with pytest.raises(ValueError, match="is not one line of JSON"):
            log.append(record)
        log.append(b"1")
    assert read_log(tmp_path / "log.jsonl") == [b"1"]


@given(records=st.lists(RECORDS, min_size=1, max_size=4), data=st.data())
def test_a_log_that_is_cut_anywhere_holds_the_records_before(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    whole = b"".join(record + b"\n" for record in records)
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    kept = records[: whole[:cut].count(b"\n")]
    assert read_log(path) == kept
    begun(path, b'"next"')
    assert read_log(path) == [*kept, b'"next"']


def test_nothing_behind_a_torn_record_is_read(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(b'1\n\0\0\0\0"half"}\n3\n')
    assert read_log(tmp_path / "log.jsonl") == [b"1"]
    with Log(tmp_path / "log.jsonl") as log:
        assert len(log) == 1
    assert (tmp_path / "log.jsonl").read_bytes() == b"1\n"


def test_a_log_goes_back_to_what_a_checkpoint_knows(tmp_path: Path) -> None:
    begun(tmp_path / "log.jsonl", b"1", b"2", b"3")
    with Log(tmp_path / "log.jsonl", count=2) as log:
        assert len(log) == 2
        log.append(b'"another"')
    assert read_log(tmp_path / "log.jsonl") == [b"1", b"2", b'"another"']


@pytest.mark.parametrize("count", [-1, 3])
def test_a_log_that_holds_less_than_a_checkpoint_knows_is_refused_and_left_as_it_is(tmp_path: Path, count: int) -> None:
    (tmp_path / "log.jsonl").write_bytes(b"1\n2\nrotten\n4\n")
    with pytest.raises(RecordError, match=rf"log\.jsonl holds 2 whole records, not the {count} asked for; go on from"):
        Log(tmp_path / "log.jsonl", count=count)
    assert (tmp_path / "log.jsonl").read_bytes() == b"1\n2\nrotten\n4\n"


def test_a_log_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"none\.jsonl: cannot be read \(No such file"):
        read_log(tmp_path / "none.jsonl")


def test_a_log_that_was_closed_says_so(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    log.close()
    log.close()
    with pytest.raises(StorageError, match="was closed, by `close` or by a fault; open it again"):
        log.append(b"1")


def test_a_log_closes_itself_when_an_fsync_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path / "log.jsonl")
    log.append(b"1")

    def failing(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", failing)
        with pytest.raises(StorageError, match=r"could not save .*log\.jsonl: Input/output error"):
            log.sync()
    with pytest.raises(StorageError, match="open it again"):
        log.sync()
    with Log(tmp_path / "log.jsonl") as again:
        assert len(again) == 1


class LogMachine(RuleBasedStateMachine):
    """A log is a list, whatever is done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.quick = patch.object(os, "fsync", self.synced)
        self.quick.start()
        self.path = Path(self.folder.name) / "log.jsonl"
        self.log, self.model = Log(self.path), list[bytes]()

    @rule(record=RECORDS)
    def append(self, record: bytes) -> None:
        self.log.append(record)
        self.model.append(record)

    @rule()
    def sync(self) -> None:
        self.log.sync()

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(0, len(self.model)))
        self.log.truncate(count)
        del self.model[count:]

    @rule(data=st.data(), back=st.booleans())
    def reopen(self, data: st.DataObject, back: bool) -> None:
        self.log.close()
        count = data.draw(st.integers(0, len(self.model))) if back else None
        self.log = Log(self.path, count=count)
        del self.model[len(self.log) if count is None else count :]

    @rule(junk=st.binary(max_size=6).filter(lambda some: b"\n" not in some))
    def tear(self, junk: bytes) -> None:
        self.log.close()
        with self.path.open("ab") as file:
            file.write(junk)
        self.log = Log(self.path)

    @invariant()
    def is_the_list(self) -> None:
        assert read_log(self.path) == self.model
        assert len(self.log) == len(self.model)

    def teardown(self) -> None:
        self.log.close()
        self.quick.stop()
        self.folder.cleanup()

    def synced(self, descriptor: int) -> None:
        """No crash is to be feared here, and an fsync costs milliseconds."""


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=50, stateful_step_count=20)
