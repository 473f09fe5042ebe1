"""The handbook variants of a world: its own rules, and rules in which some of them are changed.

A handbook is named by a number. 0 is a world's own; another number changes several rules, from a million on one, and
from two million on all that can be changed. A number changes the same rules to the same values in every world.
World seeds of "heldout-policy" never go by the unchanged rules. A changed rule changes all that follows from it: the
world's past, its handbook, what tools enforce and what rubrics ask for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

from palaestra.envs.world import ALL_RULES_FROM, ONE_RULE_FROM
from palaestra.errors import DefinitionError, UnknownNameError
from palaestra.seeding import Stream

P = TypeVar("P", bound=Any)

HANDBOOKS = 32
"""How many handbooks there are that change several rules, and as many that change all; further numbers repeat none."""
CHANGED_FROM = 4_000
"""From this world seed on, a world's own handbook is a changed one; no seed below it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandbookVariants(Generic[P]):
    """The rules of a world by world seed and handbook number: what `World.rules` takes.

    Raises:
        DefinitionError: a change names no rule, offers no value, or offers the rule's own value.
    """

    stream: str
    """The name of the stream that chooses; equal names give equal choices."""
    own: P
    """The unchanged rules, a frozen dataclass of the world's own."""
    changes: Mapping[str, tuple[Any, ...]]
    """By rule: what it may be changed to, never what `own` has."""
    fewest: int = 1
    """The fewest rules that a numbered handbook changes."""
    most: int = 3
    """The most."""
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """By rule: the sections of the handbook that state it."""

    def __post_init__(self) -> None:
        rules = [f.name for f in fields(self.own)]
        for name, values in self.changes.items():
            if name not in rules:
                raise DefinitionError(str(UnknownNameError.of("rule", name, rules)))
            if not values or getattr(self.own, name) in values:
                raise DefinitionError(
                    f"changes[{name!r}] = {values!r}; give at least one value, none of which is the rule's own, "
                    f"{getattr(self.own, name)!r}"
                )

    def __call__(self, seed: int, handbook: int) -> P:
        """The rules of the world of `seed` under a handbook; a pure function."""
        if handbook == 0 and seed < CHANGED_FROM:
            return self.own
        if ONE_RULE_FROM <= handbook < ALL_RULES_FROM:
            return self._one_changed(handbook - ONE_RULE_FROM)
        stream = Stream.root(self.stream, handbook or seed)
        changed = stream.sample(sorted(self.changes), self._count(stream, handbook))
        rules: P = replace(self.own, **{name: stream.choice(self.changes[name]) for name in changed})
        return rules

    def list_changes(self, rules: P) -> tuple[str, ...]:
        """The names of the rules that are not as in `own`, in order."""
        return tuple(name for name in sorted(self.changes) if getattr(rules, name) != getattr(self.own, name))

    def with_own(self, rules: P, name: str) -> P:
        """Rules of which one is as in `own` again."""
        back: P = replace(rules, **{name: getattr(self.own, name)})
        return back

    def handbooks(self, first: int) -> int:
        """How many handbooks there are of the kind that begins with number `first`."""
        return sum(map(len, self.changes.values())) if first == ONE_RULE_FROM else HANDBOOKS

    def one_changed(self, name: str) -> P:
        """The rules with the first change of one rule, so that its effect can be seen alone."""
        rules: P = replace(self.own, **{name: self.changes[name][0]})
        return rules

    def _one_changed(self, place: int) -> P:
        """The rules with one change: rule by rule with its first value, then with its second one, and so on."""
        names = sorted(self.changes)
        rounds = range(max(map(len, self.changes.values())))
        every = [
            (name, self.changes[name][turn]) for turn in rounds for name in names if turn < len(self.changes[name])
        ]
        name, value = every[place % len(every)]
        rules: P = replace(self.own, **{name: value})
        return rules

    def _count(self, stream: Stream, handbook: int) -> int:
        """How many rules a handbook changes."""
        if handbook >= ALL_RULES_FROM:
            return len(self.changes)
        return stream.between(self.fewest, min(self.most, len(self.changes)))
