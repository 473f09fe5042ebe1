"""JSON requests over HTTP to one server, with retries within a time budget.

Retried are temporary failures (408, 409, 429, 5xx), lost connections and time-outs; the pause doubles from try to try,
and is at least that of `Retry-After`. Any other refusal is an error at once. Two rules protect secrets:

- The key is read from an environment variable for each request. No record, error, pickle or `repr` holds it; if a
  server quotes it in a refusal, it is removed.
- The environment's proxies and certificates (`HTTPS_PROXY`, `SSL_CERT_FILE`, ...) are used only if `trust_env` is set.
  Redirects are never followed.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Self, cast

import httpx
import orjson
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    stop_any,
    stop_before_delay,
)

from palaestra.errors import ConfigError, ReplyError, ServerError, WaitError
from palaestra.record import record
from palaestra.records import JsonObject
from palaestra.seeding import Stream

_NOT_NOW = frozenset({408, 409, 425, 429})
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
_QUOTED = 300
"""Characters of a server's answer that an error quotes."""
_WAYS_OUT = {
    400: "the server's limits or its dialect may differ; change the request",
    401: "check the key",
    403: "check the key and what it is allowed",
    404: "check the address and the model's name",
    413: "shorten the request",
    422: "the server's dialect may differ; change the request",
}


@record
class EndpointConfig:
    """A server, and its time limits."""

    base_url: str
    """The address, such as "https://api.openai.com/v1"."""
    key_variable: str | None = None
    """The name of the environment variable that holds the key; `None` sends none."""
    timeout: float = 120.0
    """Maximum seconds of one try."""
    tries: int = 6
    patience: float = 300.0
    """Seconds after the start of the first try from which on there are no more tries."""
    concurrency: int = 32
    """Maximum concurrent requests, including those that wait for a retry; further requests wait. The limit is per event
    loop."""
    trust_env: bool = False
    """Whether the environment's proxies and certificates are used."""

    def __post_init__(self) -> None:
        """Check the ranges of the numbers.

        Raises:
            ConfigError: a number is out of range.
        """
        for name in ("tries", "concurrency"):
            if (value := getattr(self, name)) < 1:
                raise ConfigError(f"{name}={value}: it is at least 1")
        for name in ("timeout", "patience"):
            if not (seconds := getattr(self, name)) > 0:  # also refuses NaN
                raise ConfigError(f"{name}={seconds:g}: a time is above 0 seconds")


class Endpoint:
    """A server that answers JSON requests.

    It may be used from several event loops; each has its own connections.

    Args:
        config: The server.
        sleep: Waits between two tries.

    Raises:
        ConfigError: the address is invalid or holds a secret.
    """

    def __init__(self, config: EndpointConfig, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.config = config
        self._sleep = sleep
        self._base = _check(config.base_url)
        self._sessions: dict[asyncio.AbstractEventLoop, _Session] = {}
        # A separate generator: pauses must differ between processes, decide no result, and leave `random`'s state
        # unchanged.
        self._jitter = Stream.root("retry", os.getpid(), time.monotonic_ns())

    def __reduce__(self) -> tuple[type[Self], tuple[EndpointConfig]]:
        return type(self), (self.config,)

    def __repr__(self) -> str:
        return f"Endpoint({self.config!r})"

    async def post(
        self, path: str, body: Mapping[str, object], *, told: Callable[[str], None] = lambda _: None
    ) -> JsonObject:
        """Send a request.

        Args:
            path: The path below the server's address, such as "chat/completions".
            body: The request, as JSON.
            told: Called with the kind of each failed try: "status 429", "late", "lost connection", "refused 400" or "no
                JSON object".

        Raises:
            WaitError: no answer arrived in time.
            ServerError: it could not be reached, failed, requires a pause beyond the budget, or `close` was called.
            ReplyError: it refused the request, or its answer is not a JSON object.
            ConfigError: the key's variable is not set, or is empty.
        """
        config, session = self.config, self._session()
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(_Fault),
            stop=stop_any(stop_after_attempt(config.tries), stop_before_delay(config.patience)),
            wait=self._wait,
            sleep=self._sleep,
            reraise=True,
        )
        url, content = f"{self._base}/{path}", orjson.dumps(body)
        async with session.places:
            begun = time.monotonic()
            try:
                return await retrying(self._once, session, url, content, told)
            except _Fault as fault:
                last = fault
        tries, seconds = retrying.statistics["attempt_number"], time.monotonic() - begun
        asks = f"; it asks to wait {last.wait:g} s, of {config.patience:g} s of patience" if last.wait else ""
        raise last.kind(
            f"{url}: {last}{asks}; tried {tries} times in {seconds:.0f} s; "
            "see whether the server is well, or give it more time"
        )

    async def close(self) -> None:
        """Close the connections of this event loop; running tries fail. Repeated calls are allowed."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def _once(self, session: "_Session", url: str, content: bytes, told: Callable[[str], None]) -> JsonObject:
        key = self._key()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        try:
            response = await session.post(url, content, headers, seconds=self.config.timeout)
            return self._read(url, response, key, told)
        except TimeoutError:
            told("late")
            fault = _Fault(f"no answer within {self.config.timeout:g} s", kind=WaitError)
        except httpx.RequestError as error:
            told("lost connection")
            said = _redact(f"{type(error).__name__}: {error}", key)
            fault = _Fault(f"the connection failed ({said})", kind=ServerError)
        raise fault  # raised here without context: the other error's request holds the key

    def _read(self, url: str, response: httpx.Response, key: str, told: Callable[[str], None]) -> JsonObject:
        status, body = response.status_code, response.content
        if status in _NOT_NOW or status >= 500:
            told(f"status {status}")
            said = f"status {status}: {_redact(_complaint(body), key)}"
            raise _Fault(said, kind=ServerError, wait=_retry_after_seconds(response))
        if not response.is_success:
            told(f"refused {status}")
            way_out = _WAYS_OUT.get(status, "give the address that answers itself" if status < 400 else "")
            raise ReplyError(
                f"{url} refused the request with status {status}: {_redact(_complaint(body), key)}"
                + (f"; {way_out}" if way_out else "")
            )
        try:
            answer: object = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            answer = error
        if not isinstance(answer, dict):
            told("no JSON object")
            raise ReplyError(
                f"{url} answered with no JSON object: {_redact(_excerpt(body), key)!r}; "
                "check that the address is that of the API"
            )
        return cast("JsonObject", answer)

    def _wait(self, state: RetryCallState) -> float:
        fault = state.outcome.exception() if state.outcome is not None else None
        asked = fault.wait if isinstance(fault, _Fault) else 0.0
        own = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (state.attempt_number - 1))
        return max(asked, own * (0.5 + self._jitter.below(1 << 32) / (1 << 33)))

    def _key(self) -> str:
        if self.config.key_variable is None:
            return ""
        key = os.environ.get(self.config.key_variable, "").strip()
        if not key or not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(
                f"the environment variable {self.config.key_variable} {'holds no key' if key else 'is not set'}; "
                "set it to the server's key, or name no variable where none is needed"
            )
        return key

    def _session(self) -> "_Session":
        loop = asyncio.get_running_loop()
        if loop not in self._sessions:
            for ended in [other for other in self._sessions if other.is_closed()]:
                del self._sessions[ended]
            most = self.config.concurrency
            client = httpx.AsyncClient(
                timeout=None,  # noqa: S113  `_once` has a clock of its own, which a server cannot keep alive byte by byte
                trust_env=self.config.trust_env,
                limits=httpx.Limits(max_connections=most, max_keepalive_connections=most),
            )
            self._sessions[loop] = _Session(client, asyncio.Semaphore(most))
        return self._sessions[loop]


class _Session:
    """The connections of one event loop."""

    def __init__(self, client: httpx.AsyncClient, places: asyncio.Semaphore) -> None:
        self.places = places
        self._client = client
        self._clocks: set[asyncio.Timeout] = set()
        """The time-outs of running tries."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    async def post(self, url: str, content: bytes, headers: Mapping[str, str], *, seconds: float) -> httpx.Response:
        """Send one request.

        Raises:
            TimeoutError: there was no answer in time.
            RequestError: the connection failed.
            ServerError: the session was closed.
        """
        if self._closed:
            raise ServerError(_CLOSED)
        clock = asyncio.timeout(seconds)
        self._clocks.add(clock)
        self._idle.clear()
        try:
            async with clock:
                return await self._client.post(url, content=content, headers=headers)
        except TimeoutError:
            if self._closed:
                raise ServerError(_CLOSED) from None
            raise
        finally:
            self._clocks.discard(clock)
            if not self._clocks:
                self._idle.set()

    async def close(self) -> None:
        """End the running tries, then close the connections: one that is being opened would stay open otherwise."""
        self._closed = True
        for clock in self._clocks:
            if not clock.expired():
                clock.reschedule(asyncio.get_running_loop().time())
        await self._idle.wait()
        await self._client.aclose()


_CLOSED = "the connections to the server were closed during a request; ask again for new ones"


class _Fault(Exception):  # noqa: N818  it never leaves this file
    """A failed try that may be repeated."""

    def __init__(self, said: str, *, kind: type[WaitError | ServerError], wait: float = 0.0) -> None:
        super().__init__(said)
        self.kind = kind
        self.wait = wait


def _check(base_url: str) -> str:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigError(f"base_url={base_url!r} is no address; give one such as 'https://api.openai.com/v1'")
    if url.userinfo or url.query:
        raise ConfigError(
            f"base_url of {url.host} holds a user, a password or a query, which would show in errors; "
            "put the key into an environment variable and give the name of that"
        )
    return base_url.rstrip("/")


def _complaint(body: bytes) -> str:
    """A server's message about a refused request, in OpenAI's form or any other."""
    try:
        # Any: the server's own JSON; every access is checked.
        said: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _excerpt(body)
    for name in ("error", "message"):
        said = cast("dict[str, Any]", said).get(name, said) if isinstance(said, dict) else said
    return said if isinstance(said, str) else _excerpt(body)


def _excerpt(body: bytes) -> str:
    return body.decode(errors="replace").strip() or "nothing"


def _redact(said: str, key: str) -> str:
    """A server's text for an error: without the key, and shortened."""
    said = said.replace(key, "***") if key else said
    return said if len(said) <= _QUOTED else said[:_QUOTED] + "..."


def _retry_after_seconds(response: httpx.Response) -> float:
    """The seconds of `Retry-After`: a number, or a date by the server's own clock."""
    said = response.headers.get("Retry-After", "")
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(said)
        now = parsedate_to_datetime(response.headers.get("Date", ""))
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError):  # an invalid date, or one without a time zone
        return 0.0
