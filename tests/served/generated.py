"""Requests generated from a server's own OpenAPI document, by Schemathesis."""

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi import checks as openapi
from starlette.testclient import TestClient

from palaestra.serving.core import OPERATIONS
from served import Door

_OPENAPI: Any = schemathesis.openapi  # its types are put together at run time
_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example)
_CHECKS: list[Any] = [
    getattr(checks if name == "not_a_server_error" else openapi, name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
    )
]


@dataclass(slots=True)
class GeneratedRequests:
    """What was sent, and how it was answered."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    results: Counter[str] = field(default_factory=Counter[str])
    """Of items: "ok", or the code of an error."""

    @property
    def sent(self) -> int:
        """Requests."""
        return self.statuses.total()


def send_generated(door: Door, *, each: int, number: int = 0) -> GeneratedRequests:
    """Send requests that the document allows and such that it does not, to every route, and hold answers to it.

    Of the first four items of a valid request, every second one names a live session, made for it.

    Args:
        door: To whom; the caller is an author.
        each: Requests of each kind to each route.
        number: Of the run: another one generates other requests.

    Raises:
        AssertionError: an answer is a fault of the server, or not as the document says.
    """
    document = deepcopy(door.app.openapi())
    for methods in document["paths"].values():
        for method in methods.values():
            method["security"] = []  # every request has a key; other tests are about those without
    schema = _OPENAPI.from_dict(document)
    found = GeneratedRequests()
    with TestClient(door.app, raise_server_exceptions=True) as client:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            for listed in schema.get_all_operations():
                operation = listed.ok()
                if mode is GenerationMode.NEGATIVE and operation.method.upper() == "GET":
                    continue  # it takes nothing that could be wrong
                cases = operation.as_strategy(generation_mode=mode)
                plays = mode is GenerationMode.POSITIVE and operation.path.rpartition("/")[2] in OPERATIONS
                _send_to(client, door, cases, found, each=each, number=number, plays=plays)
    return found


def _send_to(
    client: TestClient,
    door: Door,
    cases: Any,
    found: GeneratedRequests,
    *,
    each: int,
    number: int,
    plays: bool,
) -> None:
    """Send cases to one route; where it `plays`, some of the items name live sessions."""
    turn = 0

    @seed(number)
    @settings(
        max_examples=each,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=_SLOW,
    )
    @given(case=cases)
    def send(case: Any) -> None:
        nonlocal turn
        turn += 1
        if plays:
            case.body = _enliven(case.body, lambda: _live(door), turn)
        sent: dict[str, Any] = case.as_transport_kwargs(base_url="http://testserver")
        if "data" in sent:
            sent["content"] = sent.pop("data")
        sent.pop("cookies", None)  # none is read
        headers = {**dict(sent.pop("headers", None) or {}), "Authorization": f"Bearer {door.tokens['author']}"}
        response: Any = client.request(**sent, headers=headers)
        found.statuses[case.operation.label, response.status_code] += 1
        case.validate_response(response, checks=_CHECKS)
        if response.status_code == 200 and response.headers["content-type"] == "application/json":
            for result in response.json().get("results", []):
                found.results[result["error"]["code"] if "error" in result else "ok"] += 1

    send()


def _live(door: Door) -> str:
    """A session in which an episode is under way."""
    session = str(door.ask("author", "create", world="library")["session"])
    door.ask("author", "reset", session=session, seed=0)
    return session


def _enliven(body: dict[str, Any], live: Callable[[], str], turn: int) -> dict[str, Any]:
    items: list[Any] = body.get("items", [])
    named: list[Any] = []
    for place, item in enumerate(items):
        chosen = place < 4 and (place + turn) % 2 and "session" in item
        named.append({**item, "session": live()} if chosen else item)
    return {**body, "items": named}
