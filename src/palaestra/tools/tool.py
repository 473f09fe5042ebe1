"""A typed Python function becomes a tool: a JSON schema from its annotations and docstring, validated by pydantic."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args, get_origin, get_type_hints

from docstring_parser import parse as parse_docstring
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import SchemaValidator

from palaestra.errors import DefinitionError, ToolRefusal
from palaestra.records import AuthoredText, Json, JsonObject, JsonSchema, Money, Prose, References
from palaestra.seeding import Stream
from palaestra.tools.context import ToolContext
from palaestra.tools.reads import Reads
from palaestra.tools.wire import glimpse, has_safe_integers, plain_text

ToolFunction: TypeAlias = Callable[..., object]
Draw: TypeAlias = Callable[[Callable[[str], Sequence[str]], Stream], JsonObject]
"""Draws arguments whose ids exist, given the ids of each table."""
Origin: TypeAlias = tuple[Callable[..., "Tool"], tuple[Any, ...]]
"""A function and its arguments that give a tool again, in any process. Both must pickle."""
Closing: TypeAlias = Literal["done", "declined", "handed on"]
"""How a tool closes a case: the work is done, the request is refused, or somebody else takes it over."""

MAX_TEXT = 4_000
"""The longest string that any argument may be; nothing a support desk does needs more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """One thing that an agent can do."""

    name: str
    description: str
    function: ToolFunction
    parameters: JsonSchema
    """The JSON schema of the arguments, as the agent reads it."""
    roles: frozenset[str]
    """Who may call it; empty for everyone."""
    writes: bool
    """Whether it can change rows."""
    latency: int
    """Seconds on the virtual clock."""
    cost: int
    references: Mapping[str, str]
    """The arguments that are ids (or lists of ids), and of which table."""
    prose: frozenset[str]
    """The arguments that are free text for people."""
    validator: SchemaValidator
    flat: bool
    """Whether no argument holds a list or an object."""
    counts: bool
    """Whether some argument may hold a number, however deep."""
    composite: bool
    """Whether its function gives the calls of actions that it stands for, to be run in its place."""
    draw: Draw | None
    """How to draw arguments whose ids exist, where `references` cannot tell."""
    reads: Reads | None = None
    """The rows that its answer shows, as a query; `None` where that is not declared."""
    closes: Closing | None = None
    """How a call closes the case that its first reference names; `None` where it closes none."""
    money: frozenset[str] = frozenset()
    """The arguments that are sums of money in cents."""
    authored: frozenset[str] = frozenset()
    """The arguments that are text which the agent thinks out itself, such as code."""
    origin: Origin | None = None
    """What gives it again after pickling; `None`: it stands where its function's name says."""

    def __reduce__(self) -> tuple[Any, ...]:
        """A tool pickles as where it stands, a generated one as what gives it again."""
        return self.origin or (_tool_at, (self.function.__module__, self.function.__qualname__))

    def export(self) -> dict[str, Any]:
        """The tool in OpenAI's function-calling form, as chat templates take it."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    def fits(self, arguments: object) -> bool:
        """Whether the arguments fit the schema."""
        try:
            self.validate(arguments)
        except ToolRefusal:
            return False
        return True

    def find_ids(self, arguments: Mapping[str, Json]) -> tuple[str, ...]:
        """The ids of rows that the arguments name."""
        named: list[str] = []
        for name in self.references:
            value = arguments.get(name)
            if isinstance(value, str):
                named.append(value)
            elif isinstance(value, list):
                named += [v for v in value if isinstance(v, str)]
        return tuple(named)

    def validate(self, arguments: object) -> dict[str, Any]:
        """The arguments as the function takes them, defaults filled in.

        Raises:
            ToolRefusal: they do not fit the schema; the message says which and why.
        """
        try:
            values = cast("dict[str, Any]", self.validator.validate_python(arguments).__dict__)
        except ValidationError as error:
            raise ToolRefusal("invalid_arguments", _why(error)) from None
        for name, value in values.items() if self.counts else ():
            if not has_safe_integers(value):
                raise ToolRefusal("invalid_arguments", f"{name}: an integer has at most 64 bits")
        return values


def tool(
    *,
    writes: bool = False,
    roles: tuple[str, ...] = (),
    latency: int = 2,
    cost: int = 1,
    composite: bool = False,
    draw: Draw | None = None,
    reads: Reads | None = None,
    closes: Closing | None = None,
    hints: Mapping[str, Any] | None = None,
    origin: Origin | None = None,
) -> Callable[[ToolFunction], Tool]:
    """Make a tool of a function `f(context, argument, ...)`.

    The first line of the docstring and what follows it up to `Args:` describe the tool; every argument needs a line
    under `Args:`. An id is annotated with `References`, text for people with `Prose`, a sum of money with `Money`, text
    that the agent thinks out itself, such as code, with `AuthoredText`.

    Args:
        writes: Whether it can change rows.
        roles: Who may call it; empty for everyone.
        latency: Seconds that a call takes on the virtual clock.
        cost: Price of a call, in the world's own units.
        composite: Whether the function gives calls of the toolbox's actions, which are run in its place, all or none.
        draw: Draws arguments whose ids exist, where ids stand deeper than annotations can tell.
        reads: The rows that the answer shows, as a query, so that other surfaces can show the same.
        closes: How a call closes the case that the first reference names, such as "declined".
        hints: Annotations in place of the function's own, for a tool that is generated: its tables, its row classes.
        origin: What gives the tool again after pickling, for a tool that does not stand in a module.

    Raises:
        DefinitionError: an annotation or a description is missing, a tool closes a case and names or changes none, or
            an argument is marked as authored text and is no text, or is marked as something else too.
    """

    def make(function: ToolFunction) -> Tool:
        annotations = {**get_type_hints(function, include_extras=True), **(hints or {})}
        names = list(inspect.signature(function).parameters)
        if not names or annotations.get(names[0]) is not ToolContext:
            raise DefinitionError(f"tool {function.__name__}: the first parameter must be `context: ToolContext`")
        model = _model(function, names[1:], annotations)
        parameters = _trim(model.model_json_schema())
        kinds = _kinds({**parameters, "type": None})
        references = {n: m.table for n in names[1:] for m in _marks(annotations[n]) if isinstance(m, References)}
        prose, money, authored = (_marked(mark, names[1:], annotations) for mark in (Prose, Money, AuthoredText))
        for name in sorted(authored):
            if name in {*references, *prose, *money} or parameters["properties"][name].get("type") != "string":
                raise DefinitionError(
                    f"tool {function.__name__}: {name} is `AuthoredText()`, so it is a `str` and has no other mark"
                )
        if closes is not None and not (writes and references):
            raise DefinitionError(
                f"tool {function.__name__} closes={closes!r}: what closes a case has `writes=True` and names the case "
                "by an argument with `References`"
            )
        return Tool(
            name=function.__name__,
            description=_description(function),
            function=function,
            parameters=parameters,
            roles=frozenset(roles),
            writes=writes,
            latency=latency,
            cost=cost,
            references=references,
            prose=prose,
            validator=cast("SchemaValidator", model.__pydantic_validator__),
            flat=not {"array", "object"} & kinds,
            counts=bool({"integer", "number", "array", "object"} & kinds),
            composite=composite,
            draw=draw,
            reads=reads,
            closes=closes,
            money=money,
            authored=authored,
            origin=origin,
        )

    return make


def _tool_at(module: str, name: str) -> Tool:
    found = getattr(import_module(module), name)
    assert isinstance(found, Tool), f"{module}.{name} is no tool"
    return found


def _description(function: ToolFunction) -> str:
    doc = parse_docstring(function.__doc__ or "")
    parts = [p for p in (doc.short_description, doc.long_description) if p]
    if not parts:
        raise DefinitionError(f"tool {function.__name__}: write a docstring; it is what the agent reads")
    return " ".join(" ".join(parts).split())


def _model(function: ToolFunction, names: list[str], hints: Mapping[str, Any]) -> type[BaseModel]:
    said = {p.arg_name: " ".join((p.description or "").split()) for p in parse_docstring(function.__doc__ or "").params}
    if missing := [n for n in names if n not in hints or not said.get(n)]:
        raise DefinitionError(
            f"tool {function.__name__}: {', '.join(missing)} need(s) an annotation and a line under `Args:`"
        )
    parameters = inspect.signature(function).parameters
    fields: dict[str, Any] = {}
    for name in names:
        default = parameters[name].default
        required = default is inspect.Parameter.empty
        fields[name] = (hints[name], Field(... if required else default, description=said[name]))
    config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, str_max_length=MAX_TEXT)
    return create_model(function.__name__, __config__=config, **fields)


def _marks(hint: Any) -> list[Any]:
    """Every mark in an annotation, however deep: `list[Annotated[str, References("orders")]] | None` has one."""
    own = list(get_args(hint)[1:]) if get_origin(hint) is Annotated else []
    return own + [mark for part in get_args(hint) for mark in _marks(part)]


def _marked(mark: type, names: list[str], annotations: Mapping[str, Any]) -> frozenset[str]:
    """The arguments whose annotation has a mark, however deep."""
    return frozenset(name for name in names if any(isinstance(found, mark) for found in _marks(annotations[name])))


def _kinds(schema: Json) -> set[str]:
    """Every type that a JSON schema names."""
    if isinstance(schema, list):
        return {kind for part in schema for kind in _kinds(part)}
    if not isinstance(schema, dict):
        return set()
    named, inner = schema.get("type"), _kinds(list(schema.values()))
    return inner | {named} if isinstance(named, str) else inner


def _trim(schema: Json) -> Any:
    """A JSON schema without what costs an agent tokens and says nothing: titles, and the bound that all text has."""
    if isinstance(schema, dict):
        return {
            k: _trim(v)
            for k, v in schema.items()
            if not (k == "title" and isinstance(v, str))
            and not (k == "maxLength" and v == MAX_TEXT)
            and not (k == "propertyNames" and not v)
        }
    if isinstance(schema, list):
        return [_trim(v) for v in schema]
    return schema


def _why(error: ValidationError) -> str:
    lines: list[str] = []
    for fault in error.errors(include_url=False, include_context=False)[:3]:
        where = plain_text(".".join(str(part) for part in fault["loc"])[:60]) or "arguments"
        shown = "" if fault["type"] == "missing" else f" (got {glimpse(fault['input'])})"
        lines.append(f"{where}: {fault['msg']}{shown}")
    more = error.error_count() - len(lines)
    return "; ".join(lines) + (f"; and {more} more" if more else "")
