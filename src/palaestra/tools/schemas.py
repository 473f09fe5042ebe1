"""Tool schemas as a reset returns them: a separate sequence each time, parsed on first access.

Copying fifty schemas takes longer than the rest of a reset, and most callers never read them again.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, overload

import orjson

# Any: JSON schemas have no fixed form.
ToolSchema: TypeAlias = dict[str, Any]


class Schemas(Sequence[ToolSchema]):
    """Tools in OpenAI's function-calling form. The holder owns them; `list(schemas)` is plain JSON.

    Args:
        written: The schemas as a JSON array.
    """

    __slots__ = ("_read", "written")

    def __init__(self, written: bytes) -> None:
        self.written = written
        self._read: list[ToolSchema] | None = None

    @classmethod
    def of(cls, schemas: Iterable[ToolSchema]) -> "Schemas":
        """These schemas, stored as JSON."""
        return cls(orjson.dumps(list(schemas)))

    def fresh(self) -> "Schemas":
        """The same schemas for another owner."""
        return Schemas(self.written)

    @property
    def _all(self) -> list[ToolSchema]:
        if self._read is None:
            read: list[ToolSchema] = orjson.loads(self.written)
            self._read = read
        return self._read

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, index: int) -> ToolSchema: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ToolSchema]: ...

    def __getitem__(self, index: int | slice) -> Any:
        return self._all[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all == list(other)  # pyright: ignore[reportUnknownArgumentType]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Schemas({self._all!r})"

    def __reduce__(self) -> tuple[type["Schemas"], tuple[bytes]]:
        return Schemas, (orjson.dumps(self._all),)
