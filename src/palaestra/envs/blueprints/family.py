"""Families of tasks made from requests: drawn, planted, decided, and written as tasks with solution and rubric."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from palaestra.clock import Clock
from palaestra.envs.blueprints.blueprint import Blueprint, ParameterSpec, RequestSpec
from palaestra.envs.blueprints.decision import Decider, RequestDecision, RequestRefusal, shown_row
from palaestra.envs.blueprints.expressions import EvaluationTrace, Frame, Scan, ValueType, parse_expression
from palaestra.envs.blueprints.planning import Planner
from palaestra.envs.blueprints.scopes import ASKER, Scopes
from palaestra.envs.blueprints.styled_tools import StyledTools
from palaestra.envs.blueprints.templates import Template, parse_template
from palaestra.envs.blueprints.tools import Action
from palaestra.envs.kit import CaseDraft, ask, calculation, with_user
from palaestra.envs.state import Schema
from palaestra.envs.task import SPLITS, Family, Task, call
from palaestra.envs.user import Persona, UserFact
from palaestra.errors import BlueprintError, DrawError
from palaestra.records import Row, ToolCall
from palaestra.rubrics import Criterion, expect_change, expect_question, expect_read, expect_row
from palaestra.tools import Toolbox, ToolContext

MAX_TURNS = 40
"""The most turns of a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all requests of a blueprint share."""

    blueprint: Blueprint
    scopes: Scopes
    kinds: Mapping[str, type[Row]]
    schema: Schema
    toolbox: Toolbox
    """The plain tools, with which solutions are planned."""
    styled: StyledTools
    """The tools in the world's style, in which solutions are written."""
    actions: Mapping[str, Action]
    role: str
    actor: str


def make_family(name: str, spec: RequestSpec, setting: Setting) -> Family[Any]:
    """The family of a request.

    Raises:
        BlueprintError: an expression of it cannot be read.
    """
    request = _Request(name, spec, setting)
    traits = ["write"] if spec.work else ["lookup"]
    traits += ["dialogue"] if spec.question is not None else []
    traits += ["arithmetic"] if spec.amount else []
    return Family(
        id=f"{setting.blueprint.id}/{name}",
        level=spec.level,
        traits=tuple(traits),
        splits=SPLITS,
        make=request.make,
        source=f"{setting.blueprint.id}: requests.{name}",
        twin=True,
    )


@dataclass(slots=True)
class _Drawn:
    """A request as it was drawn: about which row, by whom, with which stated values."""

    frame: Frame
    target: Row
    asker: Row


class _Request:
    """A request of a blueprint, ready to set tasks."""

    def __init__(self, name: str, spec: RequestSpec, setting: Setting) -> None:
        self._name = name
        self._spec = spec
        self._setting = setting
        scopes = setting.scopes
        scope, target = scopes.request(spec), scopes.target(spec)
        self._decider = Decider(spec, scopes, setting.actions)
        self._where = parse_expression(spec.where, target)
        self._asked_by = parse_expression(
            _asker_path(spec, setting), scopes.whole.with_variables(**{spec.about: ValueType("row", spec.about)})
        )
        if self._where.type.name != "flag":
            raise BlueprintError(f"`{spec.where}` is {self._where.type}; `where` is a condition")
        if self._asked_by.type != ValueType("row", setting.blueprint.people):
            raise BlueprintError(f"`{self._asked_by.text}` is {self._asked_by.type}; a {setting.blueprint.people} asks")
        self._stated = scopes.parameters(spec)
        self._stated_where = {
            one: parse_expression(value.where, scope) for one, value in spec.states.items() if value.where
        }
        self._says = [parse_template(text, scope) for text in spec.says]
        self._says_heldout = [parse_template(text, scope) for text in spec.says_heldout]
        self._subject = [parse_template(text, scope) for text in spec.subject]
        question = spec.question
        self._answers = None if question is None else parse_template(question.answers, scope)

    def make(self, desk: CaseDraft[Row]) -> Task:
        """A task of this request."""
        drawn = self._draw(desk)
        # A rule twin has the rows of its task, which were planted by other rules than those that decide.
        drawn.frame.rules = desk.planting_rules
        chosen = self._choose_refusal(desk, drawn)
        if desk.twin:
            _plant(chosen, drawn.frame, desk)
        drawn.frame.rules = desk.rules
        task = _TaskWriter(self._setting, self._spec, self._decider, desk, drawn, self._answers)
        case = desk.open_case(drawn.asker, self._word(self._subject, desk, drawn, "subject"))
        prompt = desk.message(case, self._word(self._wordings(desk), desk, drawn, "body"))
        styled = self._setting.styled
        desk.answer = lambda: styled.task(task.write(case, prompt)).oracle
        return styled.task(task.write(case, prompt))

    def _wordings(self, desk: CaseDraft[Row]) -> Sequence[Template]:
        return self._says_heldout if desk.split == "heldout" and self._says_heldout else self._says

    def _word(self, texts: Sequence[Template], desk: CaseDraft[Row], drawn: _Drawn, part: str) -> str:
        """One of several wordings; which one changes nothing else that is drawn."""
        return desk.stream.split(part).choice(texts).fill(drawn.frame)

    def _draw(self, desk: CaseDraft[Row]) -> _Drawn:
        setting, about = self._setting, self._spec.about
        frame = Frame(state=desk.state, kinds=setting.kinds, rules=desk.rules, today=desk.today, names={})
        later = [one for one, kind in self._stated.items() if kind.name == "row"]
        for one, value in self._spec.states.items():
            if one not in later:
                frame.names[one] = _draw_value(self._stated[one], value, desk, one)

        def fits(row: Row) -> bool:
            frame.rules = desk.rules  # `pick` asks by several rules
            self._name_target(frame, row)
            return bool(self._where.evaluate(frame)) and self._can_be_granted(frame, later, desk)

        target = desk.pick(setting.kinds[about], fits, what=f"{about} for {self._name}", decides=True)
        self._name_target(frame, target)
        for number, one in enumerate(later, 1):
            frame.names[one] = self._pick_stated(one, later[number:], frame, desk).id
        asker = desk.state.get(setting.kinds[setting.blueprint.people], frame.names[ASKER])
        return _Drawn(frame, target, asker)

    def _name_target(self, frame: Frame, row: Row) -> None:
        frame.names[self._spec.about] = row.id
        frame.names[ASKER] = self._asked_by.evaluate(frame)

    def _pick_stated(self, name: str, later: Sequence[str], frame: Frame, desk: CaseDraft[Row]) -> Row:
        def fits(row: Row) -> bool:
            frame.rules = desk.rules
            return self._can_state(row, name, later, frame, desk)

        kind = self._setting.kinds[self._stated[name].entity]
        return desk.pick(kind, fits, what=f"{name} for {self._name}", decides=True)

    def _can_be_granted(self, frame: Frame, later: Sequence[str], desk: CaseDraft[Row]) -> bool:
        """Whether nothing refuses the request, for some choice of the rows that are stated under these names."""
        if not later:
            return self._decider.decide(frame).refusal is None
        name, *others = later
        rows = desk.state.find(self._setting.kinds[self._stated[name].entity])
        return any(self._can_state(row, name, others, frame, desk) for row in rows)

    def _can_state(self, row: Row, name: str, later: Sequence[str], frame: Frame, desk: CaseDraft[Row]) -> bool:
        condition = self._stated_where.get(name)
        frame.names[name] = row.id
        return (condition is None or bool(condition.evaluate(frame))) and self._can_be_granted(frame, later, desk)

    def _choose_refusal(self, desk: CaseDraft[Row], drawn: _Drawn) -> RequestRefusal:
        """The refusal of the twin: one that what it plants makes the one that decides.

        They take turns over the instances of all splits, so that each of them decides some task.
        """
        instances = self._setting.blueprint.instances
        earlier = sum(instances.get(split, 0) for split in SPLITS[: SPLITS.index(desk.split)])
        first = (earlier + desk.place) % len(self._decider.refusals)
        order = (*self._decider.refusals[first:], *self._decider.refusals[:first])
        for refusal in order:
            mark = len(desk.state.journal)
            _plant(refusal, drawn.frame, desk)
            decided = self._decider.decide(drawn.frame).refusal
            desk.state.rollback(mark)
            if decided is refusal:
                return refusal
        raise DrawError(f"no refusal of {self._name} applies to {drawn.target.id}, whatever is planted")


def _plant(refusal: RequestRefusal, frame: Frame, desk: CaseDraft[Row]) -> None:
    for effects in refusal.plant:
        effects.apply(frame, desk.state)


def _asker_path(spec: RequestSpec, setting: Setting) -> str:
    if spec.asked_by:
        return spec.asked_by
    people = setting.blueprint.people
    if spec.about == people:
        return people
    fields_of = setting.scopes.types[spec.about]
    naming = [name for name, kind in fields_of.items() if kind == ValueType("row", people)]
    if len(naming) != 1:
        raise BlueprintError(f"{spec.about} names {len(naming)} {people}s; say who asks, with `asked_by`")
    return f"{spec.about}.{naming[0]}"


def _draw_value(kind: ValueType, spec: ParameterSpec, desk: CaseDraft[Row], name: str) -> Any:
    stream = desk.stream.split("stated", name)
    match kind.name:
        case "integer" | "money":
            low, high = spec.between or (0, 0)
            return low + spec.step * stream.below((high - low) // spec.step + 1)
        case "date":
            return desk.today + timedelta(stream.between(*(spec.days or (0, 0))))
        case "choice":
            return stream.choice(kind.options)
        case "flag":
            return stream.chance(50)
        case _:
            return stream.choice(spec.one_of)


class _TaskWriter:
    """Writes the task of a drawn request: the plan, the work and the rubric."""

    def __init__(
        self,
        setting: Setting,
        spec: RequestSpec,
        decider: Decider,
        desk: CaseDraft[Row],
        drawn: _Drawn,
        answers: Template | None,
    ) -> None:
        self._setting = setting
        self._spec = spec
        self._decider = decider
        self._desk = desk
        self._drawn = drawn
        self._answers = answers

    def write(self, case: Row, prompt: str) -> Task:
        """The task: of the refusal that applies, or of the work."""
        frame = self._drawn.frame
        decision = self._decider.decide(frame)
        planner = self._planner(case, prompt)
        calls = self._opening(case, planner)
        for trace, refusal in zip(decision.traces, self._decider.refusals, strict=False):
            calls += planner.look_up(trace)
            calls += self._read(refusal.spec.section, planner, calls)
        if decision.refusal is not None:
            task = self._refuse(case, prompt, decision, calls)
        else:
            task = self._grant(case, prompt, decision, calls, planner)
        question = self._spec.question
        if question is None or self._answers is None:
            return task
        knows = UserFact(topic=question.topic, says=self._answers.fill(frame))
        return with_user(task, Persona(goal=question.goal, topics={question.topic: question.words}, facts=(knows,)))

    def _planner(self, case: Row, prompt: str) -> Planner:
        setting, desk = self._setting, self._desk
        words = {word.strip(".,:;!?()\"'") for word in prompt.split()}
        return Planner(
            setting.toolbox, setting.kinds, state=desk.state, context=self._context(), known={case.id, *words}
        )

    def _opening(self, case: Row, planner: Planner) -> list[ToolCall]:
        cases, asker = self._desk.cases, self._drawn.asker
        calls = [
            planner.make(call(f"get_{cases.noun}", **{cases.argument: case.id})),
            planner.make(call(f"get_{cases.asker}", **{cases.requester_column: asker.id})),
        ]
        question = self._spec.question
        if question is not None and self._answers is not None:
            calls.append(ask(question.topic, question.asks))
            planner.hear(word.strip(".,:;!?") for word in self._answers.fill(self._drawn.frame).split())
        return calls

    def _read(self, section: str, planner: Planner, made: Sequence[ToolCall]) -> list[ToolCall]:
        read = call("read_handbook", section_id=section)
        return [] if read in made else [planner.make(read)]

    def _refuse(self, case: Row, prompt: str, decision: RequestDecision, calls: list[ToolCall]) -> Task:
        refusal, desk, frame = decision.refusal, self._desk, self._drawn.frame
        assert refusal is not None, "it is refused"
        spec, row = refusal.spec, shown_row(refusal, frame)
        facts = self._facts([decision.traces[-1]], also=[row])
        after = [fact.id for fact in facts]
        cases = desk.cases
        if spec.team:
            close = cases.escalate(case, spec.section, row, team=spec.team, priority=spec.priority)
            ends = desk.escalated(case, spec.section, row, team=spec.team, priority=spec.priority, after=after)
        else:
            close = cases.decline(case, spec.section, row)
            ends = desk.declined(case, spec.section, row, after=after)
        reply, finish = call("reply", message=refusal.tells.fill(frame)), call("finish")
        return Task(
            prompt=prompt,
            rubric=[*facts, *ends],
            oracle=[*calls, close, reply, finish],
            alternatives=[[*calls, reply, close, finish]],
            max_turns=MAX_TURNS,
        )

    def _grant(
        self, case: Row, prompt: str, decision: RequestDecision, calls: list[ToolCall], planner: Planner
    ) -> Task:
        desk, frame = self._desk, self._drawn.frame
        beside, stated = self._decider.known_beside(frame)
        steps = self._decider.steps(frame)
        traces = [*decision.traces, *(trace for _, trace in steps), beside]
        for trace in traces:
            calls += planner.look_up(trace)
        sections = dict.fromkeys([*(one.spec.section for one in self._decider.refusals), *self._spec.sections])
        for section in self._spec.sections:
            calls += self._read(section, planner, calls)
        known = [*self._facts(traces), *(desk.read(section) for section in sections)]
        for action, trace in steps:
            calls += [*_calculations(trace, calls), action]
        done = self._expect_effects([action for action, _ in steps], after=[fact.id for fact in known])
        calls += _calculations(beside, calls)
        ends = desk.resolved(case, after=[one.id for one in done or known], states=stated)
        closing = desk.closing_calls(case, self._decider.tells.fill(frame))
        return Task(
            prompt=prompt,
            rubric=[*known, *done, *ends],
            oracle=[*calls, *closing],
            alternatives=[[*calls, closing[1], closing[0], *closing[2:]]],
            max_turns=MAX_TURNS,
        )

    def _facts(self, traces: Sequence[EvaluationTrace], also: Sequence[Row] = ()) -> list[Criterion]:
        """What has to be looked up: the account, the question's answer, and the rows that the traces have read.

        Rows that one list shows together are one criterion.
        """
        setting, asker = self._setting, self._drawn.asker
        tables = {setting.kinds[entity].table: entity for entity in setting.blueprint.entities}
        cells: dict[tuple[str, str], dict[str, None]] = {}
        lists: dict[tuple[str, str], Scan] = {}
        for trace in traces:
            for step in trace.steps:
                if isinstance(step, Scan):
                    for key in step.keys:
                        lists.setdefault((step.entity, key), step)
                else:
                    cells.setdefault(step, {}).update(trace.cells[step])
        for row in also:
            cells.setdefault((tables[row.table], row.id), {})
        own = cells.pop((setting.blueprint.people, asker.id), {})
        facts = [expect_read(asker, fields=["email", *own], id="saw-account")]
        if self._spec.question is not None:
            facts.append(expect_question(self._spec.question.topic))
        groups: dict[Scan | tuple[str, str], list[tuple[str, str]]] = {}
        for cell in cells:
            groups.setdefault(lists.get(cell, cell), []).append(cell)
        return facts + [self._expect_rows(group, cells) for group in groups.values()]

    def _expect_rows(
        self, group: Sequence[tuple[str, str]], cells: Mapping[tuple[str, str], Mapping[str, None]]
    ) -> Criterion:
        """Expect a look at rows of one entity, at every column that was read of any of them."""
        rows = [self._desk.state.get(self._setting.kinds[entity], key) for entity, key in group]
        columns = list(dict.fromkeys(column for cell in group for column in cells[cell]))
        return expect_read(*rows, fields=columns or None)

    def _expect_effects(self, actions: Sequence[ToolCall], *, after: Sequence[str]) -> list[Criterion]:
        """What these calls must have changed, by making them on the rows and taking them back.

        Raises:
            DrawError: a call is refused.
        """
        state = self._desk.state
        mark = len(state.journal)
        context = self._context()
        for action in actions:
            result = self._setting.toolbox.call(context, state, "trial", action, ())
            if result.event.error is not None:
                raise DrawError(f"{action.tool} {dict(action.arguments)} is refused: {result.content}")
        changes = tuple(state.journal[mark:])
        state.rollback(mark)
        first: dict[str, Row | None] = {}
        last: dict[str, Row] = {}
        for change in changes:
            assert change.after is not None, "an action deletes nothing"
            first.setdefault(change.key, change.before)
            last[change.key] = change.after
        return [
            _expect_row_change(first[key], row, id=f"done-{number}", after=after)
            for number, (key, row) in enumerate(last.items(), 1)
        ]

    def _context(self) -> ToolContext:
        setting, desk = self._setting, self._desk
        return ToolContext(
            state=desk.state,
            clock=Clock(desk.start),
            role=setting.role,
            actor=setting.actor,
            ids_in=setting.schema.ids_in,
            rules=desk.rules,
        )


def _expect_row_change(before: Row | None, after_row: Row, *, id: str, after: Sequence[str]) -> Criterion:
    values = {field.name: getattr(after_row, field.name) for field in fields(after_row) if field.name != "id"}
    if before is None:
        return expect_row(type(after_row), values, id=id, after=after)
    changed = {name: value for name, value in values.items() if value != getattr(before, name)}
    return expect_change(before, changed, id=id, after=after)


def _calculations(trace: EvaluationTrace, made: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls that work out the values of a trace, but for those that were made."""
    calls: list[ToolCall] = []
    for one in trace.calculations:
        worked, _ = calculation(one.operation, *one.values)
        if worked not in [*made, *calls]:
            calls.append(worked)
    return calls
