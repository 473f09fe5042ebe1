"""Prints what Palaestra requires, with extras: `requirements.py pyproject.toml EXTRA...`, for a layer of its own."""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

_OWN = re.compile(r"palaestra\[([\w, -]+)\]")
"""An extra that consists of others, such as `palaestra[http]`."""


def requirements_of(extra: str, extras: Mapping[str, list[str]]) -> Iterator[str]:
    """What an extra requires of others than Palaestra."""
    for requirement in extras[extra]:
        if own := _OWN.fullmatch(requirement):
            for name in own[1].split(","):
                yield from requirements_of(name.strip(), extras)
        else:
            yield requirement


def main(file: Path, extras: list[str]) -> None:
    """Print one requirement a line."""
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    chosen = [one for extra in extras for one in requirements_of(extra, project["optional-dependencies"])]
    print("\n".join([*project["dependencies"], *chosen]))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
