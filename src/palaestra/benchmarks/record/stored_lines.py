"""Reads the lines of a stored file in order, a few at a time: lines may be large, and files may have many lines."""

from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from palaestra.benchmarks.record.line_reader import PIECE, FileLine
from palaestra.benchmarks.record.models import LineRow

_MOST = 1_000
"""Maximum number of small lines that are read at once."""


def stored_lines(session: Session, file: int) -> Iterator[FileLine]:
    """The lines of a file.

    Args:
        session: A session of the record.
        file: The number of the file.
    """
    last, count = 0, 1
    while True:
        rows = session.execute(
            select(LineRow.number, LineRow.content, LineRow.is_ended)
            .where(LineRow.file_id == file, LineRow.number > last)
            .order_by(LineRow.number)
            .limit(count)
        ).all()
        if not rows:
            return
        for number, content, is_ended in rows:
            last = number
            yield FileLine(content=content, is_ended=is_ended)
        largest = max(len(content) for _, content, _ in rows)
        count = max(1, min(_MOST, PIECE // (largest + 1)))
