"""Which device a name means on this machine: what torch knows, and "auto"."""

import torch

from palaestra.errors import ConfigError

AUTO = "auto"
"""The first CUDA device where there is one, otherwise the CPU."""


def resolve_device(name: str, *, setting: str = "device") -> str:
    """The device that a name means here, in torch's words.

    Args:
        name: "auto", or a name of torch's, such as "cpu", "cuda" or "cuda:1".
        setting: What the name was given for, for an error.

    Raises:
        ConfigError: torch knows no such device, or this machine does not have it.
    """
    if name == AUTO:
        return "cuda" if torch.cuda.is_available() else "cpu"
    way_out = f'write {setting} = "auto" for CUDA where there is one, or "cpu"'
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"{setting}={name!r}: torch knows no such device; {way_out}") from error
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if count <= (device.index or 0):
            found = f"{count} CUDA devices" if count else "no CUDA device"
            raise ConfigError(f"{setting}={name!r}: torch {torch.__version__} finds {found} here; {way_out}")
    elif device.type not in ("cpu", "meta"):
        _check_backend(device, name, setting, way_out)
    return name


def _check_backend(device: torch.device, name: str, setting: str, way_out: str) -> None:
    """Refuse a device of another kind that this machine does not have: only an attempt tells."""
    try:
        torch.empty(1, device=device)
    except (RuntimeError, NotImplementedError, AssertionError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ConfigError(f"{setting}={name!r}: it cannot be used here ({first}); {way_out}") from error
