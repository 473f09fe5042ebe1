"""Company events: calendars, catering and seating."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from palaestra.envs.noise.distractors.arguments import Day, Few, Label, parse_day, span
from palaestra.tools import ToolContext, tool

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@tool()
def weekday_of(context: ToolContext, day: Day) -> object:
    """Say on which day of the week a date falls.

    Args:
        day: The date, as YYYY-MM-DD.
    """
    del context
    date = parse_day(day)
    return {"weekday": _WEEKDAYS[date.weekday()], "week": date.isocalendar().week}


@tool()
def days_between(context: ToolContext, first_day: Day, last_day: Day) -> object:
    """Count the days from one date to another for the event calendar.

    Args:
        first_day: The first date, as YYYY-MM-DD.
        last_day: The last date, as YYYY-MM-DD.
    """
    del context
    begin, end = span(first_day, last_day)
    return {"days": (end - begin).days}


@tool()
def recurring_meeting(
    context: ToolContext, first_day: Day, every_days: Few, times: Annotated[int, Field(ge=1, le=30)]
) -> object:
    """List the dates of a meeting that recurs.

    Args:
        first_day: The first date, as YYYY-MM-DD.
        every_days: How many days lie between two.
        times: How often it takes place.
    """
    del context
    begin = parse_day(first_day)
    return {"dates": [(begin + timedelta(days=n * every_days)).isoformat() for n in range(times)]}


@tool()
def catering_order(context: ToolContext, guests: Few, kind: Literal["coffee", "lunch", "dinner"]) -> object:
    """Say what to order from the caterer for an event.

    Args:
        guests: How many come.
        kind: Which meal.
    """
    del context
    portions = guests + max(1, guests // 20)
    price = {"coffee": 650, "lunch": 1_890, "dinner": 3_450}[kind]
    return {"portions": portions, "vegetarian": portions // 3, "cost_cents": portions * price}


@tool()
def seating_plan(
    context: ToolContext, guests: list[Label], seats_a_table: Annotated[int, Field(ge=1, le=20)]
) -> object:
    """Spread guests over tables.

    Args:
        guests: Their names.
        seats_a_table: How many sit at one table.
    """
    del context
    tables = [guests[n : n + seats_a_table] for n in range(0, len(guests), seats_a_table)]
    return {"tables": tables}


@tool()
def invitation_text(context: ToolContext, occasion: Label, day: Day) -> object:
    """Write an invitation to a company event.

    Args:
        occasion: What is celebrated.
        day: When, as YYYY-MM-DD.
    """
    del context
    return {
        "text": f"You are invited: {occasion}, on {_WEEKDAYS[parse_day(day).weekday()]}, {day}. Please say if you come."
    }


TOOLS = (weekday_of, days_between, recurring_meeting, catering_order, seating_plan, invitation_text)
