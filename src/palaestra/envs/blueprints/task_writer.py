"""A drawn request as a task: the plan of its solution, the work or the refusal, and the rubric."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from palaestra.clock import Clock
from palaestra.envs.blueprints.blueprint import RequestSpec
from palaestra.envs.blueprints.decision import Decider, RequestDecision, shown_row
from palaestra.envs.blueprints.expressions import EvaluationTrace, Frame, Scan
from palaestra.envs.blueprints.planning import Planner
from palaestra.envs.blueprints.setting import Setting
from palaestra.envs.blueprints.templates import Template
from palaestra.envs.kit import CaseDraft, ask, calculation, with_user
from palaestra.envs.task import Task, call
from palaestra.envs.user import Persona, UserFact
from palaestra.errors import DrawError
from palaestra.records import Row, ToolCall
from palaestra.rubrics import Criterion, expect_change, expect_question, expect_read, expect_row
from palaestra.tools import ToolContext

MAX_TURNS = 40
"""The most turns of a task."""


@dataclass(slots=True)
class DrawnRequest:
    """A request as it was drawn: about which row, by whom, with which stated values."""

    frame: Frame
    target: Row
    asker: Row


class TaskWriter:
    """Writes the task of a drawn request: the plan, the work and the rubric."""

    def __init__(
        self,
        setting: Setting,
        spec: RequestSpec,
        decider: Decider,
        desk: CaseDraft[Row],
        drawn: DrawnRequest,
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
            task = self._refuse(case, prompt, decision, calls, planner)
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

    def _refuse(
        self, case: Row, prompt: str, decision: RequestDecision, calls: list[ToolCall], planner: Planner
    ) -> Task:
        refusal, desk, frame = decision.refusal, self._desk, self._drawn.frame
        assert refusal is not None, "it is refused"
        spec = refusal.spec
        row, way = shown_row(refusal, frame)
        # The condition may have decided before it came to this row.
        calls += planner.look_up_row(row, decision.traces[-1].columns_of(refusal.shows.type.entity, row.id), way=way)
        facts = self._facts([decision.traces[-1]], also=[row])
        after = [fact.id for fact in facts]
        cases = desk.cases
        if spec.team:
            close = cases.escalate(case, spec.section, row, team=spec.team, priority=spec.priority)
            ends = desk.expect_escalated(case, spec.section, row, team=spec.team, priority=spec.priority, after=after)
        else:
            close = cases.decline(case, spec.section, row)
            ends = desk.expect_declined(case, spec.section, row, after=after)
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
        beside, stated = self._decider.further_knowledge(frame)
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
        ends = desk.expect_resolved(case, after=[one.id for one in done or known], states=stated)
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
