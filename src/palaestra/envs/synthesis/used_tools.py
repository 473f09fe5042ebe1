"""Which reading tools solutions use, worked out from a blueprint alone: no world is compiled, no task is made.

It follows the plan of a solution (`palaestra.envs.blueprints.planning`): the opening shows whoever asks, the conditions
of refusals are read in order, each with the row that shows it, then the work. A tool is unused only where what it shows
is known for certain before. Whether a task comes to a condition is not worked out, so a tool can count as used that no
solution happens to use.
"""

from collections.abc import Iterator, Mapping

from palaestra.envs.blueprints import Blueprint, RequestSpec
from palaestra.envs.blueprints.blueprint import EntitySpec
from palaestra.envs.blueprints.expressions import ValueType
from palaestra.envs.blueprints.scopes import ASKER, Scopes
from palaestra.envs.synthesis.reading_order import FieldStep, ReadingOrder, RowPath, RowSet, SetStep


def used_tools(blueprint: Blueprint) -> frozenset[tuple[str, str]]:
    """The reading tools that solutions use: entity and tool, as in `("loan", "list member")`.

    Raises:
        BlueprintError: an expression of `let` cannot be read.
    """
    scopes = Scopes(blueprint)
    used = {(blueprint.people, "get")}
    for spec in blueprint.requests.values():
        used |= _RequestPlan(blueprint, spec, scopes).tools()
    return frozenset(used)


class _RequestPlan:
    """The look-ups of the solutions of one request."""

    def __init__(self, blueprint: Blueprint, spec: RequestSpec, scopes: Scopes) -> None:
        self._entities: Mapping[str, EntitySpec] = blueprint.entities
        self._spec = spec
        self._parameters = {name: scopes.parameters(action) for name, action in blueprint.actions.items()}
        self._abouts = {name: action.about for name, action in blueprint.actions.items()}
        self._order = ReadingOrder(scopes.request(spec), _asker_path(blueprint, spec, scopes))
        self._used: set[tuple[str, str]] = set()
        self._whole = {ASKER}
        """Paths of rows that were shown whole."""
        self._seen = {ASKER}
        """Paths of rows of which a field was read, or may have been."""
        self._listed: dict[RowSet, frozenset[str]] = {}
        """Sets that were listed, with the fields that their list shows."""

    def tools(self) -> set[tuple[str, str]]:
        """The tools that its solutions use."""
        for refusal in self._spec.refusals:
            self._follow(refusal.when, is_certain=True)
            self._show(refusal.shows)
        for text, is_certain in self._texts():
            self._follow(text, is_certain=is_certain)
        return self._used

    def _follow(self, text: str, *, is_certain: bool) -> None:
        for step in self._order.steps(text):
            if isinstance(step, SetStep):
                self._go_through(step.rows, is_certain=is_certain and step.is_certain)
            else:
                self._look_at(step)

    def _show(self, text: str) -> None:
        """Look at a row that shows a refusal, where its condition reads nothing of it."""
        for row in self._order.rows(text):
            listed = any(row.entity == rows.entity and self._is_of(row, rows) for rows in self._listed)
            if row.path not in self._seen and not listed:
                self._follow(text, is_certain=False)
                self._look_at(FieldStep(row, ""))

    def _texts(self) -> Iterator[tuple[str, bool]]:
        """What solutions evaluate behind the refusals, in order, and whether all that grant the request do."""
        spec = self._spec
        for step in spec.work:
            types = {**self._parameters[step.action], self._abouts[step.action]: ValueType("row")}
            if step.when:
                yield step.when, False
            for name, value in step.arguments.items():
                # What is written into a text does not count as read.
                if isinstance(value, str) and types[name].name != "text" and value not in types[name].options:
                    yield value, not step.when
        yield from ((text, True) for text in (*spec.reads, spec.amount) if text)

    def _go_through(self, rows: RowSet, *, is_certain: bool) -> None:
        if rows in self._listed:
            return
        spec, fields = self._entities[rows.entity], {field for field, _ in rows.equal}
        for tool in spec.tools:
            word, _, field = tool.partition(" ")
            if (word == "list" and fields == {field}) or (word == "search" and fields <= set(spec.filters)):
                self._used.add((rows.entity, tool))
                if is_certain:
                    shown = set(spec.fields) if word == "list" else {*spec.summary, *fields}
                    self._listed[rows] = frozenset(shown)
                return

    def _look_at(self, step: FieldStep) -> None:
        row = step.row
        self._seen.add(row.path)
        if self._is_known(row, step.field):
            return
        tools = self._entities[row.entity].tools
        lists = {(row.entity, tool) for tool in tools if tool.startswith("list ")}
        by_id, by_list = self._names_target() if row.path == self._spec.about else (True, False)
        if by_id and "get" in tools:
            self._used.add((row.entity, "get"))
        if by_list or "get" not in tools:
            self._used |= lists
        self._whole.add(row.path)

    def _is_known(self, row: RowPath, field: str) -> bool:
        return row.path in self._whole or any(
            field in shown and rows.entity == row.entity and self._is_of(row, rows)
            for rows, shown in self._listed.items()
        )

    def _is_of(self, row: RowPath, rows: RowSet) -> bool:
        """Whether a row is of a set for certain."""
        return row.rows == rows or all(self._order.refer(row, field) == value for field, value in rows.equal)

    def _names_target(self) -> tuple[bool, bool]:
        """Whether some message names the row that is asked about by its id, and whether some does not."""
        spec = self._spec
        texts = [*spec.says, *spec.says_heldout] if spec.question is None else [spec.question.answers]
        named = [f"{{{spec.about}.id}}" in text or f"{{{spec.about}}}" in text for text in texts]
        return any(named), not all(named)


def _asker_path(blueprint: Blueprint, spec: RequestSpec, scopes: Scopes) -> str:
    """How the row of whoever asks is reached."""
    if spec.asked_by or spec.about == blueprint.people:
        return spec.asked_by or spec.about
    naming = [name for name, kind in scopes.types[spec.about].items() if kind == ValueType("row", blueprint.people)]
    return f"{spec.about}.{naming[0]}" if naming else ""
