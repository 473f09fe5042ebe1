"""The tutorial keeps its promise: its commands run in their order, and print what stands below them."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8")


def sessions() -> list[tuple[str, list[str]]]:
    """The commands of the console blocks, each with the lines that it prints."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", TUTORIAL, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def words(text: str) -> str:
    """Text with its layout taken out: rules, columns and line ends."""
    return " ".join(re.sub(r"[─│]", " ", text).split())


def test_every_command_of_the_tutorial_prints_what_stands_below_it(tmp_path: Path) -> None:
    commands = sessions()
    assert len(commands) >= 10
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, printed in commands:
        ran = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        output = words(ran.stdout + ran.stderr)
        at = 0
        for line in (words(part) for text in printed for part in text.split("...")):
            at = output.find(line, at)
            assert at >= 0, f"$ {command}\nlacks: {line}\nprinted: {output[-3000:]}"
            at += len(line)


def test_the_tutorial_names_files_that_are_there() -> None:
    linked = re.findall(r"\]\(([^)#]+)\)", TUTORIAL)
    assert linked
    assert all((ROOT / "docs" / name).exists() for name in linked)
