"""Which device a name means on this machine, and which precision suits it: what torch knows, and "auto"."""

from typing import Literal, TypeAlias

import torch

from palaestra.errors import ConfigError

AUTO = "auto"
"""The first CUDA device where there is one, otherwise the CPU; the precision that the device multiplies fastest in."""
Precision: TypeAlias = Literal["auto", "fp32", "bf16"]
_HALF_ON_CPU = ("avx512_bf16", "amx_bf16", "bf16")
"""Of a processor's capabilities, those that multiply in bfloat16; without one torch emulates it, slower than fp32."""


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


def resolve_precision(name: Precision, device: str) -> Literal["fp32", "bf16"]:
    """The precision that a name means on a device.

    Args:
        name: "auto" for bfloat16 where the device multiplies in it, otherwise single precision.
        device: In torch's words.
    """
    if name != "auto":
        return name
    kind = torch.device(device).type
    if kind == "cuda":
        half = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    else:
        capabilities = torch.cpu.get_capabilities()
        half = kind == "cpu" and any(capabilities.get(one, False) for one in _HALF_ON_CPU)
    return "bf16" if half else "fp32"
