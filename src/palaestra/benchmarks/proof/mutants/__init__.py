"""Wrong work: the oracle's calls with one thing broken. A rubric that accepts one of these can be hacked.

A kind a file. Only variants that are meant to be wrong are made: a dropped read counts where what it showed could not
be known otherwise, an extra write where it leaves rows that the oracle does not and the task does not permit. What is
right work all the same is recognised by the rules of `proof.equivalence`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from palaestra.benchmarks.proof.mutants.argument import argument
from palaestra.benchmarks.proof.mutants.claimed import claimed
from palaestra.benchmarks.proof.mutants.dropped import dropped
from palaestra.benchmarks.proof.mutants.ending import ending
from palaestra.benchmarks.proof.mutants.entity import entity, grounds, neighbour
from palaestra.benchmarks.proof.mutants.extra import extra
from palaestra.benchmarks.proof.mutants.order import order
from palaestra.benchmarks.proof.mutants.repeated import repeated
from palaestra.benchmarks.proof.mutants.swapped import swapped
from palaestra.benchmarks.proof.mutants.truncated import truncated
from palaestra.benchmarks.proof.mutants.undone import undone
from palaestra.benchmarks.proof.trial import Trial
from palaestra.benchmarks.proof.variants import MutantKind, Variant
from palaestra.seeding import Stream

Maker: TypeAlias = Callable[[Trial, Stream], Iterator[Variant]]

MAKERS: Mapping[MutantKind, Maker] = {
    "dropped": dropped,
    "argument": argument,
    "entity": entity,
    "neighbour": neighbour,
    "grounds": grounds,
    "swapped": swapped,
    "extra": extra,
    "repeated": repeated,
    "undone": undone,
    "claimed": claimed,
    "order": order,
    "truncated": truncated,
    "ending": ending,
}


def mutants(trial: Trial) -> Iterator[Variant]:
    """Every mutant of one task, the same ones each time; work that two kinds would make counts for the first."""
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
