"""Human resources: leave, working time and pay, as a calculator knows them."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from palaestra.envs.noise.distractors.arguments import Day, Few, Label, parse_day, span
from palaestra.tools import ToolContext, tool

_SATURDAY = 5


@tool()
def count_leave_days(context: ToolContext, first_day: Day, last_day: Day) -> object:
    """Count the working days that a period of leave takes.

    Args:
        first_day: The first day off, as YYYY-MM-DD.
        last_day: The last day off, as YYYY-MM-DD.
    """
    del context
    begin, end = span(first_day, last_day)
    days = (begin + timedelta(days=n) for n in range((end - begin).days + 1))
    return {"working_days": sum(day.weekday() < _SATURDAY for day in days)}


@tool()
def leave_entitlement(context: ToolContext, years_of_service: Annotated[int, Field(ge=0, le=60)]) -> object:
    """Say how many days of annual leave an employee of so many years of service has.

    Args:
        years_of_service: Full years with the company.
    """
    del context
    return {"days_a_year": min(25 + years_of_service // 3, 30)}


@tool()
def notice_period(context: ToolContext, years_of_service: Annotated[int, Field(ge=0, le=60)]) -> object:
    """Say how long the notice period of an employment contract is.

    Args:
        years_of_service: Full years with the company.
    """
    del context
    steps = ((20, 7), (15, 6), (12, 5), (10, 4), (8, 3), (5, 2), (0, 1))
    months = next(months for years, months in steps if years_of_service >= years)
    return {"months": months, "to_the_end_of": "month"}


@tool()
def end_of_probation(context: ToolContext, first_day: Day) -> object:
    """Say on which day the probation period of a new colleague ends.

    Args:
        first_day: Their first day at work, as YYYY-MM-DD.
    """
    del context
    return {"ends": (parse_day(first_day) + timedelta(days=182)).isoformat()}


@tool()
def overtime_balance(
    context: ToolContext, contract_hours: Annotated[int, Field(ge=1, le=48)], worked_hours: list[int]
) -> object:
    """Add up the overtime of several weeks.

    Args:
        contract_hours: Hours a week by contract.
        worked_hours: The hours that were worked, a number for each week.
    """
    del context
    return {"hours": sum(hours - contract_hours for hours in worked_hours), "weeks": len(worked_hours)}


@tool()
def draft_job_advert(context: ToolContext, role: Label, city: Label) -> object:
    """Write the opening lines of a job advert.

    Args:
        role: The position to fill.
        city: Where it is.
    """
    del context
    return {"text": f"We are looking for a {role} in {city}. Apply with a short letter; we answer within ten days."}


@tool()
def commute_allowance(context: ToolContext, kilometres: Few, days: Few) -> object:
    """Compute the commuting allowance of an employee.

    Args:
        kilometres: The way to work, one way.
        days: Days at the office.
    """
    del context
    return {"allowance_cents": days * (30 * min(kilometres, 20) + 38 * max(0, kilometres - 20))}


TOOLS = (
    count_leave_days,
    leave_entitlement,
    notice_period,
    end_of_probation,
    overtime_balance,
    draft_job_advert,
    commute_allowance,
)
