"""The company's cars: fuel, leasing, servicing."""

from typing import Annotated, Literal

from pydantic import Field

from palaestra.envs.noise.distractors.arguments import Few
from palaestra.tools import ToolContext, tool

_Kilometres = Annotated[int, Field(ge=0, le=1_000_000)]


@tool()
def fuel_cost(context: ToolContext, kilometres: Few, centilitres_per_100_km: Few, cents_a_litre: Few) -> object:
    """Compute what the fuel of a drive costs.

    Args:
        kilometres: How far it is.
        centilitres_per_100_km: What the car uses.
        cents_a_litre: What fuel costs.
    """
    del context
    return {"cents": kilometres * centilitres_per_100_km * cents_a_litre // 10_000}


@tool()
def next_service(context: ToolContext, odometer_km: _Kilometres, last_service_km: _Kilometres) -> object:
    """Say when a company car is due for its next service.

    Args:
        odometer_km: What the car has been driven.
        last_service_km: What it had been driven at its last service.
    """
    del context
    return {"due_at_km": last_service_km + 20_000, "overdue": odometer_km > last_service_km + 20_000}


@tool()
def leasing_rate(
    context: ToolContext, list_price_euros: Annotated[int, Field(ge=1_000, le=200_000)], months: Few
) -> object:
    """Estimate the monthly leasing rate of a car.

    Args:
        list_price_euros: Its list price.
        months: How long the contract runs.
    """
    del context
    return {"cents_a_month": 100 * list_price_euros * 62 // (100 * months)}


@tool()
def charging_time(
    context: ToolContext,
    battery_kwh: Few,
    charger: Literal["wall", "fast", "rapid"],
    percent: Annotated[int, Field(ge=1, le=100)],
) -> object:
    """Compute how long an electric car charges.

    Args:
        battery_kwh: The battery's size.
        charger: Which charger it hangs on.
        percent: How much of the battery is charged.
    """
    del context
    return {"minutes": battery_kwh * percent * 60 // (100 * {"wall": 11, "fast": 50, "rapid": 150}[charger])}


@tool()
def tyre_change_month(context: ToolContext, season: Literal["summer", "winter"]) -> object:
    """Say in which month company cars change to summer or winter tyres.

    Args:
        season: Which tyres are put on.
    """
    del context
    return {"month": "April" if season == "summer" else "October"}


TOOLS = (fuel_cost, next_service, leasing_rate, charging_time, tyre_change_month)
