"""A section of the handbook, in paragraphs; whoever has not scrolled to the last has not read it."""

from palaestra.envs.kit import Section
from palaestra.envs.surfaces.pages.pieces import definition_element, shown_column
from palaestra.envs.surfaces.pages.routes import PageRequest, find_row
from palaestra.envs.surfaces.pages.tree import PageElement


def draw_section(request: PageRequest) -> tuple[str, list[PageElement]]:
    """The page of a section.

    Raises:
        ToolRefusal: there is no such section.
    """
    section = find_row(request, "handbook")
    assert isinstance(section, Section), "it is of the handbook"
    info = request.schema["handbook"]
    *first, last = section.body.split("\n\n")
    return f"{section.id} {section.title}", [
        PageElement(role="heading", name=f"{section.id} {section.title}"),
        definition_element(info, section, "id", label="Section"),
        definition_element(info, section, "title", label="Title"),
        *(PageElement(role="text", value=paragraph) for paragraph in first),
        PageElement(role="text", value=last, shows=(shown_column(info, section, "body"),)),
    ]
