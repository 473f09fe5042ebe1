"""The operations of a server by name: the scope each needs, how its items run, and how the answer is written.

An item that fails gets its own error as answer and does not affect the others.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palaestra.errors import PalaestraError
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
    """One operation. Any: each operation has its own class of items."""

    name: str
    scope: KeyScope
    """The scope that the key needs."""
    kind: type[Any]
    """The class of its items."""
    run: Callable[[SessionCore, Caller, Any], bytes]
    """Runs one item and returns its answer as JSON."""
    other_scope: KeyScope | None = None
    """Another scope that also allows it."""

    def check_scope(self, caller: Caller) -> None:
        """Check that a caller's key allows the operation.

        Raises:
            KeyScopeError: the key does not.
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
    """The answer to a request."""

    results: Sequence[bytes]
    """One result for each item, in the same order: `{"ok": ...}` or `{"error": ...}` as JSON."""
    errors: Mapping[str, int]
    """The number of items that failed, by code."""

    @property
    def body(self) -> bytes:
        """The answer as JSON."""
        return b'{"results":[' + b",".join(self.results) + b"]}"


class OperationRunner:
    """The operations of one session core.

    Args:
        core: The sessions.
    """

    def __init__(self, core: SessionCore) -> None:
        self.core = core

    def run(self, operation: Operation, caller: Caller, items: Sequence[Any]) -> BatchAnswer:
        """Run the items of a request in order."""
        results: list[bytes] = []
        errors: dict[str, int] = {}
        for item in items:
            result, code = self.run_item(operation, caller, item)
            results.append(result)
            if code is not None:
                errors[code] = errors.get(code, 0) + 1
        return BatchAnswer(results=results, errors=errors)

    def run_item(self, operation: Operation, caller: Caller, item: Any) -> tuple[bytes, str | None]:
        """Run one item; return its result as JSON, and the code of its error."""
        try:
            return b'{"ok":' + operation.run(self.core, caller, item) + b"}", None
        except Exception as error:
            if not isinstance(error, PalaestraError):
                # The caller does not get the text: it may hold something that a player must not see.
                _LOG.exception("operation failed", extra={"operation": operation.name})
            return error_json(error), code_of(error)
