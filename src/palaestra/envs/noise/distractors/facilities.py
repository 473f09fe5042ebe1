"""The building: rooms, desks, cleaning and power."""

from typing import Annotated, Literal

from pydantic import Field

from palaestra.envs.noise.distractors.arguments import Few, Label
from palaestra.tools import ToolContext, tool

_ROOMS = (("Linden", 4), ("Ahorn", 8), ("Buche", 12), ("Eiche", 24), ("Aula", 120))


@tool()
def suggest_meeting_room(context: ToolContext, people: Few) -> object:
    """Name the smallest meeting room that holds so many people.

    Args:
        people: How many take part.
    """
    del context
    room = next(((name, seats) for name, seats in _ROOMS if seats >= people), None)
    return {"room": room[0] if room else None, "seats": room[1] if room else 0}


@tool()
def desk_area(context: ToolContext, people: Few) -> object:
    """Compute the office area that a team needs by the workplace rules.

    Args:
        people: How many work there.
    """
    del context
    return {"square_metres": 8 + 6 * (people - 1)}


@tool()
def heating_cost(
    context: ToolContext, square_metres: Few, target_celsius: Annotated[int, Field(ge=10, le=26)]
) -> object:
    """Estimate what heating a room costs in a month.

    Args:
        square_metres: The room's area.
        target_celsius: The temperature to hold.
    """
    del context
    return {"cents_a_month": square_metres * max(0, target_celsius - 12) * 11}


@tool()
def parking_plan(context: ToolContext, cars: Few, bicycles: Few) -> object:
    """Say how many parking places cars and bicycles need.

    Args:
        cars: How many cars.
        bicycles: How many bicycles.
    """
    del context
    return {"car_places": cars, "accessible_places": max(1, cars // 25), "bicycle_racks": (bicycles + 5) // 6}


@tool()
def cleaning_rota(context: ToolContext, rooms: list[Label]) -> object:
    """Spread rooms over the days of the week for cleaning.

    Args:
        rooms: The rooms' names.
    """
    del context
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
    return {"rota": [{"room": room, "day": days[n % len(days)]} for n, room in enumerate(rooms)]}


@tool()
def key_deposit(context: ToolContext, kind: Literal["office", "locker", "garage"]) -> object:
    """Say what deposit is taken for a key.

    Args:
        kind: What the key opens.
    """
    del context
    return {"deposit_cents": {"office": 5_000, "locker": 1_000, "garage": 2_500}[kind]}


TOOLS = (suggest_meeting_room, desk_area, heating_cost, parking_plan, cleaning_rota, key_deposit)
