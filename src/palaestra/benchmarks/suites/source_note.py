"""Notes on code from outside the package, such as a world pack's.

The notes of a suite are settings of its evaluation, so an evaluation resumes only while that code is unchanged.
"""

from pathlib import Path

from palaestra.digest import digest_bytes
from palaestra.packs import PACKS


def pack_note(env_id: str) -> tuple[str, ...]:
    """The digest of a world's pack in a folder or file; empty for a world of an installed package."""
    pack = PACKS.find(env_id)
    path = Path(pack.place)
    return (f"World {pack.name}, digest {source_digest(path)}.",) if path.is_absolute() else ()


def source_digest(path: Path) -> str:
    """A hash of a Python file, or of all in a folder."""
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return digest_bytes(b"\0".join(file.read_bytes() for file in files))
