"""The results of proofs of generated worlds, as tables."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from palaestra.proof.worlds import WorldProof
from palaestra.table import Table

_COUNTED = ("families", "tasks", "criteria", "mutants", "routes", "attacks")


def world_proof_tables(proofs: Sequence[WorldProof]) -> list[Table]:
    """Splits, sizes, and why worlds were refused."""
    return [_splits(proofs), _sizes(proofs), _faults(proofs)]


def _splits(proofs: Sequence[WorldProof]) -> Table:
    rows: list[tuple[str, ...]] = []
    for split in sorted({proof.plan.split for proof in proofs}):
        of_split = [proof for proof in proofs if proof.plan.split == split]
        proved = [proof for proof in of_split if proof.proved]
        sums = (f"{sum(getattr(proof, name) for proof in proved):,}" for name in _COUNTED)
        seconds = sum(proof.seconds for proof in of_split)
        rows.append((split, f"{len(proved)} of {len(of_split)}", *sums, f"{seconds:,.0f}"))
    return Table(
        title="Generated worlds",
        columns=(
            "split",
            "proved",
            "families",
            "tasks",
            "criteria",
            "mutants",
            "other routes",
            "attacks",
            "processor s",
        ),
        rows=tuple(rows),
        note="Counts are of the proved worlds; families are counted without refusal twins. What a gate rejects is not "
        "listed.",
    )


def _sizes(proofs: Sequence[WorldProof]) -> Table:
    proved = [proof for proof in proofs if proof.proved]
    rows = [
        (name, *(f"{value:g}" for value in (min(values), median(values), max(values))))
        for name in ("tables", "tools", "families", "rules", "tasks", "seconds")
        if (values := [getattr(proof, name) for proof in proved])
    ]
    return Table(
        title="Sizes of the proved worlds",
        columns=("what", "least", "median", "most"),
        rows=tuple(rows),
        note="Seconds are of one processor, for the whole proof of a world.",
    )


def _faults(proofs: Sequence[WorldProof]) -> Table:
    counted = Counter(proof.faults[0].partition(":")[0][:80] for proof in proofs if proof.faults)
    named = {text: next(p.number for p in proofs if p.faults and p.faults[0].startswith(text)) for text in counted}
    rows = [(text, str(count), f"synth-{named[text]}") for text, count in counted.most_common()]
    return Table(
        title="Why worlds were refused",
        columns=("first fault", "worlds", "such as"),
        rows=tuple(rows),
        note="The folder of records has every fault of each world.",
    )
