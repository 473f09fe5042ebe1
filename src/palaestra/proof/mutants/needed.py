"""The oracle's calls that its work needs."""

from palaestra.proof.knowledge import needed_reads, words
from palaestra.proof.trial import ENDINGS, Trial


def needed_calls(trial: Trial) -> list[int]:
    """The positions of work, of look-ups that an expert requires, and of the calls that those depend on.

    A look-up does not count if another call of the oracle shows the same facts.
    """
    acts = frozenset(i for i, step in enumerate(trial.steps) if trial.writes(step) or _talks(trial, i))
    facts = frozenset(i for i, step in enumerate(trial.steps) if step.met and i not in acts and _alone(trial, i))
    needed = acts | facts
    needed |= needed_reads(trial.steps, needed, words(trial.instance.messages))
    return sorted(i for i in needed if trial.calls[i].tool not in ENDINGS)


def _talks(trial: Trial, position: int) -> bool:
    """Whether an expert wants what is said here to be said."""
    step = trial.steps[position]
    return step.call.tool == trial.toolbox.prose_tool and bool(step.met)


def _alone(trial: Trial, position: int) -> bool:
    """Whether a fact that a look-up establishes is established by no other call of the oracle's."""
    return not trial.steps[position].met <= trial.without(position).counting
