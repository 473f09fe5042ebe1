"""Whose rows are whose: the person that a row is about, found by following its references."""

from collections.abc import Callable, Mapping

from palaestra.envs.state.schema import Schema
from palaestra.protocols import StateView
from palaestra.records import Row


def owner_of(schema: Schema, person: type[Row]) -> Callable[[Row, StateView], str | None]:
    """What gives the id of the person whom a row is about, by the shortest chain of references.

    Args:
        schema: The world's tables.
        person: The class of the persons.

    Returns:
        A function of a row and the rows around it; it gives `None` for rows that lead to nobody.
    """
    steps = _steps(schema, person.table)

    def owner(row: Row, state: StateView) -> str | None:
        current: Row | None = row
        while current is not None and current.table != person.table:
            step = steps.get(current.table)
            key = None if step is None else getattr(current, step[0])
            current = None if step is None or key is None else state.peek(step[1], key)
        return None if current is None else current.id

    return owner


def _steps(schema: Schema, person: str) -> Mapping[str, tuple[str, type[Row]]]:
    """By table that leads to persons: the column to follow, and the class of the rows that it names."""
    steps: dict[str, tuple[str, type[Row]]] = {}
    reached = [person]
    for table in reached:
        for info in schema:
            if info.name in reached:
                continue
            column = next((n for n, c in info.columns.items() if c.references == table), None)
            if column is not None:
                steps[info.name] = (column, schema[table].kind)
                reached.append(info.name)
    return steps
