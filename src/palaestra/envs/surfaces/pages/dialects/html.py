"""The dialect of HTML: a tag a line, ids in `data-id`, and the plain tools."""

from collections.abc import Iterator
from html import escape

from palaestra.envs.surfaces.pages.dialects.dialect import DialectLine, Screen
from palaestra.envs.surfaces.pages.dialects.plain import PlainDialect
from palaestra.envs.surfaces.pages.tree import PageElement

_TAGS = {
    "cell": "td",
    "definition": "dd",
    "form": "form",
    "heading": "h1",
    "list": "ul",
    "navigation": "nav",
    "row": "tr",
    "search": "form",
    "table": "table",
    "text": "p",
}


class HtmlDialect(PlainDialect):
    """Elements as HTML, without style."""

    name = "html"

    def draw(self, screen: Screen) -> Iterator[DialectLine]:
        """See `Dialect`."""
        yield DialectLine(text=f"<title>{escape(screen.page.title)}</title>")
        yield DialectLine(text=f'<base href="{escape(screen.page.url)}">')
        for element in screen.elements:
            yield from _tags(element, "")


def _tags(element: PageElement, indent: str) -> Iterator[DialectLine]:
    ids = (element.id,) if element.id else ()
    if not element.children:
        yield DialectLine(text=indent + _leaf(element), shows=element.shows, elements=ids)
        return
    tag = _TAGS.get(element.role, "div")
    label = "" if not element.name else f' aria-label="{escape(element.name)}"'
    role = f' role="{element.role}"' if tag == "div" else ""
    yield DialectLine(text=f"{indent}<{tag}{role}{label}>", shows=element.shows, elements=ids)
    for child in element.children:
        yield from _tags(child, f"{indent} ")
    yield DialectLine(text=f"{indent}</{tag}>")


def _leaf(element: PageElement) -> str:
    name, value = escape(element.name), escape(element.value)
    known = f' data-id="{escape(element.id)}"' if element.id else ""
    need = " required" if element.required else ""
    match element.role:
        case "link":
            href = escape(getattr(element.activation, "url", ""))
            return f'<a{known} href="{href}">{name}</a>{f" {value}" if value else ""}'
        case "button":
            return f"<button{known}>{name}</button>"
        case "checkbox":
            checked = " checked" if element.value == "true" else ""
            return f"<label>{name}<input{known} type=checkbox{checked}{need}></label>"
        case "combobox":
            options = "".join(
                f"<option{' selected' if option == element.value else ''}>{escape(option)}</option>"
                for option in element.options
            )
            return f"<label>{name}<select{known}{need}>{options}</select></label>"
        case "searchbox":
            return f'<label>{name}<input{known} type=search value="{value}"{need}></label>'
        case "textbox":
            return f"<label>{name}<textarea{known}{need}>{value}</textarea></label>"
        case "definition":
            return f"<dt>{name}</dt><dd>{value}</dd>"
        case "cell":
            return f"<td><small>{name}</small> {value}</td>"
        case "alert":
            return f'<div role="alert">{name}</div>'
        case role:
            tag = _TAGS.get(role, "div")
            return f"<{tag}>{name}{value}</{tag}>"
