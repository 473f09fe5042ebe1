"""The company's own IT desk: licences, backups, passwords, storage."""

from typing import Annotated, Literal

from pydantic import Field

from palaestra.envs.noise.distractors.arguments import Few, Label
from palaestra.tools import ToolContext, tool


@tool()
def licence_cost(context: ToolContext, seats: Few, plan: Literal["basic", "standard", "pro"]) -> object:
    """Compute what office software licences cost a year.

    Args:
        seats: How many colleagues use it.
        plan: Which plan.
    """
    del context
    return {"cents_a_year": seats * 12 * {"basic": 590, "standard": 1_170, "pro": 2_060}[plan]}


@tool()
def backup_size(
    context: ToolContext, data_gigabytes: Few, daily_change_percent: Annotated[int, Field(ge=0, le=100)], days: Few
) -> object:
    """Estimate how much room incremental backups take.

    Args:
        data_gigabytes: The data to back up.
        daily_change_percent: How much of it changes a day.
        days: How long backups are kept.
    """
    del context
    return {"gigabytes": data_gigabytes + data_gigabytes * daily_change_percent * days // 100}


@tool()
def password_rules(context: ToolContext, system: Literal["laptop", "payroll", "building"]) -> object:
    """Say what a password of one of the company's systems must look like.

    Args:
        system: Which system.
    """
    del context
    return {"system": system, "shortest": {"laptop": 12, "payroll": 16, "building": 6}[system], "changed_every_days": 0}


@tool()
def transfer_time(context: ToolContext, gigabytes: Few, megabits_a_second: Few) -> object:
    """Compute how long a file transfer takes.

    Args:
        gigabytes: How much is sent.
        megabits_a_second: How fast the line is.
    """
    del context
    return {"seconds": gigabytes * 8_000 // megabits_a_second}


@tool()
def hostname_for(context: ToolContext, department: Label, number: Few) -> object:
    """Make up the host name of a new computer by the naming rules.

    Args:
        department: Whose computer it is.
        number: Its inventory number.
    """
    del context
    letters = "".join(c for c in department.lower() if "a" <= c <= "z")
    return {"hostname": f"kw-{letters[:6] or 'misc'}-{number:03d}"}


@tool()
def printer_pages_left(context: ToolContext, toner_percent: Annotated[int, Field(ge=0, le=100)]) -> object:
    """Estimate how many pages an office printer can still print.

    Args:
        toner_percent: What the printer says is left of its toner.
    """
    del context
    return {"pages": 26 * toner_percent}


TOOLS = (licence_cost, backup_size, password_rules, transfer_time, hostname_for, printer_pages_left)
