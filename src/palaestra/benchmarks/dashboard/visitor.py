"""Identifies visitors, checks their access, and checks that a form that writes comes from a page of this dashboard."""

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
    """The sender of a request for a page."""

    caller: Caller
    cookie: str
    """The cookie of the browser; a new one where it has none."""
    is_new: bool
    """Whether the cookie is new and must be set."""
    has_session: bool
    """Whether the browser has signed in with a key, and may sign out."""


def guest_of(request: Request, dashboard: Dashboard) -> Visitor:
    """A visitor without a required key, for the sign-in page.

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
        AccessError: the key is missing, wrong, revoked or expired.
        KeyScopeError: the key does not allow reading.
    """
    guest = guest_of(request, dashboard)
    keys = dashboard.keys
    if keys is None:
        return guest
    if "authorization" in request.headers:  # from a program
        caller, has_session = caller_of(request, keys), False
    else:
        key = dashboard.sign_ins.key_of(guest.cookie)
        caller, has_session = keys.authenticate(key), True
    caller.require(KeyScope.READ)
    return Visitor(caller=caller, cookie=guest.cookie, is_new=guest.is_new, has_session=has_session)


def local_path(wanted: str) -> str:
    r"""The address after signing in: a path of this server with its query, or "/" for anything else.

    Browsers interpret `//host`, `/\host` and `/<tab>/host` as other servers.
    """
    is_path = len(wanted) <= _LONGEST_PATH and re.fullmatch(r"/(?![/\\])[!-\[\]-~]*", wanted) is not None
    return wanted if is_path else "/"


async def read_form(request: Request, dashboard: Dashboard) -> dict[str, str]:
    """Read the fields of a form that a page of this dashboard made for this browser.

    Raises:
        AccessError: the form comes from elsewhere.
        RequestError: the body is not a form, or is too large.
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
    """Check the origin of a form, which browsers send."""
    origin = request.headers.get("origin")
    foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign or request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise AccessError("the form comes from another site; use the pages of this dashboard")
