"""The proof as a report in plain lines: the verdict first, then faults by family and kind."""

from collections.abc import Iterator

from palaestra.proof.fault import FAULT_KINDS, Fault, group_faults
from palaestra.proof.faults import FAMILY_CEILING
from palaestra.proof.proof import Proof

SHOWN = 5
"""Maximum faults of a kind in a family that are printed."""


def proof_lines(proof: Proof, *, shown: int = SHOWN) -> Iterator[str]:
    """The report, line by line.

    Args:
        proof: What to report.
        shown: Maximum faults of one kind in one family; the others are only counted.
    """
    yield str(proof.verdict)
    family: str | None = ""
    for (of, kind), faults in group_faults(proof.faults).items():
        if of != family:
            yield f"{of or 'All tasks together'}:"
            family = of
        yield f"  {FAULT_KINDS[kind]} ({len(faults)}):"
        yield from (f"    {_line(fault)}" for fault in faults[:shown])
        if len(faults) > shown:
            yield f"    ... and {len(faults) - shown} more"
    if proof.missing:
        yield (
            f"Partial proof, without {len(proof.missing)} of the families of its splits: the ceilings of privileged "
            f"attacks are means over all families and were not applied; the limit of {FAMILY_CEILING} points on "
            "average in one family was."
        )
    for reason, families in _without_twins(proof).items():
        yield f"No refusal twin for {', '.join(families)}: {reason}"


def _line(fault: Fault) -> str:
    """A fault in one line, without its family, which is printed above."""
    said = f"{fault.task}: {fault.sentence}" if fault.task else fault.sentence
    criterion = f" [criterion {fault.criterion}]" if fault.criterion and fault.criterion not in str(fault) else ""
    return said + criterion + (f"; {fault.way_out}" if fault.way_out else "")


def _without_twins(proof: Proof) -> dict[str, list[str]]:
    """The families without a refusal twin, by their authors' reasons."""
    found: dict[str, list[str]] = {}
    for family, reason in proof.without_twins().items():
        found.setdefault(reason, []).append(family)
    return found
