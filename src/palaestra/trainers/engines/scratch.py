"""A folder that passes weights to an engine in another process."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

_MEMORY = Path("/dev/shm")  # noqa: S108  the folder in it is made anew and is ours alone


def scratch_folder(name: str, weight_bytes: int) -> "TemporaryDirectory[str]":
    """A new folder, in shared memory if that has room for both the old and the new weights.

    Args:
        name: The prefix of the folder's name.
        weight_bytes: Bytes of one set of weights.
    """
    roomy = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 3 * weight_bytes
    return TemporaryDirectory(prefix=name, dir=_MEMORY if roomy else None)
