"""images/database/start.sh refuses to begin without a password, before it makes anything."""

import os
import subprocess
from pathlib import Path

import pytest

START = Path(__file__).parents[2] / "images" / "database" / "start.sh"


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "has to be a file"), ("", "in one line"), ("\n", "in one line"), ("two\nlines\n", "in one line")],
)
def test_a_password_that_is_missing_or_none_is_an_error(content: str | None, why: str, tmp_path: Path) -> None:
    file, data = tmp_path / "password", tmp_path / "data"
    if content is not None:
        file.write_text(content)
    variables = {**os.environ, "PGDATA": str(data), "PALAESTRA_DATABASE_PASSWORD_FILE": str(file)}
    done = subprocess.run(["sh", START], env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert why in done.stderr
    assert str(file) in done.stderr
    assert not list(tmp_path.glob("data*"))


def test_there_is_no_default_password(tmp_path: Path) -> None:
    variables = {"PATH": os.environ["PATH"], "PGDATA": str(tmp_path / "data")}
    done = subprocess.run(["sh", START], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "there is no default password" in done.stderr
