"""The generated world of a number as an environment."""

from typing import Any

import palaestra
from palaestra.envs.env import ToolEnv
from palaestra.envs.synthesis.generator import world_id
from palaestra.envs.synthesis.listing import listed_worlds
from palaestra.errors import CapabilityError
from palaestra.packs import generated_place


def open_numbered(number: int, *, unlisted: bool = False, **switches: Any) -> ToolEnv:
    """The environment of a generated world; the world has an id of its own, such as "palaestra/Synth17-v0".

    Args:
        number: The world's number.
        unlisted: Whether worlds are made that are not listed, because they were not proved.
        switches: What `ToolEnv` takes. Any: it checks them.

    Raises:
        CapabilityError: no world of that number is listed.
    """
    if not unlisted or not _is_number(number):
        _check_listed(number)
    place = generated_place(world_id(number))
    assert place is not None, "generated worlds have places"
    return ToolEnv(palaestra.register_world(place), place=place, **switches)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_listed(world: object) -> None:
    listed = listed_worlds()
    if not _is_number(world) or world not in listed:
        way_out = f"{len(listed)} are, such as {', '.join(map(str, [*listed][:3]))}" if listed else "give unlisted=True"
        raise CapabilityError(f"world={world!r}: no generated world of that number is listed; {way_out}")
