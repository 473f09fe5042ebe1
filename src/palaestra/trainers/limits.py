"""Rules that many settings share. They go by the setting's name, so that an error reads as the settings file does."""

from math import isfinite


def check_at_least(least: int, **settings: float | None) -> None:
    """Hold settings to a lower limit; `None` is not held to it.

    Raises:
        ValueError: one is below it, or is no finite number.
    """
    for name, value in settings.items():
        if value is not None and not (isfinite(value) and value >= least):
            raise ValueError(f"{name}={value}: it must be at least {least}")


def check_above_zero(**settings: float | None) -> None:
    """Hold settings above 0; `None` is not held to it.

    Raises:
        ValueError: one is 0 or below, or is no finite number.
    """
    for name, value in settings.items():
        if value is not None and not (isfinite(value) and value > 0):
            raise ValueError(f"{name}={value}: it must be a finite number above 0")
