"""Finds the criterion that should have rejected wrong work that passed, as far as a program can."""

from palaestra.proof.trial import Trial
from palaestra.proof.variants import SolutionVariant


def guarding_criterion(trial: Trial, mutant: SolutionVariant) -> str | None:
    """The criterion that a mutant should have failed; `None` if the rubric has none for it.

    It is the first criterion that the oracle met by the call that the mutant leaves out, changes or makes too early.
    """
    made = [call for turn in mutant.turns for call in turn]
    for position, step in enumerate(trial.steps):
        if position < len(made) and made[position] == step.call:
            continue
        early = position < len(made) and step.call in made
        about = next((s for s in trial.steps if s.call == made[position]), step) if early else step
        return next((c.id for c in trial.instance.rubric.criteria if c.id in about.met), None)
    return None
