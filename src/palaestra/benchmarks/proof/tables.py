"""The proof as tables, to read and to paste."""

from dataclasses import asdict
from typing import Any

from palaestra.benchmarks.proof.prove import Proof, Tally
from palaestra.benchmarks.proof.variants import MUTANT_KINDS, ROUTE_KINDS
from palaestra.benchmarks.roster import FLOORS
from palaestra.benchmarks.table import Table

_WRONG = {
    "dropped": "a needed call dropped",
    "argument": "an argument changed",
    "entity": "the wrong entity",
    "extra": "an extra write",
    "undone": "a write undone",
    "order": "order that breaks policy",
}
_RIGHT = {
    "reordered": "independent calls reordered",
    "extra read": "extra reads and refused calls",
    "paraphrased": "other words",
    "batched": "several calls in a turn",
    "alternative": "the author's other routes",
}


def proof_tables(proof: Proof) -> list[Table]:
    """The proof's tables: agents, kinds of work, families."""
    return [agents_table(proof), work_table(proof), families_table(proof)]


def agents_table(proof: Proof) -> Table:
    """What the oracle and the floors get."""
    tallies = {"oracle": proof.oracle(), **{name: proof.tally("floors", name) for name in FLOORS}}
    return Table(
        title="Agents that know everything, and nothing",
        columns=("agent", "tasks", "solved", "mean score"),
        rows=tuple(
            (name, str(t.of), f"{t.percent:.1f} %" if t.of else "-", f"{t.mean_points:.1f}")
            for name, t in tallies.items()
        ),
        note="Score: points of 100, less what harm takes. Random agents may solve a task by luck; the others must not.",
    )


def work_table(proof: Proof) -> Table:
    """Wrong work rejected and right work accepted, by kind."""
    wrong = [("wrong", _WRONG[kind], proof.tally("mutants", kind), "rejected") for kind in MUTANT_KINDS]
    right = [("right", _RIGHT[kind], proof.tally("routes", kind), "accepted") for kind in ROUTE_KINDS]
    return Table(
        title="Wrong work is rejected, right work done otherwise is accepted",
        columns=("work", "what differs from the oracle's", "variants", "judged right", "share"),
        rows=tuple(
            (side, what, str(t.of), f"{t.hits} {verb}", f"{t.percent:.2f} %" if t.of else "-")
            for side, what, t, verb in [*wrong, *right]
        ),
        note=f"{len(proof.survivors)} survivors, {len(proof.false_rejects)} false rejects, "
        f"{len(proof.idle_criteria())} criteria that are the first to fail for no mutant.",
    )


def families_table(proof: Proof) -> Table:
    """Each family's share of it all."""
    rows: list[tuple[str, ...]] = []
    for family in proof.families:
        specs = [p for p in proof.tasks if p.spec.family == family]
        spec = specs[0].spec
        rows.append(
            (
                family.partition("/")[2],
                str(spec.level),
                str(len(specs)),
                f"{spec.oracle_calls}",
                str(len(specs[0].criteria)),
                f"{proof.oracle(family).percent:.0f} %",
                _share(proof, "mutants", family),
                _share(proof, "routes", family),
            )
        )
    return Table(
        title="Families",
        columns=(
            "family",
            "level",
            "tasks",
            "calls",
            "criteria",
            "oracle",
            "wrong rejected",
            "right accepted",
        ),
        rows=tuple(rows),
    )


def proof_document(proof: Proof) -> dict[str, Any]:
    """The whole proof as plain data, to keep beside a set of tasks."""
    return {
        "tasks": len(proof.tasks),
        "faults": proof.faults(),
        "survivors": [asdict(finding) for finding in proof.survivors],
        "false_rejects": [asdict(finding) for finding in proof.false_rejects],
        "idle_criteria": proof.idle_criteria(),
        "by_task": [
            {
                "task": p.spec.id,
                "split": p.spec.split,
                "oracle": p.oracle.score.points,
                "floors": {name: tally.points for name, tally in p.floors.items()},
                "mutants": {kind: [tally.hits, tally.of] for kind, tally in p.mutants.items()},
                "routes": {kind: [tally.hits, tally.of] for kind, tally in p.routes.items()},
                "first_failures": dict(sorted(p.first_failures.items())),
            }
            for p in proof.tasks
        ],
    }


def _share(proof: Proof, part: str, family: str) -> str:
    total = Tally()
    for kind in MUTANT_KINDS if part == "mutants" else ROUTE_KINDS:
        total += proof.tally(part, kind, family)
    return f"{total.hits} / {total.of}"
