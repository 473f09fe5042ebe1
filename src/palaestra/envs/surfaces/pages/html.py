"""The renderer that people and browsers look at: the same tree as HTML, without scripts.

Every element that can be acted on carries its id in `data-id`. Links and forms are those of HTML, so what a browser
sends follows from its own rules: a form that looks something up is sent by GET to the list, one that calls an action by
POST to the page on which it stands.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
from markupsafe import Markup, escape

from palaestra.envs.surfaces.pages.pieces import words
from palaestra.envs.surfaces.pages.session import CLOSE, BrowserSession, Outcome
from palaestra.envs.surfaces.pages.tree import Page, PageElement, Submit
from palaestra.records import Json

STYLE = Path(__file__).with_name("site.css").read_text()
"""One style sheet for every site; no font, image or script comes from anywhere else."""


_ICONS = {"filter.find": "\u2315", "continue": "\u2192"}
"""By the id of a button: the symbol that stands for its name; a check mark for all others."""


def render_html(page: Page, session: BrowserSession) -> str:
    """A page as a whole document.

    Args:
        page: The page.
        session: The browser in which it is open, for the dialog that lies over it.
    """
    outcome = session.tab.outcome
    first, *others = page.elements
    body = Markup("").join(
        [
            _element(first, page),
            Markup("<main>"),
            *([] if outcome is None else [_outcome(outcome, page)]),
            *(_group_definitions(others, page)),
            Markup("</main>"),
        ]
    )
    return str(
        Markup(
            '<!doctype html><html lang="{}" class="{} {}"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width">'
            "<title>{}</title><style>{}</style></head><body>{}</body></html>"
        ).format(page.look.language, page.look.theme, page.look.density, page.title, Markup(STYLE), body)  # noqa: S704  our own style sheet
    )


def _group_definitions(elements: Sequence[PageElement], page: Page) -> Iterator[Markup]:
    """The elements, definitions that follow each other in one list."""
    run: list[Markup] = []
    for element in elements:
        if element.role == "definition":
            run.append(_element(element, page))
            continue
        if run:
            yield Markup("<dl>{}</dl>").format(Markup("").join(run))
            run = []
        yield _element(element, page)
    if run:
        yield Markup("<dl>{}</dl>").format(Markup("").join(run))


def _element(element: PageElement, page: Page) -> Markup:
    match element.role:
        case "heading":
            first = next(part for part in page.elements if part.role == "heading")
            heading = Markup("<h1>{}</h1>") if element is first else Markup("<h2>{}</h2>")
            return heading.format(element.name)
        case "text":
            return Markup("<p>{}</p>").format(element.value)
        case "link":
            return _link(element)
        case "tab":
            url, selected = getattr(element.activation, "url", ""), "true" if element.value else "false"
            return Markup('<a role="tab" data-id="{}" href="{}" aria-selected="{}">{}</a>').format(
                element.id, url, selected, element.name
            )
        case "definition":
            inner = _inside(element, page) if element.children else escape(element.value)
            return Markup("<dt>{}</dt><dd>{}</dd>").format(element.name, inner)
        case "list":
            rows = Markup("").join(Markup("<li>{}</li>").format(_element(child, page)) for child in element.children)
            tiles = all(child.role == "link" and not child.value for child in element.children)
            return Markup('<ul{} aria-label="{}">{}</ul>').format(
                Markup(' class="tiles"') if tiles else "", element.name, rows
            )
        case "table":
            return Markup('<div class="wide"><table aria-label="{}">{}</table></div>').format(
                element.name, _inside(element, page)
            )
        case "row":
            cells = (Markup("<td>{}</td>").format(_element(child, page)) for child in element.children)
            return Markup("<tr>{}</tr>").format(Markup("").join(cells))
        case "cell":
            return Markup("<small>{}</small>{}").format(element.name, element.value)
        case "navigation":
            label = Markup("") if element is page.elements[0] else Markup("<b>{}</b>").format(element.name)
            return Markup('<nav aria-label="{}">{}{}</nav>').format(element.name, label, _inside(element, page))
        case "search" | "form":
            return _form(element, page)
        case "listitem":
            parts = (Markup("<div>{}</div>").format(_element(child, page)) for child in element.children)
            return Markup('<div class="card">{}</div>').format(Markup("").join(parts))
        case "button" if page.look.icons:
            return Markup('<button data-id="{}" aria-label="{}" class="icon">{}</button>').format(
                element.id, element.name, _ICONS.get(element.id, "\u2713")
            )
        case "button":
            return Markup('<button data-id="{}">{}</button>').format(element.id, element.name)
        case _:
            return _field(element, page)


def _inside(element: PageElement, page: Page) -> Markup:
    return Markup("").join(_element(child, page) for child in element.children)


def _link(element: PageElement) -> Markup:
    said = Markup(" {}").format(element.value) if element.value else ""
    url = getattr(element.activation, "url", "")
    return Markup('<a data-id="{}" href="{}">{}</a>{}').format(element.id, url, element.name, said)


def _form(element: PageElement, page: Page) -> Markup:
    sending = next((e.activation for e in element.walk() if isinstance(e.activation, Submit)), None)
    looks_up = sending is not None and not sending.action
    kept = Markup("").join(
        Markup('<input type="hidden" name="{}" value="{}">').format(name, value)
        for name, value in (sending.kept if sending else ())
    )
    plain = Markup(' class="plain"') if all(child.role == "button" for child in element.children) else ""
    return Markup('<form{} role="{}" method="{}" action="{}" aria-label="{}" novalidate>{}{}</form>').format(
        plain,
        element.role,
        "get" if looks_up else "post",
        sending.url if looks_up and sending else page.url,
        element.name,
        kept,
        _inside(element, page),
    )


def _field(element: PageElement, page: Page) -> Markup:
    need = Markup(' aria-required="true"') if element.required else Markup("")
    name = _argument(element, page)
    if element.role == "checkbox":
        checked = Markup(" checked") if element.value == "true" else Markup("")
        inner = Markup('<input type="checkbox" data-id="{}" name="{}" value="true"{}{}>').format(
            element.id, name, checked, need
        )
    elif element.role == "combobox":
        options = list_options(element)
        parts = [
            Markup("<option{}>{}</option>").format(Markup(" selected") if option == element.value else "", option)
            for option in options
        ]
        inner = Markup('<select data-id="{}" name="{}"{}>{}</select>').format(
            element.id, name, need, Markup("").join(parts)
        )
    elif element.role == "searchbox":
        inner = Markup('<input type="search" data-id="{}" name="{}" value="{}"{}>').format(
            element.id, name, element.value, need
        )
    else:
        inner = Markup('<textarea rows="1" data-id="{}" name="{}"{}>\n{}</textarea>').format(
            element.id, name, need, element.value
        )
    return Markup("<label>{}{}</label>").format(element.name, inner)


def _argument(element: PageElement, page: Page) -> str:
    """The name under which a field is sent: the argument that it fills in."""
    forms = (part.activation for part in page.walk() if isinstance(part.activation, Submit))
    fields = (field for form in forms for field in form.fields if field.element == element.id)
    return next((field.argument for field in fields), element.id.partition(".")[2])


def list_options(element: PageElement) -> list[str]:
    """What a combobox offers in a browser: nothing, its options, and before them a value that is none of these."""
    others = [] if element.value in ("", *element.options) else [element.value]
    return [*([] if "" in element.options else [""]), *others, *element.options]


def _outcome(outcome: Outcome, page: Page) -> Markup:
    if outcome.refused:
        return Markup('<div role="alert">{}</div>').format(outcome.alert)
    content: Json = orjson.loads(outcome.content)
    return Markup(
        '<div role="dialog" aria-label="{}"><strong>{} is done</strong>{}'
        '<form class="plain" method="post" action="{}"><button data-id="{}">Close</button></form></div>'
    ).format(outcome.action, words(outcome.action), _content(content), page.url, CLOSE)


def _content(content: Json) -> Markup:
    if isinstance(content, dict):
        parts = [Markup("<dt>{}</dt><dd>{}</dd>").format(name, _content(value)) for name, value in content.items()]
        return Markup("<dl>{}</dl>").format(Markup("").join(parts))
    if isinstance(content, list):
        return Markup("<ul>{}</ul>").format(Markup("").join(Markup("<li>{}</li>").format(_content(p)) for p in content))
    return escape(content if isinstance(content, str) else orjson.dumps(content).decode())
