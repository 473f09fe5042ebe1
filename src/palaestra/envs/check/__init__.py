"""The checkers of environments and worlds: what `gymnasium.utils.env_checker` checks, and what no other checker does.

Each check is a function of a `Subject` and raises `EnvironmentCheckError`, whose message names what broke, the rule
and the way out. A check may trust those before it in `CHECKS`, which run first.
"""

from collections.abc import Callable, Mapping, Sequence

from palaestra.envs.check.contract import check_ends, check_gymnasium, check_observations
from palaestra.envs.check.determinism import check_processes, check_repeats, check_reset
from palaestra.envs.check.isolation import check_interleaving, check_ownership, check_refusals
from palaestra.envs.check.offers import check_actions, check_tools
from palaestra.envs.check.purity import check_purity
from palaestra.envs.check.records import check_records
from palaestra.envs.check.resources import check_closing
from palaestra.envs.check.rewards import check_rescoring, check_rewards
from palaestra.envs.check.snapshots import check_forks, check_snapshots
from palaestra.envs.check.subject import Subject
from palaestra.envs.check.surfaces import check_surfaces
from palaestra.envs.check.world import WORLD_CHECKS, check_world
from palaestra.envs.check.world_report import WorldFinding, WorldReport
from palaestra.envs.env import ToolEnv

CHECKS: Mapping[str, Callable[[Subject], None]] = {
    "gymnasium": check_gymnasium,
    "tools": check_tools,
    "actions": check_actions,
    "surfaces": check_surfaces,
    "ends": check_ends,
    "observations": check_observations,
    "records": check_records,
    "repeats": check_repeats,
    "reset": check_reset,
    "processes": check_processes,
    "snapshots": check_snapshots,
    "forks": check_forks,
    "interleaving": check_interleaving,
    "ownership": check_ownership,
    "refusals": check_refusals,
    "rewards": check_rewards,
    "rescoring": check_rescoring,
    "purity": check_purity,
    "closing": check_closing,
}
"""Every check, in the order in which they run."""


def check_env(env: ToolEnv, *, steps: int = 20, seeds: Sequence[int] = (0, 1)) -> None:
    """Check that an environment keeps the contract; `env` itself is not touched, others are made like it.

    Args:
        env: An environment that `gymnasium.make` made, unwrapped.
        steps: How many operations (steps, and resets after an end) each walk takes.
        seeds: One walk is taken for each of these.

    Raises:
        EnvironmentCheckError: it does not; the message names what broke, the rule and the way out.
    """
    subject = Subject.of(env, steps=steps, seeds=seeds)
    for check in CHECKS.values():
        check(subject)


__all__ = ["CHECKS", "WORLD_CHECKS", "Subject", "WorldFinding", "WorldReport", "check_env", "check_world"]
