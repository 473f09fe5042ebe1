"""A database for one episode: tables are lent, and a row is copied when it is first handed out."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast


class LentTable(dict[str, Any]):
    """A table of rows that are pydantic models. Any: rows.

    Whoever reads a row through it gets a copy of their own, so that the lender's rows are never written. Pydantic,
    which dumps a database for its hash, reads rows without having them copied.

    Args:
        rows: The lender's.
    """

    def __init__(self, rows: Mapping[str, Any]) -> None:
        super().__init__(rows)
        self._own: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        if key not in self._own and key in self:
            super().__setitem__(key, super().__getitem__(key).model_copy(deep=True))
            self._own.add(key)
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._own.add(key)
        super().__setitem__(key, value)

    def get(self, key: str, default: Any = None) -> Any:
        """The row, or what else."""
        if key not in self:
            return default
        return self[key]

    def pop(self, key: str, *default: Any) -> Any:
        """The row, which is gone then."""
        return super().pop(key, *default) if key not in self else self._take(key)

    def _take(self, key: str) -> Any:
        row = self[key]
        super().pop(key)
        return row

    def values(self) -> Any:
        """Every row, copied."""
        self._copy_all()
        return super().values()

    def items(self) -> Any:
        """Every row with its key, copied."""
        self._copy_all()
        return super().items()

    def _copy_all(self) -> None:
        for key in list(self):
            self[key]


def fork_database(database: Any) -> Any:
    """A database of one's own. Any: a pydantic model, as it comes.

    Args:
        database: The lender's, which must not be written afterwards.
    """
    fields: dict[str, Any] = dict(database)
    return database.model_copy(update={name: _lend(value) for name, value in fields.items()})


def _lend(value: Any) -> Any:
    if not isinstance(value, dict):
        return deepcopy(value)
    rows = cast("dict[str, Any]", value)
    return LentTable(rows) if all(hasattr(row, "model_copy") for row in rows.values()) else deepcopy(rows)
