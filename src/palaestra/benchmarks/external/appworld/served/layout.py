"""AppWorld's data as they lie on disk, read without its package.

`data/datasets/SPLIT.txt` lists ids, one a line; `data/tasks/ID/` holds `specs.json` and `ground_truth/`, of which only
`compiled_solution.py` may be missing.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SPLITS = ("test_normal", "test_challenge", "dev", "train")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppWorldTask:
    """One task."""

    id: str
    split: str
    difficulty: int
    instruction: str
    supervisor: str
    """Who asks, in a sentence."""
    requirements: tuple[str, ...]
    """What its evaluator holds the end to."""
    solution: str | None
    """The authors' own code."""


def tasks(root: Path) -> list[AppWorldTask]:
    """Every task of every split, as they are listed.

    Raises:
        ValueError: a file is missing or is not what it should be.
    """
    found = list[AppWorldTask]()
    for split in SPLITS:
        listed = _text(root / "data" / "datasets" / f"{split}.txt").splitlines()
        for line in listed:
            if id := line.split(":")[0].strip():  # upstream may write a tag after a colon
                found.append(_task(root / "data" / "tasks" / id, id, split))
    if not found:
        raise ValueError(f"{root / 'data' / 'datasets'} lists no task; unpack the data anew")
    return found


def _task(folder: Path, id: str, split: str) -> AppWorldTask:
    truth = folder / "ground_truth"
    spec, about, tests = _json(folder / "specs.json"), _json(truth / "metadata.json"), _json(truth / "test_data.json")
    solution = truth / "compiled_solution.py"
    try:
        who = spec["supervisor"]
        return AppWorldTask(
            id=id,
            split=split,
            difficulty=int(about["difficulty"]),
            instruction=str(spec["instruction"]),
            supervisor=f"{who['first_name']} {who['last_name']} (email {who['email']}, phone {who['phone_number']})",
            requirements=tuple(str(test["requirement"]) for test in tests),
            solution=_plain(_text(solution)) if solution.is_file() else None,
        )
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{folder} is not of the layout of AppWorld's data 0.1.0: {error!r}") from error


def _plain(code: str) -> str:
    """Without the line that marks each file of the benchmark for those who filter training data."""
    return "\n".join(line for line in code.splitlines() if not line.startswith("# Canary String:")).strip()


def _json(file: Path) -> Any:
    """What a file holds. Any: JSON."""
    text = _text(file)
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{file} holds no JSON: {error}; unpack the data anew") from error


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{file} cannot be read ({error}); give a folder in which `appworld download data` has run"
        ) from error
