"""Families of tasks made from requests: which row a task is about, what it states, and what its twin plants."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from palaestra.envs.blueprints.blueprint import ParameterSpec, RequestSpec
from palaestra.envs.blueprints.decision import Decider, RequestRefusal
from palaestra.envs.blueprints.expressions import Frame, ValueType, parse_expression
from palaestra.envs.blueprints.planting import Planter
from palaestra.envs.blueprints.scopes import ASKER
from palaestra.envs.blueprints.setting import Setting
from palaestra.envs.blueprints.task_writer import DrawnRequest, TaskWriter
from palaestra.envs.blueprints.templates import Template, parse_template
from palaestra.envs.kit import CaseDraft
from palaestra.envs.task import SPLITS, Family, Task
from palaestra.errors import BlueprintError, DrawError
from palaestra.records import Row
from palaestra.seeding import Stream


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
            self._plant(chosen, drawn, desk)
        drawn.frame.rules = desk.rules
        task = TaskWriter(self._setting, self._spec, self._decider, desk, drawn, self._answers)
        case = desk.open_case(drawn.asker, self._word(self._subject, desk, drawn, "subject"))
        prompt = desk.message(case, self._word(self._wordings(desk), desk, drawn, "body"))
        styled = self._setting.styled
        desk.answer = lambda: styled.task(task.write(case, prompt)).oracle
        return styled.task(task.write(case, prompt))

    def _wordings(self, desk: CaseDraft[Row]) -> Sequence[Template]:
        return self._says_heldout if desk.split == "heldout" and self._says_heldout else self._says

    def _word(self, texts: Sequence[Template], desk: CaseDraft[Row], drawn: DrawnRequest, part: str) -> str:
        """One of several wordings; which one changes nothing else that is drawn."""
        return desk.stream.split(part).choice(texts).fill(drawn.frame)

    def _draw(self, desk: CaseDraft[Row]) -> DrawnRequest:
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
        return DrawnRequest(frame, target, asker)

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

    def _choose_refusal(self, desk: CaseDraft[Row], drawn: DrawnRequest) -> RequestRefusal:
        """The refusal of the twin: one that what it plants makes the one that decides.

        They take turns over the instances of all splits, so that each of them decides some task. Which of them come
        again is drawn: in turns, a held-out task would have the refusal of the first training task.
        """
        instances = self._setting.blueprint.instances
        earlier = sum(instances.get(split, 0) for split in SPLITS[: SPLITS.index(desk.split)])
        turn, place = divmod(earlier + desk.place, len(self._decider.refusals))
        order = list(self._decider.refusals)
        if turn:
            order = Stream.root(self._setting.blueprint.id, self._name, "refusals", turn).permutation(order)
        order = [*order[place:], *order[:place]]
        for refusal in order:
            mark = len(desk.state.journal)
            self._plant(refusal, drawn, desk)
            decided = self._decider.decide(drawn.frame).refusal
            desk.state.rollback(mark)
            if decided is refusal:
                return refusal
        raise DrawError(f"no refusal of {self._name} applies to {drawn.target.id}, whatever is planted")

    def _plant(self, refusal: RequestRefusal, drawn: DrawnRequest, desk: CaseDraft[Row]) -> None:
        planter = Planter(self._setting, desk, drawn.frame)
        for effects in refusal.plant:
            effects.apply(drawn.frame, desk.state, planter)


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
