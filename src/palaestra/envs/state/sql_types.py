"""How column types stand in SQL: decimals as NUMERIC, frozen JSON as its canonical text, bytes as BLOB."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import orjson
import sqlalchemy as sa

from palaestra.digest import canonical
from palaestra.envs.state.columns import Column
from palaestra.frozen import freeze
from palaestra.records import Digits

_TYPES: dict[type, Any] = {
    str: sa.String(),
    int: sa.BigInteger(),
    bool: sa.Boolean(create_constraint=True),
    date: sa.Date(),
    datetime: sa.DateTime(),
    float: sa.Double(),
    bytes: sa.LargeBinary(),
    tuple: sa.JSON(none_as_null=True),
}


class ExactNumeric(sa.types.TypeDecorator[Decimal]):
    """A NUMERIC that gives back the decimal that was put in.

    SQLite keeps numbers as 64-bit floats, which hold and compare every decimal of 15 digits exactly.
    """

    impl = sa.Numeric
    cache_ok = True

    def __init__(self, digits: Digits) -> None:
        super().__init__(digits.total, digits.places)
        self._digits = digits
        self._step = Decimal(1).scaleb(-digits.places)

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        """NUMERIC; for SQLite without SQLAlchemy's own, lossy, way to decimals."""
        total, places = self._digits.total, self._digits.places
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sa.Numeric(total, places, asdecimal=False))
        return dialect.type_descriptor(sa.Numeric(total, places))

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:
        """What the database is given."""
        return float(value) if isinstance(value, Decimal) and dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Decimal | None:
        """The decimal, with all of its places."""
        del dialect
        return None if value is None else Decimal(str(value)).quantize(self._step)


class CanonicalJson(sa.types.TypeDecorator[Any]):
    """Frozen JSON as its canonical text, so that equal values are equal text."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """The text."""
        del dialect
        return None if value is None else canonical(freeze(value)).decode()

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """The frozen value."""
        del dialect
        return None if value is None else freeze(orjson.loads(value))


def sql_column(column: Column) -> sa.Column[Any]:
    """The column of a table of the projection."""
    if column.choices and column.type is str:
        sql_type: Any = sa.Enum(*column.choices, native_enum=False, create_constraint=True)
    elif column.type is dict:
        sql_type = CanonicalJson()
    elif column.digits is not None:
        sql_type = ExactNumeric(column.digits)
    else:
        sql_type = _TYPES[column.type]
    parts = [sa.ForeignKey(f"{column.references}.id")] if column.references else []
    return sa.Column(column.name, sql_type, *parts, primary_key=column.name == "id", nullable=column.nullable)
