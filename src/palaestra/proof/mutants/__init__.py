"""Mutants: the oracle's calls with one defect. A rubric that accepts one of them can be attacked.

One file per kind. Only variants that should be wrong are made: a dropped read counts if nothing else shows the same, an
extra write if it leaves rows that the oracle does not leave and the task does not permit. The rules of
`proof.equivalence` recognise mutants that are right work after all.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from palaestra.proof.mutants.argument import argument
from palaestra.proof.mutants.attempted import add_attempts
from palaestra.proof.mutants.claimed import claim_writes
from palaestra.proof.mutants.dropped import drop_calls
from palaestra.proof.mutants.ending import ending
from palaestra.proof.mutants.entity import entity, neighbour, reason
from palaestra.proof.mutants.extra import extra
from palaestra.proof.mutants.order import order
from palaestra.proof.mutants.repeated import repeat_writes
from palaestra.proof.mutants.said import falsify_messages
from palaestra.proof.mutants.swapped import swap_values
from palaestra.proof.mutants.truncated import truncate_solution
from palaestra.proof.mutants.undone import undone
from palaestra.proof.trial import Trial
from palaestra.proof.variants import MutantKind, SolutionVariant
from palaestra.seeding import Stream

Maker: TypeAlias = Callable[[Trial, Stream], Iterator[SolutionVariant]]

MAKERS: Mapping[MutantKind, Maker] = {
    "dropped": drop_calls,
    "argument": argument,
    "entity": entity,
    "neighbour": neighbour,
    "reason": reason,
    "swapped": swap_values,
    "extra": extra,
    "repeated": repeat_writes,
    "undone": undone,
    "claimed": claim_writes,
    "said": falsify_messages,
    "order": order,
    "truncated": truncate_solution,
    "ending": ending,
    "attempted": add_attempts,
}


def mutants(trial: Trial) -> Iterator[SolutionVariant]:
    """Every mutant of one task, the same ones each time; work that two kinds would make belongs to the first."""
    stream = Stream.root("mutants", trial.instance.spec.id)
    made = {_key(tuple((call,) for call in trial.calls))}
    for kind, make in MAKERS.items():
        for mutant in make(trial, stream.split(kind)):
            key = _key(mutant.turns)
            if key not in made:
                made.add(key)
                yield mutant


def _key(turns: object) -> str:
    return repr(turns)
