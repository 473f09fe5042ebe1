"""What callers of a file lose by a change: names, parameters, defaults; and what they do not lose."""

import pytest

from palaestra.envs.worlds.coderepair.interface import lost_names
from palaestra.envs.worlds.coderepair.library import repositories

BEFORE = """
LIMIT = 5

def read(text, size=2, *, strict=False):
    return text

def _inner():
    pass

class Book:
    def __init__(self, name):
        self.name = name

    @property
    def title(self):
        return self.name
"""
READ = "def read(text, size=2, *, strict=False):"


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        (READ, "def read(text, size=2, *, strict=False, more=0):", []),
        (READ, "def read(text, size=2, fill='0', *, strict=False):", []),
        (READ, "def read(text, size=2, *rest, strict=False, **named):", []),
        ("return text", "return text.strip()", []),
        ("def _inner():\n    pass\n", "", []),
        ("LIMIT = 5", "LIMIT = 6", []),
        ("LIMIT = 5", "def fresh(a):\n    return a", []),
        ("return text\n", "return (\n", []),  # no Python: its tests fail
        (READ, "def reads(text, size=2, *, strict=False):", ["read"]),
        (READ, "def read(size=2, text='', *, strict=False):", ["read"]),
        (READ, "def read(text, size=3, *, strict=False):", ["read"]),
        (READ, "def read(text, size, *, strict=False):", ["read"]),
        (READ, "def read(text, /, size=2, *, strict=False):", ["read"]),
        (READ, "def read(text, size=2, *, strict):", ["read"]),
        (READ, "def read(text, size=2):", ["read"]),
        (READ, "def read(text, size=2, *, strict=False, must):", ["read"]),
        (READ, "def read(*given, **named):", ["read"]),
        (READ, "async " + READ, ["read"]),
        (READ, "@staticmethod\n" + READ, ["read"]),
        ("class Book:", "read = None\n\nclass Book:", ["read"]),
        ("class Book:", "del read\n\nclass Book:", ["read"]),
        ("class Book:", "read, other = None, 1\n\nclass Book:", ["read"]),
        ("class Book:", "def read(text):\n    return text\n\nclass Book:", ["read"]),
        ("class Book:", "class Tome:", ["Book", "Book.__init__", "Book.title"]),
        ("class Book:", "class Book(dict):", ["Book"]),
        ("self, name", "self", ["Book.__init__"]),
        ("    @property\n", "", ["Book.title"]),
    ],
)
def test_a_change_loses_these_names(old: str, new: str, lost: list[str]) -> None:
    assert BEFORE.count(old) == 1
    assert lost_names({"a.py": BEFORE}, {"a.py": BEFORE.replace(old, new)}) == [f"a.py: {name}" for name in lost]


def test_a_file_that_is_gone_has_lost_everything() -> None:
    assert len(lost_names({"a.py": BEFORE}, {})) == 4


def test_no_repair_of_the_library_loses_a_name() -> None:
    for repository in repositories().values():
        for bug in repository.bugs:
            planted = {**repository.sources, bug.path: bug.plant(repository.sources[bug.path])}
            old, new = bug.other_edit(repository.sources[bug.path])
            for after in (repository.sources, {**planted, bug.path: planted[bug.path].replace(old, new)}):
                assert lost_names(planted, after) == [], bug.title
