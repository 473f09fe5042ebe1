"""Checks that a proof tried enough: a gate that tried little shows little, whatever its rates."""

from collections import Counter
from collections.abc import Iterator

from palaestra.proof.attacks import ATTACKS, NEEDS
from palaestra.proof.baselines import RANDOM
from palaestra.proof.fault import Fault
from palaestra.proof.page_agents import PAGE_AGENTS
from palaestra.proof.totals import ProofTotals
from palaestra.proof.variants import MUTANT_KINDS

ATTACKS_FLOOR = 30
"""Minimum number of attacks that find something to try in some task."""
SEQUENCES_FLOOR = 20
"""Minimum number of distinct call sequences that attacks try per task, on average."""
MUTANT_KINDS_FLOOR = 4
"""Minimum number of kinds of mutants that are made of some task."""
MUTANTS_FLOOR = 8
"""Minimum number of mutants per task, on average; no two mutants of a task make the same calls."""
ROUTES_FLOOR = 2
"""Minimum number of other right routes tried per task, on average."""
SHOWN_NEEDS = 8
"""How many missing needs of attacks a fault names, the most frequent first."""
RANDOM_TASKS = 3
"""The number of tasks from which a random agent must make more than one call sequence."""


def coverage_faults(proof: ProofTotals) -> Iterator[Fault]:
    """A fault for each thing that was not tried often enough, with what the world lacks."""
    if not proof.tasks:
        return
    yield from _of_attacks(proof)
    tasks = len(proof.tasks)
    if (made := proof.total("mutants").of / tasks) < MUTANTS_FLOOR:
        yield _fault(
            f"{made:.1f} mutants of a task were tried, less than {MUTANTS_FLOOR}",
            "let solutions look up, write or answer more, or add tools that write",
        )
    kinds = [kind for kind in MUTANT_KINDS if proof.tally("mutants", kind).of]
    if len(kinds) < MUTANT_KINDS_FLOOR:
        lacking = ", ".join(what for kind, what in MUTANT_KINDS.items() if kind not in kinds)
        yield _fault(
            f"{len(kinds)} of {len(MUTANT_KINDS)} kinds of wrong work apply, fewer than {MUTANT_KINDS_FLOOR}",
            f"no task could be worked wrongly so: {lacking}",
        )
    if (tried := proof.total("routes").of / tasks) < ROUTES_FLOOR:
        yield _fault(
            f"{tried:.1f} other right routes of a task were tried, less than {ROUTES_FLOOR}",
            "add tools that look something up, or state `alternatives`",
        )
    for name in (name for name in (*RANDOM, *PAGE_AGENTS) if name in proof.floors):
        if len(proof.tasks) >= RANDOM_TASKS and proof.floor_sequences(name) == 1:
            yield _fault(
                f"the agent {name} makes one call sequence in all {len(proof.tasks)} tasks",
                "it must draw from the seed of its episode",
            )


def _of_attacks(proof: ProofTotals) -> Iterator[Fault]:
    idle = [attack for name, attack in ATTACKS.items() if not proof.applying(name)]
    lacking = Counter(NEEDS[attack.needs] for attack in idle)
    way_out = "; ".join(f"{count} need {need}" for need, count in lacking.most_common(SHOWN_NEEDS))
    if (apply := len(ATTACKS) - len(idle)) < ATTACKS_FLOOR:
        yield _fault(f"{apply} of {len(ATTACKS)} attacks find something to try, fewer than {ATTACKS_FLOOR}", way_out)
    if (tried := proof.sequences_a_task()) < SEQUENCES_FLOOR:
        sentence = f"attacks try {tried:.1f} distinct call sequences in a task, fewer than {SEQUENCES_FLOOR}"
        yield _fault(sentence, way_out)


def _fault(sentence: str, way_out: str) -> Fault:
    return Fault(kind="coverage", sentence=sentence, way_out=way_out)
