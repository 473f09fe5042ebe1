"""The lines of a file in the record, in order, a few at a time: a line may be large, and a file may have many."""

from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from palaestra.benchmarks.record.line_reader import PIECE, FileLine
from palaestra.benchmarks.record.models import LineRow

_MOST = 1_000
"""Lines that are read at once, where they are small."""


def stored_lines(session: Session, file: int) -> Iterator[FileLine]:
    """The lines of a file.

    Args:
        session: Whose record.
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
