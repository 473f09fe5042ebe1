"""Rows that a task adds to its world, where nothing about them shows that they were added.

An id is drawn of the gaps that the population has left, so that neither the id nor the place in a list tells. A field
that the document does not set is drawn as it is drawn for the rows of the population.
"""

from collections.abc import Mapping

from palaestra.envs.blueprints.expressions import Frame
from palaestra.envs.blueprints.row_drawing import id_numbers
from palaestra.envs.blueprints.setting import Setting
from palaestra.envs.kit import CaseDraft
from palaestra.records import Row


class Planter:
    """Adds rows to the world of a task.

    Args:
        setting: What the requests of the blueprint share.
        desk: The task that is drawn.
        frame: The rows and rules of the task.
    """

    def __init__(self, setting: Setting, desk: CaseDraft[Row], frame: Frame) -> None:
        self._setting = setting
        self._desk = desk
        self._frame = frame

    def __call__(self, entity: str, values: Mapping[str, object]) -> Row:
        """Add a row of an entity with these columns."""
        state, kind, drawing = self._desk.state, self._setting.kinds[entity], self._setting.drawing
        key = self._draw_id(entity, kind)
        stream = self._desk.stream.split("planted", key)
        frame = Frame(
            state=state, kinds=self._setting.kinds, rules=self._frame.rules, today=self._frame.today, names={}
        )
        row = state.insert(kind(id=key, **drawing.draw_row(entity, key, values, frame, stream)))
        return drawing.work_out(
            row, entity, values, frame, lambda one, column, value: state.update(one, **{column: value})
        )

    def _draw_id(self, entity: str, kind: type[Row]) -> str:
        """The id of a gap; the next one where no gap is left."""
        state = self._desk.state
        numbers = id_numbers(self._setting.blueprint.entities[entity], len(state.base.rows[kind.table]))
        taken = {row.id for row in state.find(kind)}
        gaps = [key for number in numbers if (key := f"{kind.prefix}{number}") not in taken]
        return self._desk.stream.split("gap", entity).choice(gaps) if gaps else state.next_id(kind)
