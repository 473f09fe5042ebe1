"""The operations of a server by name: which scope each takes, and how a request and its answer are written.

Every protocol reads a caller and bytes, and sends the bytes that `OperationRunner.run` gives. An item that fails is
answered by an error of its own and does not disturb the others.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.errors import PalaestraError, RequestError
from palaestra.record import record
from palaestra.serving.access import Caller, KeyScope
from palaestra.serving.core.answer_codes import code_of, error_json
from palaestra.serving.core.core import SessionCore
from palaestra.serving.core.items import (
    CloseItem,
    CreateItem,
    DropItem,
    EndItem,
    ForkItem,
    HeartbeatItem,
    InspectItem,
    ObserveItem,
    ResetItem,
    RestoreItem,
    SnapshotItem,
    StepItem,
    TasksItem,
)

_LOG = logging.getLogger("palaestra.serving")


@record
class Operation:
    """One thing that can be asked for. Any: each operation has items of its own class."""

    name: str
    scope: KeyScope
    """What the key must allow."""
    kind: type[Any]
    """Of its items."""
    run: Callable[[SessionCore, Caller, Any], bytes]
    """Runs one item; gives its answer as JSON."""
    other_scope: KeyScope | None = None
    """Another scope that allows it."""

    def check_scope(self, caller: Caller) -> None:
        """Check that a caller's key allows it.

        Raises:
            KeyScopeError: it does not.
        """
        if self.other_scope not in caller.scopes:
            caller.require(self.scope)


_PLAY, _AUTHOR = KeyScope.PLAY, KeyScope.AUTHOR
OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation(name="create", scope=_PLAY, kind=CreateItem, run=SessionCore.create),
        Operation(name="reset", scope=_PLAY, kind=ResetItem, run=SessionCore.reset),
        Operation(name="step", scope=_PLAY, kind=StepItem, run=SessionCore.step),
        Operation(name="end", scope=_PLAY, kind=EndItem, run=SessionCore.end),
        Operation(name="fork", scope=_PLAY, kind=ForkItem, run=SessionCore.fork),
        Operation(name="snapshot", scope=_PLAY, kind=SnapshotItem, run=SessionCore.snapshot),
        Operation(name="restore", scope=_PLAY, kind=RestoreItem, run=SessionCore.restore),
        Operation(name="drop", scope=_PLAY, kind=DropItem, run=SessionCore.drop),
        Operation(name="heartbeat", scope=_PLAY, kind=HeartbeatItem, run=SessionCore.heartbeat),
        Operation(name="observe", scope=_PLAY, kind=ObserveItem, run=SessionCore.observe),
        Operation(name="tasks", scope=_PLAY, kind=TasksItem, run=SessionCore.tasks),
        Operation(name="inspect", scope=_AUTHOR, kind=InspectItem, run=SessionCore.inspect),
        # Administrators, who close anybody's sessions, need not be players.
        Operation(name="close", scope=_PLAY, kind=CloseItem, run=SessionCore.close, other_scope=KeyScope.ADMIN),
    )
}
"""Every operation by name."""


@record
class BatchAnswer:
    """The answer to a request, and what metrics count of it."""

    body: bytes
    items: int
    errors: Mapping[str, int]
    """How many items failed, by code."""


class OperationRunner:
    """The operations of one server.

    Args:
        core: The sessions.
    """

    def __init__(self, core: SessionCore) -> None:
        self.core = core
        self._adapters = {
            operation.name: TypeAdapter[list[Any]](list[operation.kind])  # type: ignore[name-defined]
            for operation in OPERATIONS.values()
        }

    def schema(self, name: str, *, reference: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The JSON schema of a request, and those that it refers to by name.

        Args:
            name: The operation's.
            reference: Where those stand, with `{model}` for their name.
        """
        items = self._adapters[name].json_schema(ref_template=reference)
        definitions: dict[str, Any] = items.pop("$defs", {})
        request = {
            "type": "object",
            "properties": {"items": {**items, "maxItems": self.core.limits.batch}},
            "required": ["items"],
            "additionalProperties": False,
        }
        return request, definitions

    def read(self, operation: Operation, body: bytes) -> list[Any]:
        """The items of a request.

        Raises:
            RequestError: it is no JSON, or not such items, or they are too many.
        """
        try:
            read: object = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise RequestError(f"the body is no JSON ({error}); send an object with `items`") from error
        fields = cast("dict[str, object]", read) if isinstance(read, dict) else {}
        if set(fields) != {"items"}:
            raise RequestError("the body is an object with `items` and nothing else")
        return self.read_items(operation, fields["items"])

    def read_items(self, operation: Operation, listed: object) -> list[Any]:
        """The items of a request whose JSON is read; raises as `read` does."""
        number, most = len(cast("list[object]", listed)) if isinstance(listed, list) else 0, self.core.limits.batch
        if number > most:
            raise RequestError(f"{number} items: a request has at most {most}; send several")
        try:
            return self._adapters[operation.name].validate_python(listed)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, ("items", *first["loc"])))
            raise RequestError(f"{where}: {first['msg']}") from error

    def run(self, operation: Operation, caller: Caller, items: list[Any]) -> BatchAnswer:
        """Run the items of a request in order."""
        parts: list[bytes] = []
        errors: dict[str, int] = {}
        for item in items:
            part, code = self.run_item(operation, caller, item)
            parts.append(part)
            if code is not None:
                errors[code] = errors.get(code, 0) + 1
        return BatchAnswer(body=b'{"results":[' + b",".join(parts) + b"]}", items=len(items), errors=errors)

    def run_item(self, operation: Operation, caller: Caller, item: Any) -> tuple[bytes, str | None]:
        """Run one item; its result as JSON, and the code of its error."""
        try:
            return b'{"ok":' + operation.run(self.core, caller, item) + b"}", None
        except Exception as error:
            if not isinstance(error, PalaestraError):
                # Nothing of its text reaches the caller: it may hold what a player must not see.
                _LOG.exception("operation failed", extra={"operation": operation.name})
            return error_json(error), code_of(error)
