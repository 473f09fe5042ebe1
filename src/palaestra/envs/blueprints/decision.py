"""What is right for a request: the first refusal that applies, or the work that grants it, and what was read for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from palaestra.envs.blueprints.blueprint import Creation, RefusalSpec, RequestSpec, WorkStep
from palaestra.envs.blueprints.effects import Effects, read_effects
from palaestra.envs.blueprints.expressions import EvaluationTrace, Expression, Frame, Scope, ValueType, parse_expression
from palaestra.envs.blueprints.field_types import column_of_field
from palaestra.envs.blueprints.scopes import SHOWN, Scopes
from palaestra.envs.blueprints.templates import Evaluate, Template, parse_template, read_value
from palaestra.envs.blueprints.tools import Action
from palaestra.envs.task import call
from palaestra.errors import BlueprintError, UnknownNameError
from palaestra.records import Json, Row, ToolCall


@dataclass(frozen=True, slots=True)
class RequestRefusal:
    """A refusal with its expressions read."""

    spec: RefusalSpec
    when: Expression
    shows: Expression
    plant: tuple[Effects, ...]
    """One after the other: a later one may go by what an earlier one changed."""
    tells: Template


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the work with its expressions read."""

    action: str
    when: Expression | None
    arguments: Mapping[str, tuple[ValueType, Evaluate]]
    """By the argument's name."""

    def make(self, frame: Frame) -> ToolCall:
        """The call of the step."""
        values: dict[str, Json] = {}
        for name, (_, evaluate) in self.arguments.items():
            value = evaluate(frame)
            values[name] = value.isoformat() if isinstance(value, date) else value
        return call(self.action, **values)


@dataclass(frozen=True, slots=True)
class RequestDecision:
    """What is right, and what had to be read to know it."""

    refusal: RequestRefusal | None
    """`None`: the request is granted."""
    traces: tuple[EvaluationTrace, ...]
    """What each refusal that was checked has read, in order."""


class Decider:
    """Decides requests of one kind.

    Args:
        spec: The request.
        scopes: The blueprint's scopes.
        actions: Its actions.

    Raises:
        BlueprintError: an expression cannot be read.
    """

    def __init__(self, spec: RequestSpec, scopes: Scopes, actions: Mapping[str, Action]) -> None:
        self.spec = spec
        scope = scopes.request(spec)
        self.refusals = tuple(read_refusal(one, scope, scopes) for one in spec.refusals)
        self.work = tuple(read_step(one, spec, scope, actions) for one in spec.work)
        self.reads = tuple(parse_expression(text, scope) for text in spec.reads)
        self.amount = read_amount(spec, scope)
        self.tells = parse_template(spec.tells, scope)

    def decide(self, frame: Frame) -> RequestDecision:
        """What is right on these rows under these rules."""
        traces: list[EvaluationTrace] = []
        for refusal in self.refusals:
            frame.trace = trace = EvaluationTrace()
            applies = refusal.when.evaluate(frame)
            frame.trace = None
            traces.append(trace)
            if applies:
                return RequestDecision(refusal, tuple(traces))
        return RequestDecision(None, tuple(traces))

    def steps(self, frame: Frame) -> list[tuple[ToolCall, EvaluationTrace]]:
        """The calls that grant the request, each with what was read for its arguments."""
        made: list[tuple[ToolCall, EvaluationTrace]] = []
        for step in self.work:
            frame.trace = trace = EvaluationTrace()
            taken = step.when is None or step.when.evaluate(frame)
            decided = len(trace.calculations)
            action = step.make(frame) if taken else None
            frame.trace = None
            del trace.calculations[:decided]  # a condition is no value that is written
            if action is not None:
                made.append((action, trace))
        return made

    def further_knowledge(self, frame: Frame) -> tuple[EvaluationTrace, int | None]:
        """What has to be known beside conditions and work, and the amount that the reply states."""
        frame.trace = trace = EvaluationTrace()
        for expression in self.reads:
            expression.evaluate(frame)
        trace.calculations.clear()
        stated: int | None = None if self.amount is None else self.amount.evaluate(frame)
        frame.trace = None
        return trace, stated


def shown_row(refusal: RequestRefusal, frame: Frame) -> tuple[Row, EvaluationTrace]:
    """The record that shows that a refusal applies, and what was read to find it.

    Raises:
        BlueprintError: there is none.
    """
    frame.trace = trace = EvaluationTrace()
    key = refusal.shows.evaluate(frame)
    frame.trace = None
    if key is None:
        raise BlueprintError(f"`{refusal.spec.shows}` is no row where `{refusal.spec.when}` holds; name one that is")
    return frame.state.get(frame.kinds[refusal.shows.type.entity], key), trace


def read_refusal(spec: RefusalSpec, scope: Scope, scopes: Scopes) -> RequestRefusal:
    """The refusal of a document.

    Raises:
        BlueprintError: an expression cannot be read, or nothing is planted.
    """
    when, shows = parse_expression(spec.when, scope), parse_expression(spec.shows, scope)
    if when.type.name != "flag":
        raise BlueprintError(f"`{spec.when}` is {when.type}; `when` is a condition")
    if shows.type.name != "row":
        raise BlueprintError(f"`{spec.shows}` is {shows.type}; `shows` is a row")
    if not spec.plant:
        raise BlueprintError(f"`{spec.when}`: nothing is planted; say what makes it apply, for the refusal twin")
    plant: list[Effects] = []
    for one in spec.plant:
        if bool(one.set) == bool(one.insert):
            raise BlueprintError("a plant sets a field or inserts a row; give one of `set` and `insert`")
        sets = [(one.set, one.to)] if one.set else []
        creates = [Creation(entity=one.insert, fields=one.fields)] if one.insert else []
        plant.append(read_effects(sets, creates, scope, scopes, planted=True))
    tells = parse_template(spec.tells, scope.define(SHOWN, shows))
    return RequestRefusal(spec, when, shows, tuple(plant), tells)


def read_step(one: WorkStep, spec: RequestSpec, scope: Scope, actions: Mapping[str, Action]) -> Step:
    """A step of the work of a request.

    Raises:
        BlueprintError: there is no such action, a value cannot be read, or an argument is missing.
    """
    name, given, when = one.action, one.arguments, one.when
    if name not in actions:
        raise BlueprintError(str(UnknownNameError.of("action", name, actions)))
    parameters = actions[name].parameters
    for key in given:
        if key not in parameters:
            raise BlueprintError(f"{name}: {UnknownNameError.of('parameter', key, parameters)}")
    values = {spec.about: spec.about, **given} if spec.about == actions[name].spec.about else dict(given)
    if missing := [key for key, kind in parameters.items() if key not in values and not kind.optional]:
        raise BlueprintError(f"{name} lacks {', '.join(missing)}; give each of its parameters a value")
    arguments = {
        column_of_field(key, parameters[key]): (parameters[key], read_value(value, parameters[key], scope))
        for key, value in values.items()
    }
    condition = parse_expression(when, scope) if when else None
    if condition is not None and condition.type.name != "flag":
        raise BlueprintError(f"`{when}` is {condition.type}; `when` is a condition")
    return Step(name, condition, arguments)


def read_amount(spec: RequestSpec, scope: Scope) -> Expression | None:
    """The amount that a reply states.

    Raises:
        BlueprintError: it cannot be read, or is no amount.
    """
    if not spec.amount:
        return None
    found = parse_expression(spec.amount, scope)
    if found.type.name != "money" or found.type.optional:
        raise BlueprintError(f"`{spec.amount}` is {found.type}; a reply states an amount")
    return found
