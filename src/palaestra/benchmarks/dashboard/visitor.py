"""Who asks for a page, whether they may, and whether a form that writes comes from a page of ours."""

import re
from urllib.parse import parse_qs, urlsplit

from fastapi import Request

from palaestra.benchmarks.dashboard.dashboard import Dashboard
from palaestra.benchmarks.dashboard.sign_ins import COOKIE
from palaestra.errors import AccessError, RequestError
from palaestra.record import record
from palaestra.serving.access import LOCAL, Caller, KeyScope
from palaestra.serving.http import HttpLimits, caller_of, check_local_host, read_body

_FORM = "application/x-www-form-urlencoded"
_LIMITS = HttpLimits(body_bytes=8_192, body_seconds=10.0)
_LONGEST_PATH = 2_000
TOKEN = "form_token"  # noqa: S105  the name of a field


@record
class Visitor:
    """Who asks for a page."""

    caller: Caller
    cookie: str
    """Of the browser; a new one where it has none."""
    is_new: bool
    """Whether the browser is yet to be given its cookie."""
    has_session: bool
    """Whether it has shown a key, and may sign out."""


def guest_of(request: Request, dashboard: Dashboard) -> Visitor:
    """A visitor who need not have a key, for the page where one is shown.

    Raises:
        AccessError: there are no keys, and the request names another host than this machine.
    """
    if dashboard.keys is None:
        check_local_host(request)
    cookie = request.cookies.get(COOKIE, "")
    caller = LOCAL if dashboard.keys is None else NOBODY
    return Visitor(
        caller=caller, cookie=cookie or dashboard.sign_ins.new_cookie(), is_new=not cookie, has_session=False
    )


NOBODY = Caller(key_id="-", owner="-", scopes=frozenset())


def visitor_of(request: Request, dashboard: Dashboard) -> Visitor:
    """A visitor who may read.

    Raises:
        AccessError: there is no key, or it is wrong, revoked or expired.
        KeyScopeError: it may not read.
    """
    guest = guest_of(request, dashboard)
    keys = dashboard.keys
    if keys is None:
        return guest
    if "authorization" in request.headers:  # a program
        caller, has_session = caller_of(request, keys), False
    else:
        key = dashboard.sign_ins.key_of(guest.cookie)
        caller, has_session = keys.authenticate(key), True
    caller.require(KeyScope.READ)
    return Visitor(caller=caller, cookie=guest.cookie, is_new=guest.is_new, has_session=has_session)


def local_path(wanted: str) -> str:
    r"""Where a browser goes after it has signed in: a path of this server with its query, and "/" for all else.

    Browsers take `//host`, `/\host` and `/<tab>/host` for other servers.
    """
    is_path = len(wanted) <= _LONGEST_PATH and re.fullmatch(r"/(?![/\\])[!-\[\]-~]*", wanted) is not None
    return wanted if is_path else "/"


async def read_form(request: Request, dashboard: Dashboard) -> dict[str, str]:
    """The fields of a form that a page of ours made for this browser.

    Raises:
        AccessError: it comes from elsewhere.
        RequestError: it is no form, or too large.
    """
    _check_origin(request)
    body = await read_body(request, _LIMITS, kind=_FORM)
    try:
        fields = {name: values[-1] for name, values in parse_qs(body.decode(), max_num_fields=20).items()}
    except ValueError as error:
        raise RequestError("the form cannot be read; go back, load the page again, and send it once more") from error
    if not dashboard.sign_ins.is_form_token(request.cookies.get(COOKIE, ""), fields.get(TOKEN, "")):
        raise AccessError("the form is not from this dashboard, or too old; load its page again, and send it once more")
    return fields


def _check_origin(request: Request) -> None:
    """Browsers say which site a form is from."""
    origin = request.headers.get("origin")
    foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign or request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise AccessError("the form comes from another site; use the pages of this dashboard")
