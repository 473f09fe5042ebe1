"""A connection to a server of worlds, which repeats requests until they are answered, and never runs one twice.

The client repeats a request if its connection broke or timed out, or if the server had no room for it. Repeated
requests carry the same request keys, so the server runs each once. Any other refusal is an error at once.
"""

import os
import re
import secrets
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import httpx
import orjson
from pydantic import BaseModel

from palaestra.errors import AccessError, ConfigError, PalaestraError, ReplyError, RequestError, ServerError
from palaestra.secret import SecretText
from palaestra.serving.core.answer_codes import error_of

KEY_VARIABLE = "PALAESTRA_KEY"
"""The environment variable with the default key."""
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0
_KEY_CHARACTERS = re.compile(r"[!-~]+")
_NOT_NOW = frozenset({408, 429, 502, 503, 504})
_NOT_REACHED = "is the server running? start one with `palaestra serve`"
_NO_ROOM = "the server is there and has no room; try again later"


class ServerConnection:
    """A connection that is kept alive. It opens on first use, and can be used again after it was closed.

    Args:
        url: The server, such as "http://127.0.0.1:8765".
        key: The key, stripped of white space; `None` reads the environment variable `PALAESTRA_KEY`, if it is set.
        timeout: Maximum seconds per attempt.
        tries: Maximum attempts per request.
        sleep: Waits between two attempts.

    Raises:
        ConfigError: `url` is not the address of a server.
        AccessError: the key has invalid characters.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 60.0,
        tries: int = 5,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if "pal_" in url or "@" in url:  # not repeated: errors are printed and logged
            raise ConfigError(
                "the address holds a key, a name or a password; give the address of a server as url=, such as "
                "http://127.0.0.1:8765, and the key as key="
            )
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"url={url!r}: give the address of a server, such as http://127.0.0.1:8765")
        self.url = url.rstrip("/")
        self.sessions = 0
        """How many open sessions use it."""
        found = (os.environ.get(KEY_VARIABLE, "") if key is None else key).strip()
        if found and not _KEY_CHARACTERS.fullmatch(found):
            raise AccessError(  # without the key: errors are printed and logged
                f"the key of {len(found)} characters has white space or others that no key has; give one key as "
                "`palaestra keys add` prints it"
            )
        self._key = None if not found else SecretText(found)
        self._timeout = timeout
        self._tries = tries
        self._sleep = sleep
        self._client: httpx.Client | None = None
        self._prefix = secrets.token_hex(6)
        self._numbers = count()

    def request_key(self) -> str:
        """A new request key."""
        return f"{self._prefix}-{next(self._numbers)}"

    def call(self, operation: str, item: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one item. Any: JSON.

        Raises:
            PalaestraError: the server answered with an error; it is raised as its own class.
            ServerError: the server could not be reached.
        """
        answer = self.call_all(operation, [item])[0]
        if isinstance(answer, PalaestraError):
            raise answer
        return answer

    def call_all(self, operation: str, items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | PalaestraError]:
        """The answers to items, with an error for each that failed. Any: JSON.

        Raises:
            PalaestraError: the server refuses the request as a whole.
            RequestError: an item holds a value that JSON cannot express.
            ServerError: the server could not be reached.
        """
        body = _write_items(items)
        answer = self._ask("POST", operation, body)
        results: list[Any] = answer.get("results", [])
        if len(results) != len(items):
            raise ReplyError(f"{self.url}: {len(results)} results for {len(items)} items; is it a Palaestra server?")
        return [error_of(result["error"]) if "error" in result else result["ok"] for result in results]

    def get(self, name: str) -> dict[str, Any]:
        """The answer of a route about the server. Any: JSON."""
        return self._ask("GET", name, None)

    def _ask(self, method: str, name: str, body: bytes | None) -> dict[str, Any]:
        wait, failure, way_out = _FIRST_WAIT, "it was not asked", "give tries=1 or more"
        for number in range(self._tries):
            if number:
                self._sleep(wait)
                wait = min(2 * wait, _LONGEST_WAIT)
            try:
                response = self._open().request(method, f"{self.url}/v1/{name}", content=body)
            except httpx.TransportError as error:
                failure, way_out = str(error) or type(error).__name__, _NOT_REACHED
                continue
            if response.status_code not in _NOT_NOW:
                return self._read(response)
            failure, way_out = f"status {response.status_code}: {response.text[:200]}", _NO_ROOM
            wait = max(wait, min(_retry_after(response), _LONGEST_WAIT))
        raise ServerError(f"{self.url}: no answer to `{name}` in {self._tries} tries ({failure}); {way_out}")

    def _read(self, response: httpx.Response) -> dict[str, Any]:
        try:
            read: dict[str, Any] = orjson.loads(response.content)
            failure = error_of(read["error"]) if "error" in read else None
        except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError) as error:
            raise ReplyError(
                f"{self.url}: status {response.status_code} and no such answer; is it a Palaestra server?"
            ) from error
        if failure is not None:
            raise failure
        return read

    def _open(self) -> httpx.Client:
        if self._client is None:
            headers = {"Content-Type": "application/json"}
            if self._key is not None:
                headers["Authorization"] = f"Bearer {self._key}"
            self._client = httpx.Client(headers=headers, timeout=self._timeout, trust_env=False)
            # Palaestra's local environments hold no resources, so users often drop them without `close`.
            weakref.finalize(self, self._client.close)
        return self._client

    def close(self) -> None:
        """Close the connection; closing twice is allowed."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def __repr__(self) -> str:
        return f"ServerConnection({self.url!r})"


def _retry_after(response: httpx.Response) -> float:
    text = response.headers.get("retry-after", "0")
    return float(text) if text.replace(".", "", 1).isdigit() else 0.0


def _write_items(items: Sequence[Mapping[str, Any]]) -> bytes:
    try:
        return orjson.dumps({"items": items}, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        raise RequestError(f"the request is no JSON ({error}); give text, numbers, lists and mappings") from error


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):  # an action as a client of a model server has it
        return value.model_dump(exclude_none=True)
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    if isinstance(value, Sequence):
        return list(value)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    raise TypeError(f"a {type(value).__name__} is no JSON: {value!r:.80}")
