"""Tools from typed Python functions: a JSON schema from annotations and docstring, validated by pydantic."""

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
"""Draws arguments with existing ids, given the ids of each table."""
Origin: TypeAlias = tuple[Callable[..., "Tool"], tuple[Any, ...]]
"""A function and its arguments that recreate a tool in any process. Both must pickle."""
Closing: TypeAlias = Literal["done", "declined", "handed on"]
"""How a tool closes a case: the work is done, the request is refused, or another person takes it over."""

MAX_TEXT = 4_000
"""Maximum length of any string argument."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """An action that an agent can take."""

    name: str
    description: str
    function: ToolFunction
    parameters: JsonSchema
    """The JSON schema of the arguments, as the agent reads it."""
    roles: frozenset[str]
    """The roles that may call it; empty for all."""
    writes: bool
    """Whether it can change rows."""
    latency: int
    """Seconds on the virtual clock."""
    cost: int
    references: Mapping[str, str]
    """The arguments that are ids (or lists of ids), each with its table."""
    prose: frozenset[str]
    """The arguments that are free text for people."""
    validator: SchemaValidator
    flat: bool
    """Whether no argument holds a list or an object."""
    counts: bool
    """Whether an argument may hold a number, at any depth."""
    composite: bool
    """Whether its function returns calls of actions, which run in its place."""
    draw: Draw | None
    """Draws arguments with existing ids, if `references` does not suffice."""
    reads: Reads | None = None
    """The rows that its answer shows, as a query; `None` if this is not declared."""
    closes: Closing | None = None
    """How a call closes the case that its first reference names; `None` if it closes none."""
    money: frozenset[str] = frozenset()
    """The arguments that are sums of money in cents."""
    authored: frozenset[str] = frozenset()
    """The arguments with text that the agent composes itself, such as code."""
    origin: Origin | None = None
    """Recreates it after pickling; `None`: it is found by its function's module and name."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a tool as its module and name, or a generated tool as its origin."""
        return self.origin or (_tool_at, (self.function.__module__, self.function.__qualname__))

    def export(self) -> dict[str, Any]:
        """The tool in OpenAI's function-calling form, for chat templates."""
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
        """The ids of rows in the arguments."""
        named: list[str] = []
        for name in self.references:
            value = arguments.get(name)
            if isinstance(value, str):
                named.append(value)
            elif isinstance(value, list):
                named += [v for v in value if isinstance(v, str)]
        return tuple(named)

    def validate(self, arguments: object) -> dict[str, Any]:
        """The arguments in the form that the function takes, with defaults filled in.

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
    """Make a tool from a function `f(context, argument, ...)`.

    The docstring up to `Args:` describes the tool; every argument needs a line under `Args:`. An id is annotated with
    `References`, text for people with `Prose`, a sum of money with `Money`, text that the agent composes itself, such
    as code, with `AuthoredText`.

    Args:
        writes: Whether it can change rows.
        roles: The roles that may call it; empty for all.
        latency: Seconds that a call takes on the virtual clock.
        cost: Price of a call, in the world's own units.
        composite: Whether the function returns calls of the toolbox's actions, which run in its place, all or none.
        draw: Draws arguments with existing ids, if ids are nested deeper than annotations can tell.
        reads: The rows that the answer shows, as a query, so that other surfaces can show the same.
        closes: How a call closes the case that the first reference names, such as "declined".
        hints: Annotations instead of the function's own, for a generated tool: its tables, its row classes.
        origin: Recreates the tool after pickling, for a tool outside a module.

    Raises:
        DefinitionError: an annotation or a description is missing; a tool closes a case but names or changes none; or
            an argument is marked as authored text and is not text, or has another mark too.
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
    """Every mark in an annotation, at any depth: `list[Annotated[str, References("orders")]] | None` has one."""
    own = list(get_args(hint)[1:]) if get_origin(hint) is Annotated else []
    return own + [mark for part in get_args(hint) for mark in _marks(part)]


def _marked(mark: type, names: list[str], annotations: Mapping[str, Any]) -> frozenset[str]:
    """The arguments whose annotation has a mark, at any depth."""
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
    """A JSON schema without titles and the common bound of all text, which cost tokens and give no information."""
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
