"""The common parts of all pages: head, navigation, main part, and headers that forbid scripts and foreign content."""

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

from fastapi import Response
from fastapi.responses import HTMLResponse

from palaestra.benchmarks.dashboard.dashboard import Dashboard
from palaestra.benchmarks.dashboard.markup import Html, element, join, link
from palaestra.benchmarks.dashboard.sign_ins import COOKIE, LIFETIME
from palaestra.benchmarks.dashboard.visitor import TOKEN, Visitor
from palaestra.benchmarks.viewer import page_colours

SECURITY_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        # Not "no-referrer": with it, browsers do not send the origin of a form.
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
)
REFRESH = 10
"""Seconds after which a page that refreshes loads again."""
_SECTIONS = (("Runs", "/"), ("Episodes", "/episodes"), ("Compare", "/compare"))


def style_sheet() -> str:
    """The style sheet of all pages."""
    return page_colours() + files("palaestra.benchmarks.dashboard").joinpath("dashboard.css").read_text("utf-8")


def page(
    title: str,
    *content: str,
    dashboard: Dashboard,
    visitor: Visitor,
    here: str = "",
    refreshes: bool = False,
    status: int = 200,
    is_secure: bool = False,
) -> Response:
    """Render a page.

    Args:
        title: The heading.
        content: The parts below the heading.
        dashboard: The dashboard that the page belongs to.
        visitor: The visitor who sees the page.
        here: The section that the page belongs to: "/", "/episodes" or "/compare".
        refreshes: Whether the page loads again every few seconds.
        status: The HTTP status.
        is_secure: Whether the request came over TLS.
    """
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title[:120]} - Palaestra"),
        element("link", rel="stylesheet", href="/style.css"),
    )
    body = element(
        "body",
        link("Skip to the content", "#content", class_="skip"),
        _top(dashboard, visitor, here),
        element("main", element("h1", element("bdi", title)), join(content), id="content", tabindex=-1),
    )
    answer = HTMLResponse("<!doctype html>" + element("html", head, body, lang="en"), status)
    if refreshes:
        answer.headers["Refresh"] = str(REFRESH)
    if visitor.is_new:
        set_cookie(answer, visitor.cookie, is_secure=is_secure)
    return answer


def set_cookie(answer: Response, cookie: str, *, is_secure: bool) -> None:
    """Set the cookie of a browser."""
    answer.set_cookie(COOKIE, cookie, max_age=int(LIFETIME), httponly=True, samesite="strict", secure=is_secure)


def _top(dashboard: Dashboard, visitor: Visitor, here: str) -> Html:
    items = (element("li", link(name, path, aria_current="page" if path == here else None)) for name, path in _SECTIONS)
    nav = element("nav", element("ul", join(items)), aria_label="Sections")
    out = ""
    if visitor.has_session:
        out = form("/sign-out", element("button", f"Sign out {visitor.caller.owner}"), dashboard, visitor)
    return element("header", element("strong", "Palaestra record"), nav, out, class_="top")


def form(action: str, content: str, dashboard: Dashboard, visitor: Visitor, *, class_: str | None = None) -> Html:
    """A form that writes, with a token that proves that a page of this dashboard made it."""
    token = element("input", type="hidden", name=TOKEN, value=dashboard.sign_ins.form_token(visitor.cookie))
    return element("form", token, content, method="post", action=action, class_=class_)


def field(
    words: str, name: str, *, value: str = "", options: str | None = None, **attributes: str | int | None
) -> Html:
    """A text field with its label."""
    given = element("input", name=name, value=value, list=options, autocomplete="off", **attributes)
    return element("label", words, given)


def choice(words: str, name: str, options: Mapping[str, str], *, value: str = "") -> Html:
    """A selection list with its label; `options` maps values to their labels."""
    shown = (element("option", label, value=key, selected=key == value) for key, label in options.items())
    return element("label", words, element("select", join(shown), name=name))


def suggestions(id_: str, names: list[str]) -> Html:
    """A list of suggested values for a field."""
    return element("datalist", join(element("option", value=name) for name in names), id=id_)
