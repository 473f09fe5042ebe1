"""Who uses the dashboard in a browser: a cookie stands for a key that was typed in once, and guards its forms.

A page cannot send a key as a header, so a key is exchanged for a random cookie that scripts and other sites cannot
read or send (`HttpOnly`, `SameSite=Strict`). The key is held in memory and checked with every request, so that a key
that is revoked or expires ends its sessions. A form carries a keyed hash of the cookie; forms of other sites lack it.
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
    """A browser that has shown a key."""

    key: str
    used: float
    """Seconds on the clock, of the last request."""


class SignIns:
    """All of them; they end with the process.

    Args:
        clock: Gives seconds that never go back.
    """

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._sessions: OrderedDict[str, SignIn] = OrderedDict()
        self._lock = Lock()  # pages are made in several threads

    @staticmethod
    def new_cookie() -> str:
        """A cookie for a browser that has none."""
        return secrets.token_urlsafe(32)

    def sign_in(self, key: str) -> str:
        """The cookie of a new session. The former cookie counts no more: somebody else may have set it."""
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
        """The key that a browser has shown; `None` where it has not, or too long ago."""
        now = self._clock()
        with self._lock:
            session = self._sessions.pop(cookie, None)
            if session is None or now - session.used > LIFETIME:
                return None
            self._sessions[cookie] = replace(session, used=now)  # behind those that were used before
        return session.key

    def form_token(self, cookie: str) -> str:
        """What a form of a browser with this cookie carries."""
        return hmac.new(self._secret, cookie.encode(), sha256).hexdigest()

    def is_form_token(self, cookie: str, token: str) -> bool:
        """Whether a form was made for the browser that sent it."""
        return bool(cookie) and hmac.compare_digest(self.form_token(cookie).encode(), token.encode("utf-8", "replace"))
