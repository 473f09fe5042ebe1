"""Which toy each preset is tried on, how much it has to succeed there, and why some succeed less.

What no judge, teacher or further rollout says in training is said by the toy here (see `fill_given_columns`), so that
every preset can be tried: recipes that read demonstrations get one in each group, played by somebody who knows the
toy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from palaestra.benchmarks.objectives.bandit import Bandit
from palaestra.benchmarks.objectives.copying import Copying
from palaestra.benchmarks.objectives.toy import Toy

BANDIT: Toy = Bandit()
COPYING: Toy = Copying()
USUAL = 0.9
"""What a preset has to succeed in; somebody who guesses has 1/4 on the bandit and 1/27 in copying."""
STEPS: Mapping[str, int] = MappingProxyType({BANDIT.name: 60, COPYING.name: 80})
"""Batches of each toy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What is asked of a preset on a toy."""

    above: float = USUAL
    """The least final success."""
    why: str = ""
    """Why that is less than usual."""


_ONE_WINNER = "only the sole winner of a group has an advantage, so that little is left to learn once two succeed"
_WHITENED = (
    "advantages are whitened over the whole batch: a task that was never solved yet has less than the mean, and its "
    "policy hardens against whatever it drew before it ever draws the solution"
)
_UNPAIRED = (
    "trajectories are judged one by one, and a task that was never solved yet is all bad: its policy hardens as well"
)

FITS: Mapping[tuple[str, str], Fit] = MappingProxyType(
    {
        (BANDIT.name, "pass_at_k"): Fit(above=0.5, why=_ONE_WINNER),
        (COPYING.name, "pass_at_k"): Fit(above=0.5, why=_ONE_WINNER),
        (COPYING.name, "ppo"): Fit(above=0.7, why=_WHITENED),
        (COPYING.name, "vapo"): Fit(above=0.7, why=_WHITENED),
        (COPYING.name, "reinforce_pp"): Fit(above=0.7, why=_WHITENED),
        (COPYING.name, "kto"): Fit(above=0.7, why=_UNPAIRED),
    }
)
"""The exceptions, by toy and preset."""


def fit(toy: Toy, preset: str) -> Fit:
    """What is asked of a preset on one of these toys."""
    return FITS.get((toy.name, preset), Fit())
