"""docs/serving-images.json: where it is, and which sources of the images it is about."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMAGE_RECORD = ROOT / "docs" / "serving-images.json"


def digest_sources() -> str:
    """The digest of everything that only the images are made from, by name and bytes."""
    found = hashlib.sha256()
    inside = [path for path in (ROOT / "images").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for path in sorted([*inside, ROOT / ".dockerignore"]):
        found.update(f"{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]
