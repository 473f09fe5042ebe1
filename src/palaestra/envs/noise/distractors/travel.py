"""Business travel: allowances, distances and emissions."""

from typing import Annotated, Literal

from pydantic import Field

from palaestra.envs.noise.distractors.arguments import Day, Few, Label, span
from palaestra.tools import ToolContext, tool

_PER_DIEM_CENTS = {"domestic": 2_800, "europe": 4_400, "overseas": 5_900}
_GRAMS_PER_KM = {"train": 31, "coach": 29, "car": 166, "plane": 238}


@tool()
def travel_per_diem(
    context: ToolContext, first_day: Day, last_day: Day, region: Literal["domestic", "europe", "overseas"]
) -> object:
    """Compute the daily allowance for a business trip.

    Args:
        first_day: The day of departure, as YYYY-MM-DD.
        last_day: The day of return, as YYYY-MM-DD.
        region: Where the trip goes.
    """
    del context
    begin, end = span(first_day, last_day)
    full = max(0, (end - begin).days - 1)
    rate = _PER_DIEM_CENTS[region]
    return {"full_days": full, "allowance_cents": full * rate + min(2, (end - begin).days + 1) * rate // 2}


@tool()
def mileage_claim(context: ToolContext, kilometres: Annotated[int, Field(ge=1, le=5_000)]) -> object:
    """Compute what a trip in a private car is reimbursed with.

    Args:
        kilometres: The distance driven.
    """
    del context
    return {"claim_cents": 30 * kilometres}


@tool()
def travel_emissions(
    context: ToolContext,
    mode: Literal["train", "coach", "car", "plane"],
    kilometres: Annotated[int, Field(ge=1, le=40_000)],
) -> object:
    """Estimate the emissions of a trip.

    Args:
        mode: How one travels.
        kilometres: How far, both ways.
    """
    del context
    return {"kg_co2": _GRAMS_PER_KM[mode] * kilometres // 1_000}


@tool()
def hotel_budget(context: ToolContext, nights: Few, city_class: Literal["A", "B", "C"]) -> object:
    """Say what a hotel stay may cost.

    Args:
        nights: How many nights.
        city_class: The city's price class, A being the dearest.
    """
    del context
    return {"limit_cents": nights * {"A": 18_000, "B": 13_000, "C": 9_500}[city_class]}


@tool()
def packing_list(context: ToolContext, nights: Few, weather: Literal["cold", "mild", "hot"]) -> object:
    """Write a packing list for a business trip.

    Args:
        nights: How many nights.
        weather: What weather to expect.
    """
    del context
    outer = {"cold": "winter coat", "mild": "light jacket", "hot": "sun hat"}[weather]
    return {"items": [outer, f"{nights + 1} shirts", "charger", "identity card"]}


@tool()
def compare_train_classes(context: ToolContext, hours: Few, grade: Label) -> object:
    """Say in which class an employee may travel by train.

    Args:
        hours: How long the journey takes.
        grade: The employee's grade, such as "specialist".
    """
    del context
    return {"grade": grade, "class": "first" if hours >= 4 else "second"}


TOOLS = (
    travel_per_diem,
    mileage_claim,
    travel_emissions,
    hotel_budget,
    packing_list,
    compare_train_classes,
)
