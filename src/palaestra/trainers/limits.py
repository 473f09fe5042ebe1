"""Checks that many settings share. They take the setting's name, so that errors read like the settings file."""

from math import isfinite


def check_at_least(least: int, **settings: float | None) -> None:
    """Check a lower limit of settings; `None` passes.

    Raises:
        ValueError: a setting is below the limit, or is not a finite number.
    """
    for name, value in settings.items():
        if value is not None and not (isfinite(value) and value >= least):
            raise ValueError(f"{name}={value}: it must be at least {least}")


def check_above_zero(**settings: float | None) -> None:
    """Check that settings are above 0; `None` passes.

    Raises:
        ValueError: a setting is 0 or below, or is not a finite number.
    """
    for name, value in settings.items():
        if value is not None and not (isfinite(value) and value > 0):
            raise ValueError(f"{name}={value}: it must be a finite number above 0")
