"""The repositories, as they are right, and the faults that tasks plant in them: read from `repositories/`.

A file begins with what the repository is, followed by sections. `=== source PATH` and `=== test PATH` are its files,
`=== hidden PATH` tests that no agent sees. `=== bug PATH` has a title, what is reported, and the text that is right
(`--- right`), what stands in its place (`--- wrong`), and a repair that is written otherwise (`--- otherwise`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_FOLDER = Path(__file__).with_name("repositories")
_CONFTEST = '"""Settings of the tests."""\n\nSTRICT = True\n'
_SECTION = re.compile(r"^=== (\w+) (\S+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedBug:
    """A fault, and how it is reported."""

    path: str
    title: str
    report: str
    right: str
    wrong: str
    otherwise: str
    """Another text that is right in the place of `wrong`."""

    def plant(self, text: str) -> str:
        """The file with the fault in it."""
        assert text.count(self.right) == 1, f"{self.path}: {self.right!r} stands there once"
        return text.replace(self.right, self.wrong)

    def edit(self, text: str) -> tuple[str, str]:
        """What an edit of the file replaces, and by what: whole lines, as many as tell the place from others.

        Args:
            text: The file as it is right.
        """
        start, end = self._lines(text)
        new = text[start:end]
        return new.replace(self.right, self.wrong), new

    def other_edit(self, text: str) -> tuple[str, str]:
        """The edit with the repair that is written otherwise."""
        start, end = self._lines(text)
        lines = text[start:end]
        return lines.replace(self.right, self.wrong), lines.replace(self.right, self.otherwise)

    def _lines(self, text: str) -> tuple[int, int]:
        """From where to where the lines of the edit go."""
        planted = self.plant(text)
        first = text.index(self.right)
        start = text.rfind("\n", 0, first) + 1
        end = first + len(self.right)
        while True:
            tail = text.find("\n", end)
            end = len(text) if tail < 0 else tail
            new = text[start:end]
            old = new.replace(self.right, self.wrong)
            if planted.count(old) == 1 and old not in new:  # made twice, it is refused
                return start, end
            start = text.rfind("\n", 0, start - 1) + 1 if start else 0
            end = min(end + 1, len(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRepository:
    """A repository as it is right."""

    name: str
    about: str
    sources: Mapping[str, str]
    tests: Mapping[str, str]
    hidden: Mapping[str, str]
    bugs: tuple[PlantedBug, ...]


@lru_cache(maxsize=1)
def repositories() -> Mapping[str, RepairRepository]:
    """Every repository, by name."""
    return {path.stem: _read(path.stem, path.read_text(encoding="utf-8")) for path in sorted(_FOLDER.glob("*.txt"))}


def _read(name: str, text: str) -> RepairRepository:
    about, *rest = _SECTION.split(text)
    files: dict[str, dict[str, str]] = {
        "test": {f"{name}/tests/conftest.py": _CONFTEST},
        "source": {f"{name}/__init__.py": f'"""{about.strip()}"""\n'},
    }
    bugs: list[PlantedBug] = []
    for kind, path, body in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        if kind == "bug":
            bugs.append(_read_bug(path, body))
        else:
            files.setdefault(kind, {})[path if kind == "source" else f"{name}/{path}"] = body
    return RepairRepository(
        name=name,
        about=about.strip(),
        sources=files["source"],
        tests=files["test"],
        hidden=files["hidden"],
        bugs=tuple(bugs),
    )


def _read_bug(path: str, body: str) -> PlantedBug:
    told, _, change = body.partition("\n--- right\n")
    title, _, report = told.partition("\n")
    right, _, rest = change.partition("\n--- wrong\n")
    wrong, _, otherwise = rest.partition("\n--- otherwise\n")
    return PlantedBug(
        path=path,
        title=title,
        report=report.replace("\n", " "),
        right=right,
        wrong=wrong,
        otherwise=otherwise.rstrip("\n"),
    )
