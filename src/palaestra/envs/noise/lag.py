"""Lists whose entries lag behind the records that they list.

An entry that was changed does not show its record any more. Where a rubric takes a list's word for a record, that
entry is left as it is: nobody is paid for having read something wrong.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from palaestra.envs.noise.answer import ToolAnswer, without_keys
from palaestra.envs.noise.material import Listing
from palaestra.protocols import StateView
from palaestra.records import Json, JsonObject, Row, ToolEvent
from palaestra.rubrics import Evidence, Rubric
from palaestra.seeding import Stream


class Lag:
    """An index that is brought up to date too late.

    Args:
        percent: How many entries in a hundred are old.
        stream: Which, by the number of the call and the record.
        listings: The tools that read the index.
        rubric: What must not be met by an entry that is old.

    Attributes:
        count: How many entries were old so far.
    """

    def __init__(self, percent: int, stream: Stream, listings: Mapping[str, Listing[Any]], rubric: Rubric) -> None:
        self._percent = percent
        self._stream = stream
        self._listings = listings
        lookups = (rubric.criteria[position] for position in rubric.lookups)
        self._lookups = [criterion for criterion in lookups if criterion.about == "event"]
        self.count = 0

    def shape(self, answer: ToolAnswer, event: ToolEvent, number: int, evidence: Evidence) -> ToolAnswer:
        """The answer to `event`, some of its entries as they were."""
        listing = self._listings.get(event.tool)
        if listing is None or self._meets_lookup(event, None, evidence):
            return answer
        old: set[str] = set()
        body = orjson.loads(orjson.dumps(answer.body))
        for _, entries in replace(answer, body=body).entries():
            for entry in entries:
                key = str(entry["id"])
                draw = self._stream.split(number, key)
                if draw.chance(self._percent) and not self._meets_lookup(event, key, evidence):
                    before = _before(listing, key, entry, event.arguments, evidence, draw)
                    entry.update(before)
                    old |= {key} if before else set()
        self.count += len(old)
        shown = tuple(pair for pair in answer.shown if pair[1] not in old)
        return replace(answer, body=body, shown=shown, columns=without_keys(answer.columns, old))

    def _meets_lookup(self, event: ToolEvent, key: str | None, evidence: Evidence) -> bool:
        """Whether a look-up of the rubric is met by a list that shows its part of this record alone, or of none."""
        asked = [c for c in self._lookups if c.tools is None or event.tool in c.tools]
        if not asked:
            return False
        others = {k for part in event.columns for k in part.keys if k != key}
        mentioned = frozenset[str]() if key is None else frozenset({key})
        bare = replace(event, shown=(), mentioned=mentioned, columns=without_keys(event.columns, others))
        probe = Evidence(
            initial=evidence.initial,
            state=evidence.state,
            journal=lambda: (),
            net=lambda: (),
            given=evidence.given.union(event.named),
        )
        probe.events.append(bare)
        return any(criterion.check(probe).met for criterion in asked)

    def save(self) -> int:
        """What `load` needs."""
        return self.count

    def load(self, saved: int) -> None:
        """Be as when `saved` was saved."""
        self.count = saved


def _before(
    listing: Listing[Any],
    key: str,
    entry: JsonObject,
    asked: Mapping[str, Json],
    evidence: Evidence,
    draw: Stream,
) -> JsonObject:
    """The fields of an entry that were otherwise some time ago, as they were then."""
    row = evidence.state.peek(listing.kind, key)
    if row is None:
        return {}
    then = _at_the_beginning(evidence.initial, row, entry) or {
        name: earlier(row, draw) for name, earlier in listing.earlier.items() if name in entry
    }
    # What was asked for by its value is found by the value that it has.
    return {name: value for name, value in then.items() if name not in asked and value != entry[name]}


def _at_the_beginning(initial: StateView, row: Row, entry: JsonObject) -> JsonObject:
    """The fields of an entry that the episode itself has changed, as they were before."""
    first = initial.peek(type(row), row.id)
    if first is None or first == row:
        return {}
    was, now = (orjson.loads(r.json()) for r in (first, row))
    return {n: was[n] for n, value in entry.items() if n in was and value == now[n] and was[n] != now[n]}
