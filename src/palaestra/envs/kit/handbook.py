"""The handbook of a world: its sections as rows, the tools that read them, and words for the numbers in them.

A world writes its sections from its rules, so that a changed rule changes the text that states it.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from palaestra.envs.kit.reading import get_tool, search_tool
from palaestra.errors import DefinitionError
from palaestra.record import record
from palaestra.records import Row, Searchable
from palaestra.tools import Tool


@record
class Section(Row):
    """One section of a handbook; its id is its number, such as "RET-1"."""

    table: ClassVar[str] = "handbook"
    prefix: ClassVar[str] = ""
    title: Annotated[str, Searchable()]
    body: Annotated[str, Searchable()]


def section(key: str, title: str, *paragraphs: str) -> Section:
    """A section of these paragraphs."""
    return Section(id=key, title=title, body="\n\n".join(paragraphs))


def parse_sections(text: str) -> list[Section]:
    """The sections of a handbook in one text: each begins with a line "## LV-1 Booking leave".

    Raises:
        DefinitionError: text stands before the first heading, or a heading has no number and title.
    """
    before, *parts = f"\n{text.strip()}".split("\n## ")
    if before.strip() or not parts:
        raise DefinitionError(f"a handbook begins with a heading such as '## LV-1 Booking leave', not {text[:40]!r}")
    sections: list[Section] = []
    for part in parts:
        heading, _, body = part.partition("\n")
        key, _, title = heading.strip().partition(" ")
        if not title or not body.strip():
            raise DefinitionError(f"handbook section {heading!r}: write '## NUMBER Title', and text below it")
        paragraphs = [" ".join(paragraph.split()) for paragraph in body.strip().split("\n\n")]
        sections.append(section(key, title, *paragraphs))
    return sections


def handbook_tools(*, number: str, words: str, whose: str = "company") -> tuple[Tool, Tool]:
    """The tools `search_handbook` and `read_handbook`.

    Args:
        number: The number of a section, as an example.
        words: Words that occur in one, as an example.
        whose: What the handbook is of, such as "company"; nothing where not all who have it are companies.
    """
    search = search_tool(
        Section,
        "Find handbook sections by words of their title or text. Only titles are listed; read a section to see it.",
        name="search_handbook",
        query_text=f'Words that must all occur, such as "{words}".',
        summary=("title",),
    )
    read = get_tool(
        Section,
        f"Read one section of the {whose} handbook." if whose else "Read one section of the handbook.",
        name="read_handbook",
        argument_text=f"The section's number, such as {number}. `search_handbook` finds it.",
        latency=30,
    )
    return search, read


def contents(sections: Sequence[Section]) -> str:
    """The numbers and titles of sections, as a briefing lists them."""
    return "; ".join(f"{section.id} {section.title}" for section in sections)


def amount(cents: int) -> str:
    """An amount of euro cents in words, such as "EUR 1,250.00"."""
    return f"EUR {cents // 100:,}.{cents % 100:02d}"


def count(number: int, noun: str) -> str:
    """A number of things in words, such as "14 days"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def enumerate_words(parts: Sequence[str]) -> str:
    """Words in a row, such as "bronze, silver and gold"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
