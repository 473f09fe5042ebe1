"""Records of generated worlds: none is judged twice, and what was torn or is stale is judged again."""

from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from palaestra.envs.synthesis import generate_blueprint
from palaestra.proof.world_records import WorldRecords


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A world and how often any world was judged by then."""

    number: int
    blueprint: str
    turn: int


class Judge:
    """Judges worlds, and counts."""

    def __init__(self) -> None:
        self.turns = 0

    def __call__(self, number: int) -> Judged:
        self.turns += 1
        return Judged(number=number, blueprint=generate_blueprint(number).digest, turn=self.turns)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "judged.jsonl"


def test_a_world_is_judged_once_and_read_in_the_order_of_numbers(path: Path) -> None:
    judge, records = Judge(), WorldRecords(path, Judged)
    assert records.read() == []
    assert [one.number for one in records.extend([3, 1], judge)] == [3, 1]
    assert [one.number for one in records.extend([1, 2, 3], judge)] == [2]
    assert [(one.number, one.turn) for one in records.read()] == [(1, 2), (2, 3), (3, 1)]


def test_a_world_whose_blueprint_changed_or_whose_record_lacks_something_is_judged_again(path: Path) -> None:
    records = WorldRecords(path, Judged)
    stale = Judged(number=1, blueprint="another", turn=0)
    list(records.extend([1], lambda _: stale))
    judge = Judge()
    assert [one.turn for one in records.extend([1], judge)] == [1]
    assert [one.turn for one in records.extend([1], judge, is_whole=lambda one: one.turn > 1)] == [2]
    assert [one.turn for one in records.read()] == [2]


def test_what_was_recorded_before_a_stop_is_kept_and_a_torn_line_spoils_nothing(path: Path) -> None:
    records = WorldRecords(path, Judged)
    begun = records.extend([1, 2], Judge())
    first = next(begun)
    begun.close()
    with path.open("ab") as file:
        file.write(orjson.dumps(first)[:20])
    assert [one.number for one in records.extend([1, 2], Judge())] == [2]
    assert [one.number for one in records.read()] == [1, 2]
