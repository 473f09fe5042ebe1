"""Records of generated worlds in a folder, one per line, so that the same command continues where it stopped."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import orjson
from pydantic import TypeAdapter

from palaestra.envs.synthesis import generate_blueprint
from palaestra.log import Log, read_log
from palaestra.process_pool import process_pool


class WorldRecord(Protocol):
    """The record of one world; a dataclass."""

    @property
    def number(self) -> int:
        """The number of the world."""
        ...

    @property
    def blueprint(self) -> str:
        """The digest of its blueprint."""
        ...


R = TypeVar("R", bound=WorldRecord)


class WorldRecords(Generic[R]):
    """The records of a file.

    Args:
        path: The file; it and its folder are made if they are missing.
        kind: The class of a record.
    """

    def __init__(self, path: Path, kind: type[R]) -> None:
        self._path = path
        self._adapter = TypeAdapter[R](kind)

    def read(self) -> list[R]:
        """The last record of each world, in the order of their numbers."""
        found = map(self._adapter.validate_json, read_log(self._path) if self._path.exists() else ())
        return sorted({one.number: one for one in found}.values(), key=lambda one: one.number)

    def extend(
        self,
        numbers: Iterable[int],
        judge: Callable[[int], R],
        *,
        is_whole: Callable[[R], bool] = lambda _: True,
        jobs: int = 1,
    ) -> Generator[R]:
        """Judge worlds in order, and record and yield each.

        Args:
            numbers: The worlds; those with a complete record of their present blueprint are left out.
            judge: Returns the record of a world; it is pickled if there are several processes.
            is_whole: Whether a record is complete.
            jobs: The number of processes. It changes nothing in a record except its seconds.
        """
        done = {one.number: one.blueprint for one in self.read() if is_whole(one)}
        left = [n for n in numbers if n not in done or done[n] != generate_blueprint(n).digest]
        with Log(self._path) as log:
            for one in _judge_each(left, judge, jobs):
                log.append(orjson.dumps(one))
                log.sync()
                yield one


def _judge_each(numbers: Sequence[int], judge: Callable[[int], R], jobs: int) -> Iterator[R]:
    if jobs == 1:
        yield from map(judge, numbers)
        return
    with process_pool(jobs) as pool:
        yield from pool.map(judge, numbers)
