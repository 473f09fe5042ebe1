"""A finding: what is wrong with a run and what to change, with numbers; and the words that findings share."""

from collections.abc import Sequence

from palaestra.record import record


@record
class TrainingFinding:
    """One thing that keeps a run from learning, or that shows that it can."""

    name: str
    """Of the rule that made it; one stage has at most one finding of a name."""
    stage: str
    """Empty where it is about the run."""
    importance: float
    """From 0 to 1: about the share of the rollouts that it concerns, times how certainly it stops learning."""
    sentence: str
    """What is wrong, with its numbers."""
    remedy: str
    """What to change; empty where there is nothing to change."""


def percent(share: float) -> str:
    """A share in words, such as "12.5 %"; whole numbers without a decimal."""
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def join_names(names: Sequence[str], *, most: int = 4) -> str:
    """Names with commas; behind `most` of them, how many more there are."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def short_family(family: str) -> str:
    """A family without its world: "fix-build" of "storefront/fix-build"."""
    return family.rpartition("/")[2]
