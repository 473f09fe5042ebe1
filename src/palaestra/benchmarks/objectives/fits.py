"""The toys that each preset is tested on, the required success, and the reasons for exceptions.

In training, some columns come from judges, teachers or further rollouts. Here the toy provides them (see
`fill_given_columns`), so that every preset can be tested. Recipes that read demonstrations get one in each group,
played with the toy's best actions.
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
"""The required final success of a preset; a random policy has 1/4 on the bandit and 1/27 in copying."""
STEPS: Mapping[str, int] = MappingProxyType({BANDIT.name: 60, COPYING.name: 80})
"""Number of batches on each toy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The requirement for a preset on a toy."""

    above: float = USUAL
    """The minimum final success."""
    why: str = ""
    """The reason for a minimum below the usual one."""


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
    """The requirement for a preset on one of these toys."""
    return FITS.get((toy.name, preset), Fit())
