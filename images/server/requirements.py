"""Prints what Palaestra requires, with extras: `requirements.py pyproject.toml EXTRA...`, for a layer of its own."""

import sys
import tomllib
from pathlib import Path


def main(file: Path, extras: list[str]) -> None:
    """Print one requirement a line."""
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    chosen = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
    print("\n".join(one for requirements in chosen for one in requirements))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
