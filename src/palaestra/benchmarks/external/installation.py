"""Where a benchmark is installed: a virtual environment of its own, made of exactly what its adapter was proved with.

A benchmark stands in a folder below `$PALAESTRA_BENCHMARKS`, or below the user's cache where that is not set. Nothing
of it is ever part of Palaestra. A checkout that a benchmark needs is the user's own and stays where it is.
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
"""Characters of an installer's last words that an error quotes."""


@record
class Packages:
    """One round of pip."""

    names: tuple[str, ...]
    """Requirements; "{checkout}" stands for the user's checkout."""
    dependencies: bool = True
    """Whether theirs are installed as well; without, a benchmark's package comes alone."""


@record
class SourceCheckout:
    """Files of a benchmark that no package holds."""

    repository: str
    """Where they come from, with the commit that the adapter was proved with."""
    shown_by: str
    """A file or folder, relative to it, by which it is known."""


@record
class Installation:
    """How a benchmark is installed."""

    packages: tuple[Packages, ...] = ()
    python: tuple[int, int] = (3, 11)
    """The lowest version that it runs on."""
    programs: Mapping[str, str] = field(default_factory=dict[str, str])
    """What has to be on the machine, by the command's name, with how one gets it."""
    checkout: SourceCheckout | None = None


@record
class InstalledBenchmark:
    """A benchmark that is there."""

    python: Path
    """Its interpreter."""
    checkout: Path | None


def home() -> Path:
    """The folder that benchmarks are installed below."""
    given = os.environ.get("PALAESTRA_BENCHMARKS")
    if given:
        return Path(given).expanduser().resolve()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "palaestra" / "benchmarks"


def find_installed(name: str, installation: Installation) -> InstalledBenchmark | None:
    """Where a benchmark is, if it was installed as `installation` says."""
    folder = home() / name
    python = folder / "venv" / "bin" / "python"
    try:
        stamp = orjson.loads((folder / "installed.json").read_bytes())
        right, where = stamp["digest"] == digest(installation), stamp["checkout"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if not right or not python.exists():  # the interpreter that it was made with may be gone
        return None
    return InstalledBenchmark(python=python, checkout=Path(where) if where else None)


def require_installed(name: str, installation: Installation) -> InstalledBenchmark:
    """Where a benchmark is.

    Raises:
        ConfigError: it is not installed; the message says how it is.
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
    """Install a benchmark; one that is there as `installation` says is left as it is.

    Args:
        name: The benchmark's.
        installation: How.
        source: The user's checkout, where one is needed.
        say: Told of each step.

    Raises:
        ConfigError: an interpreter, a program or the checkout is missing; the message says how one gets it.
        InfrastructureError: pip failed; its last words are in the message.
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
    """Whether an interpreter starts: one that a version manager only names does not."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0  # noqa: S603


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise InfrastructureError(
            f"`{' '.join(command)}` failed with {done.returncode}: {(done.stderr or done.stdout)[-_SHOWN:].strip()}"
        )
