"""The layer of requirements: everything that an extra needs, and never Palaestra, which no registry has."""

import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def printed(file: Path, *extras: str) -> list[Requirement]:
    script = ROOT / "images" / "server" / "requirements.py"
    command = [sys.executable, str(script), str(file), *extras]
    return [Requirement(line) for line in subprocess.check_output(command, text=True).splitlines()]


def test_an_extra_of_extras_gives_what_these_require(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(
        """
        [project]
        dependencies = ["orjson>=3"]
        [project.optional-dependencies]
        http = ["uvicorn>=0.3"]
        sql = ["sqlalchemy>=2"]
        serve = ["palaestra[http, sql]", "mcp>=2"]
        """
    )
    assert [str(one) for one in printed(file, "serve")] == ["orjson>=3", "uvicorn>=0.3", "sqlalchemy>=2", "mcp>=2"]


@pytest.mark.parametrize("extra", ["serve", "postgres"])
def test_the_extras_of_the_images_never_require_palaestra(extra: str) -> None:
    names = {one.name for one in printed(ROOT / "pyproject.toml", extra)}
    assert "palaestra" not in names
    assert {"serve": {"fastapi", "mcp", "uvicorn"}, "postgres": {"psycopg"}}[extra] <= names
