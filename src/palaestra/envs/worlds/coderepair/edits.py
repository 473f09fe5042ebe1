"""Edits at random that the files take: what the proof's wrong work and its agents without knowledge try.

A line is marked, left out or renamed, or a number in it is changed. So random work does harm of every kind here:
it breaks tests, takes functions from their callers, and changes files that it should not.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from palaestra.envs.worlds.coderepair.library import repositories
from palaestra.records import JsonObject
from palaestra.seeding import Stream

_NAME = re.compile(r"(def |class )(\w+)")
_NUMBER = re.compile(r"\d+")
_SOURCES = 75
"""How often of a hundred times a source file is taken, where there is one."""


def draw_edit(ids: Callable[[str], Sequence[str]], stream: Stream) -> JsonObject:
    """Arguments of `edit_file` that change one line of a file among `ids`."""
    files = [key for key in ids("files") if _lines(key)]
    sources = [key for key in files if "/tests/" not in key]
    if not files:
        return {"file_id": next(iter(ids("files")), "nowhere.py"), "old": "x", "new": "y"}
    file = stream.choice(sources if sources and stream.chance(_SOURCES) else files)
    line = stream.choice(_lines(file))
    made = [new for change in _CHANGES if (new := change(line)) != line]
    return {"file_id": file, "old": line, "new": stream.choice(made)}


def _mark(line: str) -> str:
    return f"{line.rstrip()}  # looked at\n"


def _leave_out(line: str) -> str:
    return "" if line.strip() else line


def _rename(line: str) -> str:
    return _NAME.sub(r"\1other_\2", line, count=1)


def _change_number(line: str) -> str:
    return _NUMBER.sub(lambda found: str(int(found[0]) + 1), line, count=1)


_CHANGES = (_mark, _leave_out, _rename, _change_number)


@lru_cache(maxsize=256)
def _lines(key: str) -> tuple[str, ...]:
    """The lines of a file that stand in it once, definitions twice as likely as others."""
    text = _texts().get(key, "")
    lines = [line for line in text.splitlines(keepends=True) if line.strip() and text.count(line) == 1]
    return (*lines, *(line for line in lines if _NAME.search(line)))


@lru_cache(maxsize=1)
def _texts() -> dict[str, str]:
    """Every file as it is right; where a fault is planted, an edit of its line is refused."""
    return {path: text for one in repositories().values() for path, text in {**one.sources, **one.tests}.items()}
