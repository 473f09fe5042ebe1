"""Column types that take any text and any integer that JSON can hold, and mean the same in SQLite and PostgreSQL."""

from typing import Any

from sqlalchemy import BigInteger, Integer, String, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

NAME_LENGTH = 500
"""Number of characters of a name that are kept: an index entry in PostgreSQL holds at most 2,700 bytes."""

BIG_KEY = BigInteger().with_variant(Integer, "sqlite")  # SQLite assigns row numbers only for the type INTEGER


def clean_text(text: str) -> str:
    """Replace what databases refuse in a text: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


class CleanText(TypeDecorator[str]):
    """Text of any length, cleaned by `clean_text`. The exact bytes of a file are in the table `lines`."""

    impl = Text
    cache_ok = True

    # Any: SQLAlchemy declares this type.
    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Clean values that are written or compared."""
        del dialect
        return None if value is None else clean_text(str(value))


class NameText(TypeDecorator[str]):
    """A name, cleaned by `clean_text` and cut after `NAME_LENGTH` characters."""

    impl = String(NAME_LENGTH)
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Clean and cut values that are written or compared."""
        del dialect
        return None if value is None else clean_text(str(value))[:NAME_LENGTH]
