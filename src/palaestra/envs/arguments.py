"""Checks of an environment's arguments: their types and ranges, and whether the world declares what they switch on."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from palaestra.envs.world import Surface, World
from palaestra.errors import CapabilityError, UnknownNameError

RewardMode: TypeAlias = Literal["checklist", "outcome"]


def check_names(**names: object) -> None:
    """Refuse a value that is no text where an argument takes a name, or none.

    Raises:
        TypeError: a value is of another type.
    """
    for argument, value in names.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{argument}={value!r}: a name is text; give one name in quotes, or leave it out")


def check_values(*, reward: str, handbook: int, max_turns: int | None, stakes: bool, render_mode: str | None) -> None:
    """Refuse a value that no world takes.

    Raises:
        UnknownNameError: the reward or render mode is unknown.
        ValueError: a number is out of range.
        TypeError: `stakes` is neither true nor false.
    """
    if type(stakes) is not bool:
        raise TypeError(f"stakes={stakes!r}: write True or False")
    if reward not in get_args(RewardMode):
        raise UnknownNameError.of("reward", reward, get_args(RewardMode))
    if max_turns is not None and max_turns < 1:
        raise ValueError(f"max_turns={max_turns}: a budget is at least 1")
    if type(handbook) is not int or handbook < 0:
        raise ValueError(f"handbook={handbook!r}: handbooks are numbered from 0, which is the world's own")
    if render_mode not in (None, "ansi"):
        raise UnknownNameError.of("render mode", str(render_mode), ["ansi"])


def check_declared(world: World, *, handbook: int, temper: str | None) -> None:
    """Refuse a switch that would have no effect in this world.

    Raises:
        CapabilityError: the world has no other handbooks, or no users with a temper.
    """
    declared = world.capabilities
    if handbook and not declared.handbooks:
        raise CapabilityError.of(world.name, f"handbook={handbook}", "handbooks", ["0"])
    if temper is not None and not declared.tempers:
        raise CapabilityError.of(world.name, f"temper={temper!r}", "tempers", [])


def configure_surface(world: World, name: str, settings: Mapping[str, Any] | None) -> Surface:
    """The surface of that name under settings.

    Raises:
        CapabilityError: the world has no such surface, or the surface has no settings.
        TypeError: `settings` is no mapping.
        UnknownNameError: the surface has no such setting, or a setting no such value.
        ValueError: a setting cannot have that value.
    """
    surface = world.surface(name)
    if settings is None:
        return surface
    if not isinstance(settings, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f'surface_settings={settings!r}: give a mapping, such as {{"dialect": "browsergym"}}')
    if surface.configure is None:
        raise CapabilityError(
            f"surface_settings={dict(settings)!r}: the surface {name!r} has no settings; choose surface='pages', or "
            "leave them out"
        )
    return surface.configure(settings)
