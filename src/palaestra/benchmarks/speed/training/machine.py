"""Describes the machine and software of a run, for readers of its figures."""

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

import torch

from palaestra.errors import ConfigError
from palaestra.records import JsonObject
from palaestra.trainers.engines.native.kernels import kernels
from palaestra.trainers.learner import Precision
from palaestra.version import __version__

DTYPES: Mapping[Precision, torch.dtype] = MappingProxyType({"fp32": torch.float32, "bf16": torch.bfloat16})


def precisions(device: torch.device) -> tuple[Precision, ...]:
    """The measured precisions of a device; single precision is not used for sampling or training on accelerators."""
    return ("fp32", "bf16") if device.type == "cpu" else ("bf16",)


def machine(device: torch.device) -> JsonObject:
    """Hardware, versions, and the commit of the sources where they are in a repository."""
    found: JsonObject = {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "load before": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
        "palaestra": __version__,
        "kernels": "none" if kernels() is None else "compiled",
        "commit": _commit(),
    }
    if device.type == "cuda":
        found["accelerator"] = torch.cuda.get_device_name(device)
    return found


def device_of(name: str) -> torch.device:
    """The device of that name.

    Raises:
        ConfigError: this machine has no such device.
    """
    if name == "cpu":
        return torch.device(name)
    if name != "cuda":
        raise ConfigError(f"device {name!r}: cpu or cuda can be measured")
    if not torch.cuda.is_available():
        raise ConfigError(
            f"device 'cuda': torch {torch.__version__} sees no CUDA device here; run it where there is one, with a "
            "build of torch for it, or measure the processor with --device cpu"
        )
    return torch.device("cuda")


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _commit() -> str:
    if shutil.which("git") is None:
        return ""
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty"],  # noqa: S607  whichever git the user has
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() if told.returncode == 0 else ""
