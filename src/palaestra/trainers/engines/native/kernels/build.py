"""Builds the kernels as a library, on the machine that uses them, at the first use.

The library is kept in the user's cache. Its name is a hash of the source, the compiler's version output, and the
processor. It shares torch's threads: both use the OpenMP library that torch has loaded.
"""

import os
import platform
import shutil
import subprocess
import warnings
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

from palaestra.errors import ConfigError
from palaestra.trainers.engines.native.kernels.compiled import Kernels
from palaestra.trainers.engines.native.kernels.invariant import InvariantKernels

_SOURCE = Path(__file__).with_name("kernels.cpp")
_INVARIANT_SOURCE = Path(__file__).with_name("invariant.cpp")
_FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-fopenmp",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-shared",
    "-fPIC",
    *(("-mprefer-vector-width=512",) if platform.machine() in {"x86_64", "AMD64"} else ()),
)
_INVARIANT_FLAGS = ("-ffp-contract=off",)
_COMPILERS = ("c++", "g++", "clang++")
_SECONDS = 600


@cache
def kernels() -> Kernels | None:
    """The kernels of this machine; `None`, with a warning once, if they cannot be built."""
    try:
        return Kernels(library(compiler(), _cache()))
    except (OSError, subprocess.SubprocessError) as error:
        said = str(getattr(error, "stderr", "") or error).strip().partition("\n")[0]
        warnings.warn(
            f"the native engine draws without its kernels, at about half the speed: {said}. "
            "Install a C++ compiler with OpenMP, such as g++, or name one in CXX",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


@cache
def invariant_kernels() -> InvariantKernels:
    """The kernels of the invariant mode, compiled for this machine.

    Raises:
        ConfigError: they cannot be built. There is no replacement: torch's products depend on the batch.
    """
    try:
        return InvariantKernels(library(compiler(), _cache(), source=_INVARIANT_SOURCE, flags=_INVARIANT_FLAGS))
    except (OSError, subprocess.SubprocessError) as error:
        said = str(getattr(error, "stderr", "") or error).strip().partition("\n")[0]
        raise ConfigError(
            f"invariant=True: the kernels of this mode cannot be compiled: {said}. Install a C++ compiler with OpenMP, "
            "such as g++, or name one in CXX; or leave invariant out"
        ) from error


def compiler() -> str:
    """The compiler that the environment's CXX names, or the first one that is installed.

    Raises:
        FileNotFoundError: there is no compiler.
    """
    named = os.environ.get("CXX")
    for name in (named,) if named else _COMPILERS:
        if found := shutil.which(name):
            return found
    raise FileNotFoundError(f"there is no C++ compiler called {named or ', '.join(_COMPILERS)}")


def library(compiler: str, folder: Path, *, source: Path = _SOURCE, flags: Sequence[str] = ()) -> Path:
    """The library of a source, compiled if the folder does not have it.

    Args:
        compiler: The compiler's command.
        folder: The folder of libraries.
        source: The source file; it may include headers from its folder.
        flags: Additional flags, placed after those of all sources.

    Raises:
        OSError: the folder cannot be written to.
        SubprocessError: the compiler fails or times out.
    """
    version = subprocess.run([compiler, "--version"], check=True, capture_output=True, timeout=_SECONDS).stdout
    texts = [one.read_bytes() for one in (source, *sorted(source.parent.glob("*.h")))]
    made_of = (*texts, " ".join([*_FLAGS, *flags]).encode(), version, _processor().encode())
    name = blake2b(b"\0".join(made_of), digest_size=12).hexdigest()
    path = folder / f"kernels-{name}.so"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Several processes may do this at once: each builds its own, and the last one replaces the others.
        fresh = path.with_suffix(f".{os.getpid()}")
        command = [compiler, *_FLAGS, *flags, str(source), "-o", str(fresh)]
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_SECONDS)
        fresh.replace(path)
    return path


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "palaestra"


def _processor() -> str:
    """What `-march=native` depends on, as far as the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("ascii", "replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())
