"""A rubric: criteria with points and dependencies, validated once and shared by every episode of a task."""

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

from palaestra.errors import RubricError, UnknownNameError
from palaestra.records import CriterionSpec
from palaestra.rubrics.criterion import HARM, Criterion

TOTAL = 100
"""The sum of the points of all expectations, so that scores of different tasks are comparable."""
LOOKUPS = 5
"""The default sum of points for look-ups: reading everything and doing nothing must not pay."""
UNFINISHED = 30
"""Maximum points of an episode that gave up after the work, or that a budget ended."""
ADMITTED = 20
"""The points for giving up if the request must be refused, nothing was written, and the reason is right."""


class Rubric:
    """Criteria, in the order for people to read.

    Args:
        criteria: The criteria, with at least one expectation. Missing points are shared so that expectations sum to
            100.
        refused_by: If the right outcome is to refuse the request or hand it over: the ids of the records that say why,
            besides those that the request names. Otherwise empty.

    Raises:
        RubricError: ids repeat, a dependency is missing or circular, or points do not add up.
    """

    def __init__(self, criteria: Iterable[Criterion], *, refused_by: frozenset[str] = frozenset()) -> None:
        self.criteria = tuple(criteria)
        self.refused_by = refused_by
        self._check_ids()
        self.points = _points(self.criteria)
        """By position: what each criterion wins or takes."""
        self.specs: tuple[CriterionSpec, ...] = tuple(
            c.spec(p) for c, p in zip(self.criteria, self.points, strict=True)
        )
        self.signed = tuple(p if c.kind == "expect" else -p for c, p in zip(self.criteria, self.points, strict=True))
        """By position: what the score changes by while the criterion counts."""
        self.signed_criteria = tuple(zip(self.criteria, self.signed, strict=True))
        position = {c.id: i for i, c in enumerate(self.criteria)}
        self.after = tuple(tuple(position[name] for name in c.after) for c in self.criteria)
        self.lookups = tuple(i for i, c in enumerate(self.criteria) if c.layer == "selection")
        """The positions of look-ups, which count once their answers could be read."""
        lookups = frozenset(self.lookups)
        self.facts = tuple(tuple(i for i in after if i in lookups) for after in self.after)
        """By position: the look-ups that a criterion waits for. Each that is missing takes an even share of it."""
        self.deciding = frozenset(i for facts in self.facts for i in facts)
        """The look-ups that something waits for: what has to be known before the request can be decided."""
        outcomes = [i for i, c in enumerate(self.criteria) if c.kind == "expect" and c.layer == "outcome"]
        self.outcomes = tuple(outcomes)
        """The positions of the expected outcomes."""
        self.messages = tuple(
            i for i, c in enumerate(self.criteria) if c.kind == "expect" and c.layer == "task" and c.about == "event"
        )
        """The positions of expected messages, which win nothing where no outcome was reached."""
        self.about_events = self._positions("event")
        self.about_state = self._positions("state")
        self.about_answer = self._positions("answer")
        self._about_call: dict[tuple[str, bool], tuple[int, ...]] = {}
        self.worst = -sum(p for c, p in zip(self.criteria, self.points, strict=True) if c.kind == "forbid")
        """The lowest score that an episode can have."""

    def about_call(self, tool: str, *, wrote: bool) -> tuple[int, ...]:
        """By position: the "event" criteria that a call of `tool` can touch, given whether it wrote a row."""
        key = (tool, wrote)
        found = self._about_call.get(key)
        if found is None:
            other = "reads" if wrote else "writes"
            found = self._about_call[key] = tuple(
                position
                for position in self.about_events
                if self.criteria[position].calls != other
                and (self.criteria[position].tools is None or tool in (self.criteria[position].tools or ()))
            )
        return found

    def _positions(self, about: str) -> tuple[int, ...]:
        return tuple(i for i, c in enumerate(self.criteria) if c.about == about)

    def _check_ids(self) -> None:
        ids = [c.id for c in self.criteria]
        if repeated := sorted({i for i in ids if ids.count(i) > 1}):
            raise RubricError(f"criterion id {repeated[0]!r} occurs twice; give one of them its own `id=`")
        for criterion in self.criteria:
            if (text := "".join(criterion.after)) in ids and text not in criterion.after:
                raise RubricError(
                    f"criterion {criterion.id!r}: after={text!r} is a text; write a list, after=[{text!r}]"
                )
            for name in criterion.after:
                if name not in ids:
                    raise RubricError(
                        f"criterion {criterion.id!r}: {UnknownNameError.of('criterion', name, ids)} (in `after`)"
                    )
        try:
            TopologicalSorter({c.id: c.after for c in self.criteria}).prepare()
        except CycleError as error:
            raise RubricError(f"criteria wait for each other: {' -> '.join(error.args[1])}; drop one `after`") from None


def _points(criteria: Sequence[Criterion]) -> tuple[int, ...]:
    expected = [c for c in criteria if c.kind == "expect"]
    if not expected:
        raise RubricError("a rubric needs at least one expectation; prohibitions alone reward doing nothing")
    if low := [c for c in criteria if c.points is not None and c.points <= 0]:
        raise RubricError(f"criterion {low[0].id!r} has {low[0].points} points; points are positive integers")
    given = sum(c.points or 0 for c in expected)
    left = TOTAL - given
    lookups = [c.id for c in expected if c.points is None and c.layer == "selection"]
    work = [c.id for c in expected if c.points is None and c.layer != "selection"]
    for_lookups = max(0, min(LOOKUPS, left - len(work))) if work else left
    if left < len(work) or (not work and left < len(lookups)) or (left and not lookups and not work):
        raise RubricError(
            f"the expectations' points sum to {given} of {TOTAL}"
            + (f", which leaves too little for {', '.join(lookups + work)}" if lookups or work else "")
            + "; change them, or leave `points` out to share evenly"
        )
    spent = for_lookups if lookups else 0
    share = {**_share_points(spent, lookups), **_share_points(left - spent, work)}
    return tuple(c.points if c.points is not None else share.get(c.id, HARM) for c in criteria)


def _share_points(points: int, ids: Sequence[str]) -> dict[str, int]:
    """`points` in even shares; the first ones take the remainder."""
    return {id_: points // len(ids) + (n < points % len(ids)) for n, id_ in enumerate(ids)}
