"""Installation of benchmarks, each in its own virtual environment with exactly the versions of the adapter's proof.

A benchmark has a folder below `$PALAESTRA_BENCHMARKS`, or below the user's cache if that is not set. Nothing of it is
part of Palaestra. If a benchmark needs a checkout, it is the user's own and stays where it is.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

import orjson

from palaestra.digest import digest
from palaestra.durable import write_file
from palaestra.errors import ConfigError, InfrastructureError
from palaestra.record import record

_SHOWN = 2_000
"""Characters of an installer's last output that an error quotes."""


@record
class Packages:
    """One round of pip."""

    names: tuple[str, ...]
    """Requirements; "{checkout}" stands for the user's checkout."""
    dependencies: bool = True
    """Whether to install their dependencies too."""


@record
class SourceCheckout:
    """Files of a benchmark that are in no package."""

    repository: str
    """The repository, with the commit that the adapter was proved with."""
    shown_by: str
    """A file or folder in the checkout by which it is recognised."""


@record
class Installation:
    """The installation of a benchmark."""

    packages: tuple[Packages, ...] = ()
    python: tuple[int, int] = (3, 11)
    """The lowest Python version that it runs on."""
    programs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Required programs by command name, with how to get each."""
    checkout: SourceCheckout | None = None


@record
class InstalledBenchmark:
    """An installed benchmark."""

    python: Path
    """Its interpreter."""
    checkout: Path | None


def home() -> Path:
    """The folder for installed benchmarks."""
    given = os.environ.get("PALAESTRA_BENCHMARKS")
    if given:
        return Path(given).expanduser().resolve()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "palaestra" / "benchmarks"


def find_installed(name: str, installation: Installation) -> InstalledBenchmark | None:
    """Find a benchmark that was installed according to `installation`."""
    folder = home() / name
    python = folder / "venv" / "bin" / "python"
    try:
        stamp = orjson.loads((folder / "installed.json").read_bytes())
        right, where = stamp["digest"] == digest(installation), stamp["checkout"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if not right or not python.exists():  # its interpreter may be gone
        return None
    return InstalledBenchmark(python=python, checkout=Path(where) if where else None)


def require_installed(name: str, installation: Installation) -> InstalledBenchmark:
    """Find a benchmark that must be installed.

    Raises:
        ConfigError: it is not installed; the message says how to install it.
    """
    found = find_installed(name, installation)
    if found is None:
        source = "" if installation.checkout is None else " --from FOLDER"
        raise ConfigError(
            f"the benchmark {name!r} is not installed below {home()}, or by another version's rules; "
            f"run `palaestra suites install {name}{source}`"
        )
    return found


def install(
    name: str, installation: Installation, *, source: Path | None = None, say: Callable[[str], None] = lambda _: None
) -> InstalledBenchmark:
    """Install a benchmark; one that is installed according to `installation` is left unchanged.

    Args:
        name: The benchmark's name.
        installation: Its installation.
        source: The user's checkout, if one is needed.
        say: Called with each step.

    Raises:
        ConfigError: an interpreter, a program or the checkout is missing; the message says how to get it.
        InfrastructureError: pip failed; the message has its last output.
    """
    there = find_installed(name, installation)
    if there is not None and source is None:
        return there
    checkout = _check(name, installation.checkout, source)
    if there is not None and there.checkout == checkout:
        return there
    for program, way in installation.programs.items():
        if shutil.which(program) is None:
            raise ConfigError(f"the benchmark {name!r} needs {program!r}, which is not on this machine; {way}")
    folder = home() / name
    shutil.rmtree(folder, ignore_errors=True)
    say(f"{name}: a virtual environment")
    _run([str(_interpreter(name, installation.python)), "-m", "venv", str(folder / "venv")])
    python = folder / "venv" / "bin" / "python"
    for packages in installation.packages:
        names = [item.replace("{checkout}", str(checkout)) for item in packages.names]
        say(f"{name}: {', '.join(names)}")
        alone = [] if packages.dependencies else ["--no-deps"]
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *alone, *names])
    stamp = {"digest": digest(installation), "checkout": str(checkout) if checkout else None}
    write_file(folder / "installed.json", orjson.dumps(stamp))
    return InstalledBenchmark(python=python, checkout=checkout)


def _check(name: str, checkout: SourceCheckout | None, source: Path | None) -> Path | None:
    if checkout is None:
        if source is not None:
            raise ConfigError(f"the benchmark {name!r} is made of packages alone; leave out --from {source}")
        return None
    if source is None:
        raise ConfigError(
            f"the benchmark {name!r} needs a checkout of {checkout.repository}; get it with git, and give it: "
            f"`palaestra suites install {name} --from FOLDER`"
        )
    source = source.expanduser()
    if not (source / checkout.shown_by).exists():
        raise ConfigError(
            f"{source} holds no {checkout.shown_by}, so it is no checkout of {checkout.repository}; give one"
        )
    return source.resolve()


def _interpreter(name: str, least: tuple[int, int]) -> Path:
    if sys.version_info >= least:
        return Path(sys.executable)
    for minor in range(least[1], least[1] + 4):
        found = shutil.which(f"python{least[0]}.{minor}")
        if found and _runs(found):
            return Path(found)
    version = ".".join(map(str, least))
    raise ConfigError(f"the benchmark {name!r} needs Python {version} or newer; put `python{version}` on the path")


def _runs(python: str) -> bool:
    """Whether an interpreter starts; a version manager may only have its name."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0  # noqa: S603


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise InfrastructureError(
            f"`{' '.join(command)}` failed with {done.returncode}: {(done.stderr or done.stdout)[-_SHOWN:].strip()}"
        )
