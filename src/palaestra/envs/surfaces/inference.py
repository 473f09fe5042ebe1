"""What a reading tool shows, worked out from its name and its arguments where it does not declare it.

Only the plainest form is understood; of everything else nothing is assumed. `Reads` says what a tool shows that also
follows references, takes switches, or is named otherwise.
"""

from palaestra.envs.state import Schema, TableInfo
from palaestra.tools import Reads, Tool

VERBS = frozenset({"find", "get", "list", "read", "search", "show"})
"""The first word of a tool that shows the rows of the table named by the others."""
SEARCHES = frozenset({"query", "text", "words"})
"""Names of arguments that hold words to search for."""
CURSOR = "cursor"
"""The name of the argument that continues a list."""


def infer_reads(tool: Tool, schema: Schema) -> Reads | None:
    """What a tool shows, or `None` where that is not plain.

    It is plain where the name is a verb of reading and a table (`get_loan`, `list_loans`), and each argument is the
    row's own id, a column of the same name, the one column that references its table, words to search for, or a cursor.
    """
    info = _table_of(tool.name, schema)
    if info is None or tool.writes:
        return None
    by: dict[str, str] = {}
    search: str | None = None
    cursor: str | None = None
    for name in tool.parameters["properties"]:
        column = _column_of(tool, name, info)
        if column is not None:
            by[name] = column
        elif name in SEARCHES and info.searchable and search is None:
            search = name
        elif name == CURSOR:
            cursor = name
        else:
            return None
    if len(set(by.values())) < len(by):
        return None
    return Reads(table=info.name, by=by, search=search, cursor=cursor)


def _table_of(name: str, schema: Schema) -> TableInfo | None:
    """The one table that a tool's name names after its verb."""
    verb, _, noun = name.partition("_")
    named = [info for info in schema if noun in _forms(info.name)] if verb in VERBS else []
    return named[0] if len(named) == 1 else None


def _forms(table: str) -> set[str]:
    """A table's name, and what it may be in the singular."""
    forms = {table}
    if table.endswith("ies"):
        forms.add(f"{table[:-3]}y")
    if table.endswith("es"):
        forms.add(table[:-2])
    if table.endswith("s"):
        forms.add(table[:-1])
    return forms


def _column_of(tool: Tool, name: str, info: TableInfo) -> str | None:
    """The column whose value an argument is."""
    if name in info.columns:
        return name
    table = tool.references.get(name)
    if table == info.name:
        return "id"
    naming = [column for column in info.references if info.columns[column].references == table]
    return naming[0] if len(naming) == 1 else None
