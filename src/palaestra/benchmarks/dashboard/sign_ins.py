"""Sign-ins of browsers: a cookie stands for a key that was entered once, and protects the forms.

A page cannot send a key as a header, so the server exchanges a key for a random cookie that scripts and other sites
cannot read or send (`HttpOnly`, `SameSite=Strict`). The key is held in memory and checked with every request, so that
revoking or expiry of a key ends its sessions. A form contains a keyed hash of the cookie, which forms of other sites
lack.
"""

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from threading import Lock

from palaestra.record import record

COOKIE = "palaestra_dashboard"
LIFETIME = 12 * 3_600.0
"""Seconds without a request after which a session ends."""
MOST_SESSIONS = 1_000


@record
class SignIn:
    """A browser session with its key."""

    key: str
    used: float
    """Clock time of the last request, in seconds."""


class SignIns:
    """All sign-ins; they end with the process.

    Args:
        clock: Returns seconds that never decrease.
    """

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._sessions: OrderedDict[str, SignIn] = OrderedDict()
        self._lock = Lock()  # several threads render pages

    @staticmethod
    def new_cookie() -> str:
        """A random cookie for a browser that has none."""
        return secrets.token_urlsafe(32)

    def sign_in(self, key: str) -> str:
        """Start a session with a new cookie. The earlier cookie is not reused: another person may have set it."""
        cookie = self.new_cookie()
        with self._lock:
            self._sessions[cookie] = SignIn(key=key, used=self._clock())
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return cookie

    def sign_out(self, cookie: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(cookie, None)

    def key_of(self, cookie: str) -> str | None:
        """The key of a browser's session; `None` where there is no session, or it has expired."""
        now = self._clock()
        with self._lock:
            session = self._sessions.pop(cookie, None)
            if session is None or now - session.used > LIFETIME:
                return None
            self._sessions[cookie] = replace(session, used=now)  # moves the session to the end of the order of use
        return session.key

    def form_token(self, cookie: str) -> str:
        """The token in forms for a browser with this cookie."""
        return hmac.new(self._secret, cookie.encode(), sha256).hexdigest()

    def is_form_token(self, cookie: str, token: str) -> bool:
        """Whether a form was made for the browser that sent it."""
        return bool(cookie) and hmac.compare_digest(self.form_token(cookie).encode(), token.encode("utf-8", "replace"))
