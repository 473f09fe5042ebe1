"""To whose records a request gives a right.

What belongs to nobody, such as a product or a section of the handbook, is open to every request.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from palaestra.envs.state import Schema
from palaestra.envs.state.ownership import owner_of
from palaestra.protocols import StateView
from palaestra.records import ToolCall, ToolEvent
from palaestra.rubrics import Allowance, Evidence

if TYPE_CHECKING:
    from palaestra.envs.world import World


class RequestRights:
    """Whose records a task's request gives a right to.

    A request gives a right to the records of everybody of whom it names a record, in its messages or in what the user
    says later, and to those that the task's own solutions and permitted changes are about.

    Args:
        schema: The tables.
        owners: The tables whose rows own records.
        related: Ids of records that the task is about beside those that it names.
    """

    def __init__(self, schema: Schema, owners: frozenset[str], related: Iterable[str]) -> None:
        self._schema = schema
        self._owners = [owner_of(schema, schema[table].kind) for table in sorted(owners)]
        self._related = frozenset(related)
        # The words of a request, and whom it entitles by them; the same in every episode of a task.
        self._entitled: tuple[frozenset[str], frozenset[str]] | None = None

    def owners_of(self, view: StateView, key: str) -> frozenset[str]:
        """The ids of whoever the record of that id belongs to; none where there is no such record."""
        rows = [row for info in self._schema if (row := view.peek(info.kind, key)) is not None]
        owners = (owner(row, view) for row in rows for owner in self._owners)
        return frozenset(owner for owner in owners if owner is not None)

    def strangers(self, evidence: Evidence, keys: Iterable[str]) -> frozenset[str]:
        """The owners of the records `keys` to whose records the request gives no right."""
        found = set[str]()
        for key in keys:
            owners = self.owners_of(evidence.state, key) or self.owners_of(evidence.initial, key)
            if owners and owners.isdisjoint(self.entitled_owners(evidence.initial, evidence.given)):
                found |= owners
        return frozenset(found - self.owners_named_by_user(evidence.state, evidence.events)) if found else frozenset()

    def entitled_owners(self, initial: StateView, given: frozenset[str]) -> frozenset[str]:
        """The owners to whose records a request with the words `given` gives a right."""
        if self._entitled is None or self._entitled[0] is not given:
            self._entitled = given, self._owners_of_all(initial, given | self._related)
        return self._entitled[1]

    def owners_named_by_user(self, view: StateView, events: Iterable[ToolEvent]) -> frozenset[str]:
        """The owners of the records that the user has named in answers."""
        return self._owners_of_all(view, {key for event in events if event.said for key in event.mentioned})

    def _owners_of_all(self, view: StateView, keys: Iterable[str]) -> frozenset[str]:
        return frozenset[str]().union(*(self.owners_of(view, key) for key in keys))


def rights_of_task(
    world: "World", routes: Iterable[Sequence[ToolCall]], permitted: Iterable[Allowance]
) -> RequestRights | None:
    """Whose records a task gives a right to; `None` in a world whose records have no owners.

    Args:
        world: The task's world.
        routes: The solutions that its author states, in calls of the world's own tools.
        permitted: The changes that it permits.
    """
    if not world.owners:
        return None
    related = {key for calls in routes for call in calls for key in world.toolbox[call.tool].find_ids(call.arguments)}
    related.update(allowance.key for allowance in permitted if allowance.key is not None)
    return RequestRights(world.schema, world.owners, related)
