"""Courses for colleagues: planning, grading, certificates."""

from typing import Annotated

from pydantic import Field

from palaestra.envs.noise.distractors.arguments import Day, Few, Label, parse_day
from palaestra.errors import ToolRefusal
from palaestra.tools import ToolContext, tool


@tool()
def course_groups(context: ToolContext, participants: Few, largest_group: Annotated[int, Field(ge=2, le=50)]) -> object:
    """Split the participants of a course into groups of about one size.

    Args:
        participants: How many take part.
        largest_group: How many a group may have.
    """
    del context
    groups = -(-participants // largest_group)
    return {"sizes": [participants // groups + (n < participants % groups) for n in range(groups)]}


@tool()
def grade_quiz(context: ToolContext, points: list[Annotated[int, Field(ge=0, le=1_000)]], pass_mark: Few) -> object:
    """Say who passed a quiz.

    Args:
        points: The points that each participant reached.
        pass_mark: The points that are enough.
    """
    del context
    return {"passed": sum(p >= pass_mark for p in points), "of": len(points), "best": max(points, default=0)}


@tool()
def certificate_text(context: ToolContext, name: Label, course: Label, day: Day) -> object:
    """Write the text of a certificate of attendance.

    Args:
        name: Who took part.
        course: In which course.
        day: When it ended, as YYYY-MM-DD.
    """
    del context
    return {"text": f"This is to certify that {name} attended the course {course!r}, which ended on {parse_day(day)}."}


@tool()
def first_aiders_needed(context: ToolContext, people: Few) -> object:
    """Say how many trained first aiders a site of so many people needs.

    Args:
        people: How many work there.
    """
    del context
    return {"first_aiders": 1 if people <= 20 else -(-people // 20)}


@tool()
def refresher_due(context: ToolContext, last_course: Day, every_months: Annotated[int, Field(ge=1, le=60)]) -> object:
    """Say when a safety training must be repeated.

    Args:
        last_course: When it was last attended, as YYYY-MM-DD.
        every_months: How often it must be repeated.
    """
    del context
    month = parse_day(last_course).month - 1 + every_months
    year = parse_day(last_course).year + month // 12
    if year > 9_999:
        raise ToolRefusal("bad_date", f"{last_course} lies too far ahead")
    return {"due": f"{year:04d}-{month % 12 + 1:02d}"}


TOOLS = (course_groups, grade_quiz, certificate_text, first_aiders_needed, refresher_due)
