"""The kernels as a library: compiled on the machine that they run on, the first time they are wanted there.

The library is kept in the user's cache under a name that says what it was made of and for: the source, the compiler's
own words about itself, and the processor. It shares torch's threads: both use the OpenMP library that torch has loaded.
"""

import os
import platform
import shutil
import subprocess
import warnings
from functools import cache
from hashlib import blake2b
from pathlib import Path

from palaestra.trainers.engines.native.kernels.compiled import Kernels

_SOURCE = Path(__file__).with_name("kernels.cpp")
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
_COMPILERS = ("c++", "g++", "clang++")
_SECONDS = 120


@cache
def kernels() -> Kernels | None:
    """The kernels of this machine; `None`, and a warning once, where they cannot be made."""
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


def compiler() -> str:
    """The one that the environment's CXX names, or the first there is.

    Raises:
        FileNotFoundError: there is none.
    """
    named = os.environ.get("CXX")
    for name in (named,) if named else _COMPILERS:
        if found := shutil.which(name):
            return found
    raise FileNotFoundError(f"there is no C++ compiler called {named or ', '.join(_COMPILERS)}")


def library(compiler: str, folder: Path, *, source: Path = _SOURCE) -> Path:
    """The compiled source; made where the folder does not have it.

    Raises:
        OSError: the folder cannot be written to.
        SubprocessError: the compiler fails, or takes minutes.
    """
    version = subprocess.run([compiler, "--version"], check=True, capture_output=True, timeout=_SECONDS).stdout
    made_of = (source.read_bytes(), " ".join(_FLAGS).encode(), version, _processor().encode())
    name = blake2b(b"\0".join(made_of), digest_size=12).hexdigest()
    path = folder / f"kernels-{name}.so"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Several processes may do this at once: each makes its own, and the last one's stays.
        fresh = path.with_suffix(f".{os.getpid()}")
        command = [compiler, *_FLAGS, str(source), "-o", str(fresh)]
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_SECONDS)
        fresh.replace(path)
    return path


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "palaestra"


def _processor() -> str:
    """What `-march=native` depends on, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("ascii", "replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())
