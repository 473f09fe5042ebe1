"""The tools of a blueprint's world: those that read its entities, and its actions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import Field

from palaestra.envs.blueprints.blueprint import ActionSpec, Blueprint, EntitySpec, ParameterSpec
from palaestra.envs.blueprints.effects import Effects, read_effects
from palaestra.envs.blueprints.expressions import Expression, Frame, ValueType, parse_expression
from palaestra.envs.blueprints.field_types import column_of_field
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.blueprints.templates import Template, parse_template
from palaestra.envs.kit import get_tool, list_tool, search_tool
from palaestra.envs.kit.generated import Parameter, generate_tool, id_annotation
from palaestra.errors import BlueprintError, ToolRefusal, UnknownNameError
from palaestra.records import Money, Row
from palaestra.tools import Tool, ToolContext

LEAST, MOST = 0, 1_000_000_000
"""The bounds of a number where a parameter states none."""


def read_tools(blueprint: Blueprint, scopes: Scopes, kinds: Mapping[str, type[Row]], entity: str) -> list[Tool]:
    """The tools that read an entity.

    Raises:
        BlueprintError: one is of no known kind, or names no field.
    """
    spec, kind = blueprint.entities[entity], kinds[entity]
    lists = [text for text in spec.tools if text.startswith("list ")]
    tools: list[Tool] = []
    for text in spec.tools:
        word, _, name = text.partition(" ")
        if text == "get":
            tools.append(get_tool(kind, example=f"{kind.prefix}{spec.first}"))
        elif text == "search":
            tools.append(_search_tool(spec, scopes, entity, kind))
        elif word == "list":
            owner = scopes.types[entity].get(name)
            if owner is None or owner.name != "row":
                references = [field for field, kind in scopes.types[entity].items() if kind.name == "row"]
                raise BlueprintError(f"{text!r}: {UnknownNameError.of('reference', name, references)}")
            own = "" if len(lists) == 1 else f"get_{spec.plural}_of_{name}"
            tools.append(list_tool(kind, kinds[owner.entity], name=own, column=f"{name}_id"))
        else:
            raise BlueprintError(f"{UnknownNameError.of('reading tool', text, ['get', 'search', 'list FIELD'])}")
    return tools


def _search_tool(spec: EntitySpec, scopes: Scopes, entity: str, kind: type[Row]) -> Tool:
    columns = scopes.columns(entity)
    for name in (*spec.filters, *spec.summary):
        if name not in columns:
            raise BlueprintError(str(UnknownNameError.of(f"field of {entity}", name, columns)))
    if not spec.summary:
        raise BlueprintError("`search` lists nothing; name the fields of its entries under `summary`")
    searched = any(field.type in {"name", "email", "text"} for field in spec.fields.values())
    return search_tool(
        kind,
        summary=tuple(columns[name] for name in spec.summary),
        filters=tuple((columns[name], _describe_filter(name, scopes.types[entity][name])) for name in spec.filters),
        query_text="" if spec.filters or not searched else "Words that must all occur.",
    )


def _describe_filter(name: str, kind: ValueType) -> str:
    word = name.replace("_", " ")
    if kind.name == "flag":
        return f"True for those that are {word}, false for the others."
    return f"Only those of this {word}."


@dataclass(frozen=True, slots=True)
class Action:
    """An action with its conditions and effects read."""

    spec: ActionSpec
    parameters: Mapping[str, ValueType]
    """By name, the row that it is about first."""
    requires: tuple[tuple[Expression, str, Template], ...]
    effects: Effects

    def arguments(self) -> dict[str, ValueType]:
        """The types of its tool's arguments, by the argument's name."""
        return {column_of_field(name, kind): kind for name, kind in self.parameters.items()}

    def run(self, frame: Frame, context: ToolContext) -> object:
        """Check and write; the changed row, or all changed rows where there are several.

        Raises:
            ToolRefusal: a condition does not hold.
        """
        for condition, code, says in self.requires:
            if not condition.evaluate(frame):
                raise ToolRefusal(code, says.fill(frame))
        rows = self.effects.apply(frame, context.state)
        context.show(*rows)
        return rows[0] if len(rows) == 1 else {"rows": rows}


def read_action(spec: ActionSpec, scopes: Scopes) -> Action:
    """The action of a document.

    Raises:
        BlueprintError: a condition or an effect cannot be read.
    """
    scope = scopes.action(spec)
    requires: list[tuple[Expression, str, Template]] = []
    for one in spec.requires:
        condition = parse_expression(one.when, scope)
        if condition.type.name != "flag":
            raise BlueprintError(f"`{one.when}` is {condition.type}; what is required is a condition")
        requires.append((condition, one.code, parse_template(one.says, scope)))
    effects = read_effects(tuple(spec.sets.items()), spec.creates, scope, scopes)
    if not effects.assignments and not effects.insertions:
        raise BlueprintError("it changes nothing; state what it `sets` or `creates`")
    parameters = {spec.about: ValueType("row", spec.about), **scopes.parameters(spec)}
    return Action(spec, parameters, tuple(requires), effects)


def action_tool(blueprint: Blueprint, name: str, action: Action, kinds: Mapping[str, type[Row]]) -> Tool:
    """The tool of an action."""
    named = {column_of_field(one, kind): (one, kind) for one, kind in action.parameters.items()}

    def act(context: ToolContext, **arguments: Any) -> object:
        for argument, (_, kind) in named.items():
            if kind.name == "row" and arguments[argument] is not None:
                context.state.get(kinds[kind.entity], arguments[argument])
        names = {one: _read(kind, argument, arguments[argument]) for argument, (one, kind) in named.items()}
        today = context.clock.now.date()
        frame = Frame(state=context.state, kinds=kinds, rules=context.rules, today=today, names=names)
        return action.run(frame, context)

    return generate_tool(
        act,
        name=name,
        description=action.spec.description,
        parameters={
            argument: _parameter(one, kind, action.spec.takes.get(one), kinds)
            for argument, (one, kind) in named.items()
        },
        origin=(restore_tool, (blueprint, name)),
        writes=True,
    )


def _read(kind: ValueType, argument: str, value: Any) -> Any:
    """An argument as expressions know it: a date is written as text in JSON."""
    if kind.name != "date" or value is None:
        return value
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ToolRefusal("invalid_arguments", f"{argument}: {value!r} is no day of the calendar") from None


def _parameter(name: str, kind: ValueType, spec: ParameterSpec | None, kinds: Mapping[str, type[Row]]) -> Parameter:
    word = name.replace("_", " ")
    annotation: Any
    match kind.name:
        case "row":
            annotation = id_annotation(kinds[kind.entity])
        case "integer" | "money":
            least, most = (spec.between if spec is not None else None) or (LEAST, MOST)
            marks = (Money(),) if kind.name == "money" else ()
            annotation = Annotated[(int, *marks, Field(ge=least, le=most))]  # type: ignore[assignment,unused-ignore]
        case "date":
            annotation = Annotated[str, Field(json_schema_extra={"format": "date"})]
        case "flag":
            annotation = bool
        case "choice":
            annotation = Literal[kind.options]
        case _:
            annotation = str
    text = spec.description if spec is not None and spec.description else _text(word, kind)
    if kind.optional:
        return Parameter(annotation=annotation | None, text=text, default=None)
    return Parameter(annotation=annotation, text=text)


def _text(word: str, kind: ValueType) -> str:
    if kind.name == "row":
        return f"The {word}'s id."
    if kind.name == "date":
        return f"The {word}, as in 2026-05-31."
    return f"The {word}, in cents." if kind.name == "money" else f"The {word}."


def restore_tool(blueprint: Blueprint, name: str) -> Tool:
    """The tool that a pickle names."""
    from palaestra.envs.blueprints.compilation import compile_blueprint  # noqa: PLC0415  it makes the tools

    return compile_blueprint(blueprint).world.toolbox[name]
