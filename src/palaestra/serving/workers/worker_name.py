"""Which worker holds a session: the ids of sessions and snapshots begin with its name."""

import re

from palaestra.record import record

_PREFIX = re.compile(r"w(0|[1-9][0-9]{0,3})g([1-9][0-9]{0,8})-")


@record
class WorkerName:
    """A worker of a server. One that takes the place of another has a new generation."""

    number: int
    """Its place, from 0 on."""
    generation: int
    """How many there have been in this place, itself included."""

    def __str__(self) -> str:
        return f"w{self.number}g{self.generation}"

    def make_id(self, token: str) -> str:
        """The id of something that this worker holds; `token` is what nobody can guess."""
        return f"{self}-{token}"


def worker_of(id_: str) -> WorkerName | None:
    """Whose id it is; `None` where no worker has made it."""
    match = _PREFIX.match(id_)
    return None if match is None else WorkerName(number=int(match[1]), generation=int(match[2]))
