"""Reading the items of a request: they are checked once, before any is run, wherever they run."""

from collections.abc import Sequence
from typing import Any, cast

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.errors import RequestError
from palaestra.record import record
from palaestra.serving.core.operations import OPERATIONS, Operation
from palaestra.validation import plain_rule


@record
class ItemBatch:
    """Items of one operation."""

    operation: Operation
    items: Sequence[Any]
    """The items, of the operation's class."""
    listed: Sequence[object]
    """The JSON that the items were read from."""

    def pick(self, places: Sequence[int]) -> "ItemBatch":
        """A batch of some of the items."""
        items, listed = self.items, self.listed
        return ItemBatch(
            operation=self.operation,
            items=[items[place] for place in places],
            listed=[listed[place] for place in places],
        )

    def body(self) -> bytes:
        """The items as the body of a request."""
        return orjson.dumps({"items": self.listed})


class ItemReader:
    """Reads requests.

    Args:
        most: Maximum items of a request.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._adapters = {
            operation.name: TypeAdapter[list[Any]](list[operation.kind])  # type: ignore[name-defined]
            for operation in OPERATIONS.values()
        }

    def schema(self, name: str, *, reference: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The JSON schema of a request, and by name the schemas that it refers to.

        Args:
            name: The operation's name.
            reference: The path of those schemas, with `{model}` for their name.
        """
        items = self._adapters[name].json_schema(ref_template=reference)
        definitions: dict[str, Any] = items.pop("$defs", {})
        request = {
            "type": "object",
            "properties": {"items": {**items, "maxItems": self._most}},
            "required": ["items"],
            "additionalProperties": False,
        }
        return request, definitions

    def read(self, operation: Operation, body: bytes) -> ItemBatch:
        """The items of a request.

        Raises:
            RequestError: the body is not JSON, or does not have such items, or has too many.
        """
        try:
            read: object = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise RequestError(f"the body is no JSON ({error}); send an object with `items`") from error
        fields = cast("dict[str, object]", read) if isinstance(read, dict) else {}
        if set(fields) != {"items"}:
            raise RequestError("the body is an object with `items` and nothing else")
        return self.read_items(operation, fields["items"])

    def read_items(self, operation: Operation, listed: object) -> ItemBatch:
        """The items of a request whose JSON was parsed; raises as `read` does."""
        known = cast("list[object]", listed) if isinstance(listed, list) else []
        if len(known) > self._most:
            raise RequestError(f"{len(known)} items: a request has at most {self._most}; send several")
        try:
            items = self._adapters[operation.name].validate_python(listed)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, ("items", *first["loc"])))
            raise RequestError(f"{where}: {plain_rule(first['msg'])}") from error
        return ItemBatch(operation=operation, items=items, listed=known)
