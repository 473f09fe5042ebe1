"""Names of workers. The ids of sessions and snapshots begin with the name of the worker that holds them."""

import re

from palaestra.record import record

_PREFIX = re.compile(r"w(0|[1-9][0-9]{0,3})g([1-9][0-9]{0,8})-")


@record
class WorkerName:
    """A worker of a server. One that replaces another has a new generation."""

    number: int
    """Its place, counted from 0."""
    generation: int
    """The number of workers so far in this place, itself included."""

    def __str__(self) -> str:
        return f"w{self.number}g{self.generation}"

    def make_id(self, token: str) -> str:
        """The id of something that this worker holds; `token` is the part that nobody can guess."""
        return f"{self}-{token}"


def worker_of(id_: str) -> WorkerName | None:
    """The worker that made an id; `None` if none did."""
    match = _PREFIX.match(id_)
    return None if match is None else WorkerName(number=int(match[1]), generation=int(match[2]))
