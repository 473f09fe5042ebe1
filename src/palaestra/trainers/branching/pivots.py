"""The turns from which the trajectories of a group that solved nothing can be continued.

Each is after at least one turn, before any harm, and before the last turn, which ended its trajectory.
"""

from collections.abc import Sequence

from palaestra.record import record
from palaestra.seeding import Stream
from palaestra.trainers.branching.recoverability import RecoveryOdds, pivot_weights
from palaestra.trainers.choice import pick_weighted
from palaestra.trainers.data.own import best_prefix, harmless_turns
from palaestra.trainers.rollouts.fork import PivotRule
from palaestra.trajectory import Episode, Turn


@record
class Pivot:
    """A fork of one of a group's trajectories."""

    rule: PivotRule
    """The rule that chose it."""
    member: int
    """The index of the trajectory in its group."""
    turns: int
    """The number of turns before the fork."""
    ratio: float
    """The share of these turns in all turns of the trajectory, above 0 and below 1."""


def best_pivot(episodes: Sequence[Episode]) -> Pivot | None:
    """The fork after the most points before any harm; among equals the shortest. `None` without any points."""
    prefix = best_prefix(episodes)
    return None if prefix is None else _pivot("best", episodes, prefix.member, prefix.turns)


def recoverable_pivot(
    episodes: Sequence[Episode], odds: RecoveryOdds | None, stream: Stream, *, depth: float
) -> Pivot | None:
    """Draw a turn of a random trajectory, weighted by its odds and its depth.

    Args:
        episodes: The episodes of the group.
        odds: The odds of being solved after a share of a trajectory.
        stream: The random stream.
        depth: See `pivot_weights`.
    """
    members = [place for place, episode in enumerate(episodes) if harmless_turns(episode)]
    if not members:
        return None
    member = stream.choice(members)
    count = len(list(episodes[member].turns))
    ratios = [turns / count for turns in range(1, harmless_turns(episodes[member]) + 1)]
    place = pick_weighted(pivot_weights(ratios, odds, depth=depth), stream)
    return _pivot("recoverable", episodes, member, place + 1)


def naming_pivot(episodes: Sequence[Episode], stream: Stream) -> Pivot | None:
    """Draw a trajectory that chooses a record before any harm; the fork is before its first such choice."""
    found = [(place, first) for place, episode in enumerate(episodes) if (first := _naming_turns(episode)) is not None]
    if not found:
        return None
    member, turns = stream.choice(found)
    return _pivot("naming", episodes, member, turns)


def _naming_turns(episode: Episode) -> int | None:
    turns = first_naming(list(episode.turns))
    return turns if turns is not None and turns <= harmless_turns(episode) else None


def first_naming(turns: Sequence[Turn]) -> int | None:
    """The number of turns before the first whose calls name one of several records that an earlier answer has shown.

    Several means two or more records of one table in one answer, none of which was named before that answer or since.
    """
    named: set[str] = set()
    listings: list[frozenset[str]] = []
    for place, turn in enumerate(turns):
        now = {key for event in turn.events for key in event.named}
        if any(listing & now and not listing & named for listing in listings):
            return place
        named |= now
        listings += [listing for listing in _listings(turn) if not listing & named]
    return None


def _listings(turn: Turn) -> list[frozenset[str]]:
    """The records of each table, for tables of which an answer shows two or more records."""
    found: list[frozenset[str]] = []
    for event in turn.events:
        by_table: dict[str, set[str]] = {}
        for table, key in event.shown:
            by_table.setdefault(table, set()).add(key)
        for part in event.columns:
            by_table.setdefault(part.table, set()).update(part.keys)
        found += [frozenset(keys) for keys in by_table.values() if len(keys) > 1]
    return found


def _pivot(rule: PivotRule, episodes: Sequence[Episode], member: int, turns: int) -> Pivot:
    ratio = turns / len(list(episodes[member].turns))
    return Pivot(rule=rule, member=member, turns=turns, ratio=ratio)
