"""On the generic surface of any schema, a translated reading call shows the rows that the tool itself shows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from datetime import date, timedelta
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.envs.state import Base, Overlay, Schema
from palaestra.envs.surfaces import generic_surface
from palaestra.records import ANY_TABLE, References, Row, Searchable, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import CONTROL, Reads, Tool, Toolbox, ToolContext, tool
from worlds.play import Play

TABLES = ("authors", "boxes", "cities", "news")
WORDS = ("red", "green", "blue")
KINDS = ("open", "closed")
FIRST = date(2031, 1, 1)
PAGE = 10
HINTS: Mapping[str, Any] = {
    "label": Annotated[str, Searchable()],
    "kind": Literal["open", "closed"],
    "size": int,
    "flag": bool,
    "day": date,
    "note": str | None,
    "code": Annotated[str, References(ANY_TABLE)],
}
"""Columns that a table may have beside references."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A reading tool, and the rows that it shows by its own code."""

    name: str
    reads: Reads | None
    """What it declares."""
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    """By argument: the column that it has to equal."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """By argument: its annotation."""
    search: bool = False
    paged: bool = False
    least: bool = False
    """Whether `least` bounds `size` from below, and `flagged` leaves out what has no flag."""
    follow: tuple[tuple[str, str], ...] = ()
    """Tables and their columns that name the row shown."""

    def tool(self, info_of: Callable[[str], type[Row]], table: str) -> Tool:
        """The tool, over the rows of a table."""

        def read(context: ToolContext, **asked: Any) -> object:
            kind = info_of(table)
            rows: list[Row] = [row for row in context.state.find(kind) if self._holds(row, asked)]
            if asked.get("cursor") is not None:
                rows = [row for row in rows if row.id > asked["cursor"]]
            shown = rows[:PAGE] if self.paged else rows
            context.show(*shown)
            for other, column in self.follow:
                keys = {row.id for row in shown}
                context.show(*(r for r in context.state.find(info_of(other)) if getattr(r, column) in keys))
            return {"next": shown[-1].id if len(rows) > len(shown) else None}

        hints = {**self.arguments}
        if self.search:
            hints["query"] = str
        if self.least:
            hints |= {"least": int | None, "flagged": bool}
        if self.paged:
            hints["cursor"] = str | None
        defaults: dict[str, Any] = {"least": None, "flagged": True, "cursor": None}
        read.__name__ = self.name
        read.__doc__ = "Read.\n\nArgs:\n" + "\n".join(f"    {name}: It." for name in hints)
        read.__annotations__ = {"context": ToolContext, **hints, "return": object}
        parameters = [Parameter("context", Parameter.POSITIONAL_OR_KEYWORD)]
        parameters += [
            Parameter(n, Parameter.KEYWORD_ONLY, default=defaults.get(n, Parameter.empty)) for n in hints
        ]  # fmt: skip
        cast("Any", read).__signature__ = Signature(parameters)
        return tool(reads=self.reads)(read)

    def _holds(self, row: Any, asked: Mapping[str, Any]) -> bool:
        wanted = {column: asked[name] for name, column in self.columns.items() if asked[name] is not None}
        if any(_json(getattr(row, column)) != value for column, value in wanted.items()):
            return False
        if self.search and not (asked["query"] and set(asked["query"].split()) <= set(row.label.split())):
            return False
        if self.least and asked.get("least") is not None and row.size < asked["least"]:
            return False
        return not self.least or not asked.get("flagged", True) or row.flag


def _json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A random schema, rows of it, and tools that read them."""

    schema: Schema
    base: Base
    toolbox: Toolbox
    stream: Stream


def _nullable_reference(table: str) -> Any:
    reference: Any = Annotated[str, References(table)]
    return reference | None


def example(seed: int) -> Example:
    """The same example for the same number."""
    stream = Stream.root("random-schema", seed)
    kinds: dict[str, type[Row]] = {}
    pointing: dict[str, dict[str, str]] = {}
    for table in TABLES[: stream.between(1, len(TABLES))]:
        pointing[table] = {f"{name}_id": name for name in (*kinds, table) if stream.chance(60)}
        columns = {name: hint for name, hint in HINTS.items() if name in ("size", "flag") or stream.chance(60)}
        columns |= {
            name: _nullable_reference(to) if to == table else Annotated[str, References(to)]
            for name, to in pointing[table].items()
        }
        made = make_dataclass(
            table.title(), list(columns.items()), bases=(Row,), frozen=True, slots=True, kw_only=True,
            namespace={"table": table, "prefix": f"{table[0].upper()}-"},
        )  # fmt: skip
        kinds[table] = made
    schema = Schema(*kinds.values())
    base = Base(schema, _rows(schema, stream))
    tools = [
        reader.tool(kinds.__getitem__, table) for table in kinds for reader in _readers(schema, table, pointing, stream)
    ]
    return Example(schema=schema, base=base, toolbox=Toolbox([*tools, *CONTROL], prose_tool="reply"), stream=stream)


def _rows(schema: Schema, stream: Stream) -> list[Row]:
    rows: list[Row] = []
    ids: dict[str, list[str]] = {}
    for info in schema:
        ids[info.name] = [f"{info.kind.prefix}{n}" for n in range(stream.between(1, 30))]
        for key in ids[info.name]:
            values: dict[str, Any] = {
                "label": " ".join(stream.choice(WORDS) for _ in range(2)),
                "kind": stream.choice(KINDS),
                "size": stream.between(0, 3),
                "flag": stream.chance(50),
                "day": FIRST + timedelta(days=stream.between(0, 3)),
                "note": stream.choice(("left", "right", None)),
                "code": f"X{stream.between(0, 3)}",
            }
            for column in info.references:
                to = str(info.columns[column].references)
                values[column] = stream.choice(ids[to]) if to != info.name or stream.chance(50) else None
            rows.append(info.kind(id=key, **{name: v for name, v in values.items() if name in info.columns}))
    return rows


def _readers(schema: Schema, table: str, pointing: Mapping[str, Mapping[str, str]], stream: Stream) -> list[Reader]:
    """Tools of every form over one table: some that declare what they read, and some whose name and arguments tell."""
    info = schema[table]
    one = {"key": Annotated[str, References(table)]}
    plain = {n: n for n in info.columns if n != "id" and stream.chance(40)}
    hints: dict[str, Any] = {n: (str if c.type is date else c.type) | None for n, c in info.columns.items()}
    asked = {name: hints[name] for name in plain}
    paged = stream.chance(50)
    owners = tuple((t, c) for t, columns in pointing.items() for c, to in columns.items() if to == table)
    follow = tuple(f"{t}.{c}" for t, c in owners)
    cursor = "cursor" if paged else None
    searched = Reads(table=table, search="query", cursor=cursor)
    bounded = Reads(
        table=table, by={**plain, "least": "size >="}, flags={"flagged": ("flag =", True)}, cursor=cursor
    )  # fmt: skip
    found = [
        Reader(name=f"get_{table}", reads=None, columns={"key": "id"}, arguments=one),
        Reader(name=f"list_{table}", reads=None, columns=plain, arguments=asked, paged=paged),
        Reader(name=f"pick_{table}", reads=bounded, columns=plain, arguments=asked, paged=paged, least=True),
    ]
    if "label" in info.columns:
        found.append(Reader(name=f"look_{table}", reads=searched, search=True, paged=paged))
        found.append(Reader(name=f"search_{table}", reads=None, search=True, paged=paged))
    if owners:
        whole = Reads(table=table, by={"key": "id"}, follow=follow)
        found.append(Reader(name=f"see_{table}", reads=whole, columns={"key": "id"}, arguments=one, follow=owners))
    return found


def _arguments(made: Tool, of: Example, table: str) -> dict[str, Any]:
    """Arguments of which some meet rows."""
    row = of.stream.choice(Overlay(of.base).find(of.schema[table].kind))
    arguments: dict[str, Any] = {}
    for name in made.parameters["properties"]:
        if name == "key":
            arguments[name] = row.id
        elif name == "query":
            arguments[name] = of.stream.choice(WORDS)
        elif name == "least":
            arguments |= {name: of.stream.between(0, 3)} if of.stream.chance(50) else {}
        elif name == "flagged":
            arguments |= {name: of.stream.chance(50)} if of.stream.chance(50) else {}
        elif name != "cursor":
            arguments[name] = _json(getattr(row, name)) if of.stream.chance(60) else None
    return arguments


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(0, 10**9))
def test_a_translated_call_shows_the_rows_that_the_tool_shows(seed: int) -> None:
    of = example(seed)
    surface = generic_surface(of.schema, of.toolbox, role="agent")
    assert surface.toolbox.actions is not None
    assert not list(surface.toolbox.actions), "every tool here is one that the surface reads for"
    assert not surface.toolbox.composites
    own, generic = (Play(of.schema, box, Overlay(of.base)) for box in (of.toolbox, surface.toolbox))
    for made in (t for t in of.toolbox if t not in CONTROL):
        arguments = _arguments(made, of, made.name.partition("_")[2])
        while True:
            call = ToolCall(tool=made.name, arguments=arguments)
            answer = own.call(call.tool, call.arguments)
            calls = surface.translate([call], generic.state)
            assert generic.shown(calls) == set(own.events[-1].shown), (call, calls)
            if answer["next"] is None:
                break
            arguments = {**arguments, "cursor": answer["next"]}
