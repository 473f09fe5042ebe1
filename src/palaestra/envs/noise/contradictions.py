"""Notes in the records that say something else than the record that they are about.

They are planted before an episode begins, as the work of somebody long ago. The record itself is right.
"""

from typing import TYPE_CHECKING, Any

from palaestra.envs.noise.material import Contradiction
from palaestra.envs.noise.task_records import TaskRecords
from palaestra.envs.state import Overlay
from palaestra.records import Row
from palaestra.seeding import Stream

if TYPE_CHECKING:
    from palaestra.envs.instance import Instance


def plant_contradictions(instance: "Instance", records: TaskRecords, count: int, stream: Stream) -> Overlay:
    """The rows that `instance` begins with, and `count` notes about records that it turns on; fewer where few fit."""
    state = instance.initial_state.fork()
    schema, material = instance.world.schema, instance.world.noise
    rows = [state.peek(schema[table].kind, key) for table, key in records.shown]
    chances: list[tuple[Contradiction[Any], Row]] = [
        (contradiction, row)
        for contradiction in (material.contradictions if material else ())
        for row in rows
        if row is not None and isinstance(row, contradiction.kind) and contradiction.where(row)
    ]
    for number, (contradiction, row) in enumerate(stream.sample(chances, count)):
        contradiction.plant(state, row, stream.split(number), instance.start)
    return state.settle()
