"""Column types that take any text and any integer that JSON can hold, and mean the same in SQLite and PostgreSQL."""

from typing import Any

from sqlalchemy import BigInteger, Integer, String, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

NAME_LENGTH = 500
"""Characters of a name that are kept: PostgreSQL's indexes take no more than 2,700 bytes."""

BIG_KEY = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by INTEGER alone


def clean_text(text: str) -> str:
    """The text without what databases refuse: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


class CleanText(TypeDecorator[str]):
    """Text of any length, cleaned. Bytes that must stay as they are stand in the lines."""

    impl = Text
    cache_ok = True

    # Any: what SQLAlchemy declares.
    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Clean what is written and what is compared."""
        del dialect
        return None if value is None else clean_text(str(value))


class NameText(TypeDecorator[str]):
    """A name: cleaned, and cut after `NAME_LENGTH` characters."""

    impl = String(NAME_LENGTH)
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Clean and cut what is written and what is compared."""
        del dialect
        return None if value is None else clean_text(str(value))[:NAME_LENGTH]
