"""The data of tau2-bench as its package reads it: the user's checkout, and what is rebuilt where files are missing.

Large files come by git's large file storage, and a checkout may lack them. The folder made here holds links into the
checkout, which stays as it is, and beside them the files that were rebuilt. Standard library alone.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

DOMAINS = ("airline", "retail", "telecom", "banking_knowledge", "mock")
NEEDED = (
    "airline/policy.md",
    "airline/split_tasks.json",
    "airline/tasks.json",
    "banking_knowledge/db.json",
    "banking_knowledge/documents",
    "banking_knowledge/prompts",
    "banking_knowledge/tasks",
    "mock/db.json",
    "mock/tasks.json",
    "retail/db.json",
    "retail/policy.md",
    "retail/split_tasks.json",
    "retail/tasks.json",
    "telecom/db.toml",
    "telecom/main_policy_solo.md",
    "telecom/split_tasks.json",
    "telecom/tech_support_manual.md",
    "telecom/user_db.toml",
)
"""Below `data/tau2/domains`; what may be missing besides is rebuilt."""
AIRLINE_DB = "airline/db.json"
_AIRLINE_PARTS = ("flights", "reservations", "users")
_AIRLINE_BELOW = Path("tau_bench", "envs", "airline", "data")
_POINTER = b"version https://git-lfs"


def real(path: Path) -> bool:
    """Whether a file or folder is there, and is no pointer to a large file that was not fetched."""
    if path.is_dir():
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_POINTER)) != _POINTER


def laid_out(checkout: Path, home: Path) -> Path:
    """The folder for `TAU2_DATA_DIR`: links below `home` to all that the checkout has.

    Raises:
        FileNotFoundError: the checkout lacks files that cannot be rebuilt.
    """
    domains = checkout / "data" / "tau2" / "domains"
    missing = [name for name in NEEDED if not real(domains / name)]
    if missing:
        raise FileNotFoundError(
            f"{domains} lacks {', '.join(missing)}; give a full checkout of tau2-bench (with `git lfs pull`), "
            "and install again with `palaestra suites install tau2 --from FOLDER`"
        )
    target = home / "data"
    for domain in DOMAINS:
        for entry in sorted((domains / domain).iterdir()):
            if real(entry):
                _link(target / "tau2" / "domains" / domain / entry.name, entry)
    for entry in sorted((checkout / "data" / "tau2").iterdir()):
        if entry.name != "domains":
            _link(target / "tau2" / entry.name, entry)
    return target


def _link(link: Path, entry: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):  # an earlier process did, or the file was rebuilt
        link.symlink_to(entry)


def airline_rebuilt(data: Path, airline_from: str | None) -> None:
    """Have the airline's database where it is missing and `airline_from` is given.

    Args:
        data: As `laid_out` returns it.
        airline_from: A checkout of tau-bench, the earlier benchmark with the same database in three files.

    Raises:
        FileNotFoundError: the folder does not hold them.
    """
    target = data / "tau2" / "domains" / AIRLINE_DB
    if target.exists() or airline_from is None:
        return
    folder = Path(airline_from).expanduser()
    if (folder / _AIRLINE_BELOW).is_dir():
        folder /= _AIRLINE_BELOW
    parts = {name: folder / f"{name}.json" for name in _AIRLINE_PARTS}
    if missing := [str(path) for path in parts.values() if not real(path)]:
        raise FileNotFoundError(
            f"airline_from={airline_from!r} lacks {', '.join(missing)}; give a checkout of "
            "github.com/sierra-research/tau-bench, or its folder tau_bench/envs/airline/data"
        )
    tables = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in parts.items()}
    write_json(target, _join(tables))


def _join(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """One database: users carry their ids in it, as in tau2-bench. Any: rows."""
    users = {id: {"user_id": id, **user} for id, user in tables["users"].items()}
    return {"flights": tables["flights"], "users": users, "reservations": tables["reservations"]}


def airline_lacking(data: Path) -> str | None:
    """Why airline tasks cannot be played, if they cannot."""
    if (data / "tau2" / "domains" / AIRLINE_DB).exists():
        return None
    return (
        f"the checkout lacks data/tau2/domains/{AIRLINE_DB}, which git's large file storage holds; run `git lfs pull` "
        "in it, or pass airline_from=FOLDER, a checkout of github.com/sierra-research/tau-bench to rebuild it from"
    )


def write_json(path: Path, value: Any) -> None:
    """Write JSON so that nobody reads half of it. Any: JSON."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(json.dumps(value), encoding="utf-8")
    fresh.replace(path)
