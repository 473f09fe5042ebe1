"""The README is a promise: its code runs, its task file is the example, its tables are what the demo prints."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of the README in a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_first_block_runs_and_prints_what_stands_below_it() -> None:
    code, printed = blocks("python")[0], blocks("text")[0]
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == printed.strip()


def test_the_task_file_is_the_example_and_short() -> None:
    example = (ROOT / "examples" / "tasks" / "new_phone_number.py").read_text(encoding="utf-8")
    assert blocks("python")[1] == example
    assert len(example.splitlines()) <= 30


def test_the_examples_run() -> None:
    ran = subprocess.run([sys.executable, str(ROOT / "examples" / "rollout.py")], capture_output=True, check=False)
    assert ran.returncode == 0


def test_the_code_of_the_documents_runs(tmp_path: Path) -> None:
    document = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", document, re.DOTALL):
        if code.startswith("import"):
            ran = subprocess.run(
                [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "guesser.jsonl").exists()
