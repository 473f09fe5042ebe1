"""Names of this machine's devices and precisions: torch's names and "auto"."""

from typing import Literal, TypeAlias

import torch

from palaestra.errors import ConfigError

AUTO = "auto"
"""The first CUDA device if there is one, otherwise the CPU; the precision in which the device multiplies fastest."""
ResolvedPrecision: TypeAlias = Literal["fp32", "bf16", "fp8", "fp8-block", "nvfp4"]
"""Names of flows; see `flow_of`."""
QUANTISED_PRECISIONS: frozenset[str] = frozenset({"fp8", "fp8-block"})
"""The precisions whose products have operands in E4M3."""
FOUR_BITS = "nvfp4"
"""The precision whose block weights are frozen in NVFP4, with adapters beside them."""
Precision: TypeAlias = Literal["auto"] | ResolvedPrecision
_E4M3_ON_CUDA = (9, 0)
"""The lowest compute capability whose products take E4M3 with a scale for each row: Hopper's."""
_HALF_ON_CPU = ("avx512_bf16", "amx_bf16", "bf16")
"""The processor capabilities that multiply in bfloat16; without one, torch emulates it slower than fp32."""


def resolve_device(name: str, *, setting: str = "device") -> str:
    """Torch's name of the device that `name` means on this machine.

    Args:
        name: "auto", or torch's name of a device, such as "cpu", "cuda" or "cuda:1".
        setting: The setting that holds the name, for errors.

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
    """Refuse a device of another kind that this machine does not have; only an attempt to use it shows this."""
    try:
        torch.empty(1, device=device)
    except (RuntimeError, NotImplementedError, AssertionError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ConfigError(f"{setting}={name!r}: it cannot be used here ({first}); {way_out}") from error


def wait_for(device: torch.device) -> None:
    """Wait until a device has finished its queued work, so that it can be timed."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def resolve_precision(name: Precision, device: str) -> ResolvedPrecision:
    """The precision that a name means on a device.

    Args:
        name: The name; "auto" is bfloat16 if the device supports products in it, otherwise single precision.
        device: Torch's name of the device.

    Raises:
        ConfigError: the device cannot multiply in this precision.
    """
    kind = torch.device(device).type
    if name == "fp8":
        _check_e4m3(kind, device)
    if name != "auto":
        return name
    if kind == "cuda":
        half = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    else:
        capabilities = torch.cpu.get_capabilities()
        half = kind == "cpu" and any(capabilities.get(one, False) for one in _HALF_ON_CPU)
    return "bf16" if half else "fp32"


def _check_e4m3(kind: str, device: str) -> None:
    if kind == "cpu":
        return
    found = torch.cuda.get_device_capability(device) if kind == "cuda" else None
    if found is None or found < _E4M3_ON_CUDA:
        what = "" if found is None else f" of compute capability {found[0]}.{found[1]}"
        least = f"{_E4M3_ON_CUDA[0]}.{_E4M3_ON_CUDA[1]}"
        raise ConfigError(
            f"precision='fp8', device={device!r}: torch multiplies E4M3 with a scale for each row on processors and on "
            f'CUDA from compute capability {least} on, and not on this device{what}; write precision = "bf16"'
        )
